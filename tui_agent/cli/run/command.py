"""Run one turn without the app and print the answer.

Actions that need approval are denied.
"""

import argparse
import asyncio
import faulthandler
import json
import sys
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TextIO, TypeVar

import anyio

from tui_agent.cli.console.exit_codes import turn_exit_status
from tui_agent.cli.console.output import plain_json, say, warn
from tui_agent.cli.console.shared_options import (
    EVERYTHING,
    add_flag,
    add_groups,
    add_option,
    count,
    session_options,
)
from tui_agent.cli.run.part_printer import PartStream, Progress, failure_line, result_lines
from tui_agent.cli.run.prompt_and_signals import interrupt_on_signal, read_prompt
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, TuiAgentError, UsageError
from tui_agent.folds.text.labels import (
    MAP_COMES_LATER,
    inferred_window_notice,
    mention_result,
    missing_map_notice,
    shortened_summary_notice,
    skipped_lines_notice,
    truncation_notice,
    unknown_price_warning,
)
from tui_agent.ports.environment import Sandbox
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import ContinueTurn, RecordResult
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextStuck,
    ContextTruncated,
    ContextWindowInferred,
    RepomapBuilt,
    Truncation,
)
from tui_agent.protocol.events.hook import HOOK_STOPPED, HookRan
from tui_agent.protocol.events.model import ModelRetried
from tui_agent.protocol.events.plugin import MCP_OWNER, PluginFailed, PluginLoaded
from tui_agent.protocol.events.session import ErrorRaised, LogRepaired, SessionEnded, SessionStarted
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.settings import SessionSettings
from tui_agent.session.headless_turn import AfterTurn, Outcome, Show, TurnStart, run_turn
from tui_agent.session.local_session import LocalSession
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.units import format_bytes, format_elapsed
from tui_agent.wiring.session import open_session
from tui_agent.wiring.settings import lacks_model
from tui_agent.wiring.startup_context import StartupContext, load_startup_context, require_trust_decision

ResultT = TypeVar("ResultT")
_WARNED_PLACES = ("agents", "commands", "hooks", "tool ")
"""An `ErrorRaised` event is printed as a warning if its `where` starts with one of these words."""
EXAMPLES = """\
examples:
  tui-agent run "add a --json flag to the list command" --policy accept-edits
  git diff | tui-agent run "review this change" --policy plan
  tui-agent run - < task.md
  tui-agent run "fix the failing test" -m openai/MODEL --json | jq -r .payload.kind
  tui-agent run "fix the failing test" --stream
  tui-agent run "port the parser" --policy accept-edits --retry-crashed 3
  tui-agent run --go-on --session ses_01 --max-iterations 40
  tui-agent run -- "--version prints nothing, why?"

With PROMPT, text from a pipe or file on standard input is added below the heading "Text from standard input:". If a
pipe sends nothing for 3 s and stays open, only the prompt is used, with a warning. If something else, such as a loop
that reads a file, needs standard input, add </dev/null.

Only the answer goes to standard output. The status and the ids of the run and the session go to standard error. On a
terminal, standard error also shows what the agent does.

exit status: 0 done, 1 failed, 2 usage or configuration, 3 a budget was reached, 4 a permission was denied,
5 the model or its provider failed, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the prompt and every common option to the parser."""
    parser.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="?",
        help="the task; if missing or -, the task is read from standard input; otherwise piped text is added to the task",
    )
    add_flag(parser, "--go-on", "continue the session without a new prompt (with --session or --continue)")
    add_flag(parser, "--json", "print every event as a JSON line as it happens")
    add_flag(
        parser,
        "--stream",
        "print a line for each part as it happens (with --json: an object for each part instead of events)",
    )
    add_option(
        parser,
        "--retry-crashed N",
        "if the process is killed, restart it and continue, at most N times",
        type=count,
    )
    add_groups(parser, EVERYTHING)


def run(arguments: argparse.Namespace) -> int:
    """Run one turn in this process, or in child processes with --retry-crashed; return the exit status."""
    begin = _go_on_command(arguments) if arguments.go_on else read_prompt(arguments.prompt)
    options = session_options(arguments, client="headless", interactive=False)
    options = replace(options, prompt=begin if isinstance(begin, str) else None)
    if not faulthandler.is_enabled():
        faulthandler.enable(all_threads=False)  # a crash in C code then names the file and function
    run_once = partial(one_turn, as_json=arguments.json, stream=arguments.stream)
    if arguments.retry_crashed is None:
        return run_once(options, begin)
    print_end = partial(finish, as_json=arguments.json)
    # Imported only here, because only this option needs it.
    run_with_restarts = import_module("tui_agent.cli.run.supervisor").run_with_restarts
    status: int = run_with_restarts(
        options, begin, arguments.retry_crashed, run_once, print_end, by_line=arguments.json
    )
    return status


def _go_on_command(arguments: argparse.Namespace) -> ContinueTurn:
    if arguments.prompt is not None:
        raise UsageError("--go-on takes no prompt.", hint="Remove one of them.")
    if not (arguments.session or arguments.continue_latest):
        raise UsageError("--go-on needs a session.", hint="Name a session with --session, or add --continue.")
    return ContinueTurn()


