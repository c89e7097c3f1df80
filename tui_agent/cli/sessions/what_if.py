"""The verb `sessions what-if`: a fork with one thing different runs on, and is held against its original.

Invariant: both never write into one folder. What the policy of the session would ask is denied, as in every headless
run, because nobody is there to answer.
"""

import argparse
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tui_agent.cli.compare.command import compare_sessions
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say
from tui_agent.cli.sessions.fork import Made, add_arguments, make_fork, wished
from tui_agent.engine.command_checks import nothing_to_answer
from tui_agent.errors import UsageError
from tui_agent.folds.base import branch, fold
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.labels import fork_changes
from tui_agent.protocol.events.session import ForkChange
from tui_agent.session.fork_files import records_until
from tui_agent.session.fork_request import beginning
from tui_agent.session.fork_workspace import state_of
from tui_agent.wiring.base import ground

EXAMPLES = """\
examples:
  tui-agent sessions what-if ses_01 --at 40 --model openai/MODEL
  tui-agent sessions what-if latest --at 57 --result "2 passed, 1 failed"
  tui-agent sessions what-if ses_01 --at 12 --message "the same, but without new dependencies" --json
  tui-agent sessions what-if ses_01 --at 40 --reasoning-effort high --worktree ../try-harder

The fork works in a folder of its own (below its session's folder, where no other is named), with the files as they were
at that event; ignored and very large files are not in it. What the session's policy would ask is denied. The exit
status is that of the run; `tui-agent compare` prints the comparison again.
"""


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verb `what-if`."""
    parser = add_verb(
        verbs,
        "what-if",
        what_if,
        help="run on from an event with one thing different, and compare",
        examples=EXAMPLES,
        groups=("place", "limits", "project"),
    )
    add_arguments(parser)


def what_if(arguments: argparse.Namespace) -> int:
    """Fork, go on, print the comparison with the original; the run's exit status."""
    change = wished(arguments)
    if len(fork_changes(change)) != 1:
        raise UsageError(
            "A what-if differs in one thing.",
            hint="Give one of --model, --reasoning-effort, --context-mode, --result, --message.",
        )
    options = replace(
        session_options(arguments, client="headless", interactive=False), model=None, context_mode=None
    )
    base = ground(options)
    home = base.store.folder(base.store.resolve(arguments.id))
    _require_open_end(home, arguments.at, change)
    made = make_fork(base, arguments, arguments.worktree, arguments.folder, own=True)
    _tell(made)
    place = options.cwd if arguments.cwd is not None else _workspace(home) or options.cwd
    status: int = import_module("tui_agent.cli.run.command").go_on(
        replace(options, session=made.id, cwd=place)
    )
    compare_sessions(base, made.parent, made.id, as_json=arguments.json)
    return status


def _tell(made: Made) -> None:
    """What is made, beside the output: also a run that fails leaves the fork."""
    different = "; ".join(fork_changes(made.changed.model_copy(update={"workspace": ""})))
    say(f"{made.id}  what if: {different}, after event {made.at} of {made.parent}", file=sys.stderr)
    for line in (f"It works in {made.workspace}", made.note):
        if line:
            say(line, file=sys.stderr)


def _workspace(home: Path) -> Path | None:
    """The original's workspace, whose project's configuration holds for the fork too."""
    known = Path(state_of(home).workspace)
    return known if known.is_dir() else None


def _require_open_end(home: Path, at_seq: int, change: ForkChange) -> None:
    """Raise `UsageError` where the agent would have nothing to answer."""
    wish = beginning(records_until(home, at_seq), at_seq, change)
    if change.message is not None:
        return
    records = branch(records_until(home, wish.at_seq))
    if fold(SessionState(), records).open_calls:
        return
    why = nothing_to_answer(fold(ModelMessages(), records))
    if why is not None:
        raise UsageError(
            f"At event {wish.at_seq} there is nothing to go on from: {why.reason}",
            hint="Name an event behind a message or a tool result, or give another --message.",
        )