def one_turn(
    options: SessionOptions,
    begin: TurnStart,
    *,
    as_json: bool,
    stream: bool = False,
    after_turn: AfterTurn | None = None,
) -> int:
    """Run one turn and print its events or its answer; return the exit status."""
    out = sys.stdout
    progress = Progress(sys.stderr)
    show: Show = ignore_record
    if stream:
        show = PartStream(out, as_json=as_json)
    elif as_json:
        show = partial(print_record, out)
    elif sys.stderr.isatty():
        show = progress
    with redirect_stdout(sys.stderr):  # standard output is for the result; plugins may print too
        outcome = anyio.run(run_one_turn, options, begin, show, after_turn)
    progress.close()
    return finish(outcome, as_json=as_json)


def continue_session(options: SessionOptions) -> int:
    """Continue a session without a prompt, and return the exit status."""
    with redirect_stdout(sys.stderr):
        outcome = anyio.run(run_one_turn, options, ContinueTurn(), ignore_record)
    return warn_of_outcome(outcome)


async def run_one_turn(
    options: SessionOptions, begin: TurnStart, show: Show, after_turn: AfterTurn | None = None
) -> Outcome:
    """Open the selected session, run one turn and close the session.

    - `begin`: the prompt, or a command that continues the session.
    - `show`: called with each event.
    - `after_turn`: called when the turn has ended; it can return the start of another turn.

    Raise `ConfigError` if no model is set, or if the user has not decided about the project's files. Raise
    `StoreError` if the log cannot be written.
    """
    base = load_startup_context(options)
    if not options.interactive:
        require_trust_decision(base)
    known = options.session or options.continue_latest
    if not known and lacks_model(base.config):
        raise ConfigError(
            "No model is set.",
            hint="Choose a model in the app, or add --model NAME to this command (see: tui-agent models list). "
            "Without an account: tui-agent demo --headless",
        )

    async def run_in(session: LocalSession) -> Outcome:
        if session.settings is not None:
            warn_of_cost((session.settings,))
            warn_unconfined(session.settings, session.sandbox)
        async with anyio.create_task_group() as group:
            group.start_soon(interrupt_on_signal, session)
            after = session.log.previous_last_seq
            end = record_end if options.client == "headless" else None
            printer = WarningPrinter(show, session.log.folder)
            outcome = await run_turn(session, begin, printer, after, after_turn or end)
            # The receiver of signals would wait for ever.
            group.cancel_scope.cancel()
        return with_advice(outcome, session)

    return await use_session(options, base, run_in)


async def record_end(session: Session, outcome: Outcome) -> None:
    """Record in the session how its task ended."""
    session.submit(RecordResult(result=SessionEnded(reason=outcome.trajectory_end)))


def with_advice(outcome: Outcome, session: LocalSession) -> Outcome:
    """Return the outcome with advice on how to allow the newest denied call."""
    denial = outcome.denial
    if denial is None or denial.decided_by != "engine":
        return outcome
    advice = f"To decide about calls yourself: tui-agent --session {outcome.session}"
    if session.would_allow(denial, "accept-edits"):
        advice = f"To allow this call: --policy accept-edits. {advice}"
    if outcome.warning:
        return replace(outcome, warning=f"{outcome.warning.rstrip('.')}. {advice}")
    return (
        replace(outcome, detail=f"{outcome.detail.rstrip('.')}. {advice}")
        if outcome.reason == "denied"
        else outcome
    )


async def use_session(
    options: SessionOptions, base: StartupContext, act: Callable[[LocalSession], Awaitable[ResultT]]
) -> ResultT:
    """Open the selected session, return the result of `act`, and close the session.

    Raise the engine's error if the engine fails.
    """
    errors: list[TuiAgentError] = []
    scope = anyio.CancelScope()

    def give_up(error: TuiAgentError) -> None:
        errors.append(error)
        scope.cancel()

    try:
        async with open_session(options, base, give_up) as session:
            with scope:
                return await act(session)
    finally:
        # A plugin's function can still run in the loop's executor; the end of the loop would wait for it.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
    # Only reached if `give_up` cancelled the scope.
    raise errors[0]


def print_record(file: TextIO, record: Record) -> None:
    """Print an event as one JSON line, and flush the output."""
    print(record_json(record), file=file, flush=True)


def warn_of_cost(sessions: Iterable[SessionSettings]) -> None:
    """Warn on standard error if a cost limit is ineffective because a model's price is unknown."""
    warnings = (
        unknown_price_warning(
            settings.model.model, settings.budgets.max_cost_usd, has_price=settings.model.has_price
        )
        for settings in sessions
    )
    for words in filter(None, dict.fromkeys(warnings)):
        warn(f"{words} To set the price, add input_price and output_price to its profile.")


def warn_unconfined(settings: SessionSettings, sandbox: Sandbox) -> None:
    """Warn on standard error if the policy relies on a sandbox that is not available."""
    if settings.policy == "accept-edits" and not sandbox.kind:
        warn(
            "accept-edits asks about commands here, because there is no sandbox. "
            f"{sandbox.unavailable_reason}"
        )


def ignore_record(record: Record) -> None:
    """Print nothing. Without --json and --stream, only the final answer is printed."""


def finish(outcome: Outcome, *, as_json: bool) -> int:
    """Print the answer, and the result lines to standard error; return the exit status.

    With `as_json`, print only a failure.
    """
    if not as_json:
        if outcome.answer:
            say(outcome.answer)
        say(result_lines(outcome), file=sys.stderr)
    return warn_of_outcome(outcome)


def warn_of_outcome(outcome: Outcome) -> int:
    """Print the turn's failure or warning to standard error; return the exit status."""
    status = turn_exit_status(outcome.reason)
    if status or outcome.warning:
        warn(outcome.warning or failure_line(outcome))
    return status


def record_json(record: Record) -> str:
    """Return an event as one JSON line: the line of the log without its checksum."""
    if isinstance(record, Envelope):
        return plain_json(record.model_dump_json())
    return plain_json(json.dumps(record.raw, ensure_ascii=False))


def _plugin_warning(failed: PluginFailed) -> str:
    if failed.login_command:
        return f"The {failed.title} needs login: {failed.login_command}."
    if failed.is_late:
        return f"The {failed.title} is still starting. {failed.message}"
    if failed.is_restarting:
        return f"The {failed.title} is restarting. {failed.reason}"
    where = f" ({failed.where})" if failed.where else ""
    return " ".join(f"The {failed.title} is off. {failed.message}{where}".split())


def _repair_warning(repaired: LogRepaired, folder: Path, *, is_new: bool) -> str:
    sentences = []
    if repaired.moved_bytes:
        damage = (
            "No line of the session's log was intact, so the session starts empty. Its old log was moved to"
            if is_new
            else "The end of the session's log was damaged. It was moved to"
        )
        sentences.append(f"{damage} {repaired.side_file} in {folder} ({format_bytes(repaired.moved_bytes)}).")
    if repaired.bad_lines:
        sentences.append(f"{skipped_lines_notice(len(repaired.bad_lines))} in {folder / EVENTS_FILE}.")
    return " ".join(sentences)


class WarningPrinter:
    """Calls `show` with each event record, and prints a warning if the record reports a problem.

    `folder`: the session's folder.
    """

    def __init__(self, show: Show, folder: Path = Path()) -> None:
        self._show = show
        self._folder = folder
        self._is_new = False
        """True if the session began in this run."""
        self._printed: set[str] = set()

    def __call__(self, record: Record) -> None:
        """Pass a record to `show`, and print a warning if the record reports a problem."""
        self._show(record)
        if not isinstance(record, Envelope):
            return
        match record.payload:
            case UserMessageReceived(mentions=mentions):
                for mention in mentions:
                    if mention.kind in ("refused", "missing"):
                        self._warn(f"@{mention.reference}: {mention_result(mention).rstrip('.')}.")
            case SessionStarted():
                self._is_new = True
            case LogRepaired(rewritten=False) as repaired:
                self._warn(_repair_warning(repaired, self._folder, is_new=self._is_new))
            case PluginFailed() as failed:
                self._warn(_plugin_warning(failed))
            case PluginLoaded(plugin=plugin, left_out=left_out):
                for sentence in left_out:
                    self._warn(f"MCP server {plugin.removeprefix(MCP_OWNER)}: {sentence}")
            case HookRan(event=event, command=command, fault=fault) if fault and fault != HOOK_STOPPED:
                self._warn(f"The hook {event} ({command}): {fault}")
            case ErrorRaised(where=where, message=message, hint=hint) if where.startswith(_WARNED_PLACES):
                self._warn(f"{message.rstrip('.')}. {hint}".rstrip())
            case ModelRetried(message=message, attempt=attempt, wait_s=wait_s):
                warn(f"{' '.join(message.split())} Attempt {attempt + 1} in {format_elapsed(wait_s)}.")
            case ContextWindowInferred() as inferred:
                self._warn(" ".join(inferred_window_notice(inferred)))
            case ContextTruncated(truncations=cuts) as cut if record.agent == MAIN_AGENT:
                self._warn(truncation_notice(cut), cuts)
            case ContextCompacted(truncations=cuts) if cuts and record.agent == MAIN_AGENT:
                self._warn(shortened_summary_notice(cuts), cuts)
            case ContextStuck(message=message, hint=hint) if record.agent == MAIN_AGENT:
                self._warn(f"{message} {hint}".rstrip())
            case RepomapBuilt(delay_reason=late, duration_ms=waited) if late and record.agent == MAIN_AGENT:
                self._warn(f"{missing_map_notice(waited)} {MAP_COMES_LATER}")

    def _warn(self, line: str, cuts: tuple[Truncation, ...] = ()) -> None:
        names = {cut.label for cut in cuts} or {line}
        if not names <= self._printed:
            self._printed |= names
            warn(line)
