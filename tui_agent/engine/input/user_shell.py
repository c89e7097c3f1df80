"""The user's own commands (`!` and `!!`), which run without the policy.

Invariant: `user.shell_started` is always followed by `user.shell_finished`, which has the output so far.
"""

import codecs
from collections.abc import Sequence

from tui_agent.context.truncation import head_and_tail
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.delta_merge import FlushTimer
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.large_results import recorded_output
from tui_agent.engine.tools.live_output import CollectedOutput, OutputSampler, open_sampler
from tui_agent.errors import EnvironmentFault
from tui_agent.folds.text.plain_text import strip_control_sequences
from tui_agent.policy.decision.call_classes import READ_ONLY
from tui_agent.ports.environment import ExecSpec
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.commands import RunUserShell
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.envelope import Record, known_events
from tui_agent.protocol.events.turn import ShellEnd, UserShellFinished, UserShellProgress, UserShellStarted
from tui_agent.protocol.settings import AgentState
from tui_agent.units import format_bytes

TIMEOUT_S = 600.0
MAX_OUTPUT_BYTES, TAIL_BYTES = 2_000_000, 1_000_000
"""Limits of a command's stored output, in bytes: the maximum in total, and the part reserved for the output's end."""
_ENDS: dict[str, ShellEnd] = {"exited": "exited", "timeout": "timeout"}


def begin_user_shell(parts: EngineParts, command: RunUserShell) -> None:
    """Record the start of a command. The caller must call `run_user_shell` afterwards."""
    started = UserShellStarted(command=command.command, hidden=command.hidden, typed=command.typed)
    parts.recorder.append(started, cause=command.id)


async def run_user_shell(
    parts: EngineParts, states: StateKeeper, ticker: FlushTimer, command: RunUserShell
) -> None:
    """Run a command and record its output. A cancellation kills the command.

    The caller must set the agent's state afterwards.
    """
    run = _ShellRun(parts, command)
    try:
        states.set(AgentState.RUNNING, command.typed or f"! {command.command}")
        with open_sampler(ticker, parts.clock, run.emit) as sampler:
            await run.execute(sampler)
    finally:
        run.finish()


def close_shell(recorder: Recorder, started: UserShellStarted, history: Sequence[Record]) -> None:
    """Record the end and the output of a command that was running when tui-agent crashed.

    `history`: the records of the session, with the command's output.
    """
    output = CollectedOutput()
    started_at = last_at = 0.0
    for record in known_events(history):
        last_at = record.time
        if isinstance(record.payload, UserShellStarted):
            output, started_at = CollectedOutput(), record.time
        elif isinstance(record.payload, UserShellProgress):
            output.add(record.payload.text)
    printed = output.text()
    shown = recorded_output(printed).text
    recorder.append(
        UserShellFinished(
            command=started.command,
            output=shown,
            full_output=None if printed == shown else printed,
            exit_code=None,
            duration_ms=round(max(0.0, last_at - started_at) * 1_000, 1),
            hidden=started.hidden,
            end="lost",
        )
    )


def _leftover_note(count: int) -> str:
    """Return a note about processes that were stopped at the command's end (`sleep 60 &`), or an empty string."""
    if not count:
        return ""
    left = "1 process left running was" if count == 1 else f"{count} processes left running were"
    return f"[{left} stopped. To keep a process running, start it in another terminal.]"


class _ShellRun:
    def __init__(self, parts: EngineParts, command: RunUserShell) -> None:
        self._parts = parts
        self._command = command
        self._started_at = parts.clock.monotonic()
        self._output = bytearray()
        self._end: ShellEnd = "interrupted"
        self._exit_code: int | None = None
        self._note = ""

    async def execute(self, sampler: OutputSampler) -> None:
        """Run the command to its end. A command that a person typed runs outside the sandbox.

        A simulated user's command runs inside the sandbox.
        """
        state = self._parts.recorder.state
        is_typed = state.client != "sim"
        limit = None if is_typed or state.settings is None else state.settings.budgets.timeout_seconds
        spec = ExecSpec(
            script=self._command.command,
            timeout=min(TIMEOUT_S, limit or TIMEOUT_S),
            max_output=MAX_OUTPUT_BYTES,
            tail_bytes=TAIL_BYTES,
            unsandboxed=is_typed,
            allow_network=is_typed,
            # The sandbox needs no visible placeholders for a command that only reads.
            read_only=not is_typed and self._only_reads(),
        )
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode

        def handle_output(data: bytes) -> None:
            self._output += data[: max(MAX_OUTPUT_BYTES - len(self._output), 0)]
            sampler.add(decode(data))

        try:
            result = await self._parts.env.exec(spec, handle_output)
        except EnvironmentFault as fault:
            self._end, self._note = "failed", str(fault)
            return
        if result.dropped_bytes:
            note = f"\n[{format_bytes(result.dropped_bytes)} of output was not kept]\n".encode()
            self._output[:] = result.output[: result.cut_offset] + note + result.output[result.cut_offset :]
        self._exit_code = result.exit_code
        self._end = _ENDS.get(result.outcome, "failed")
        self._note = _leftover_note(result.leftover_count) if result.outcome == "exited" else result.message

    def _only_reads(self) -> bool:
        effects = (RunEffect(script=self._command.command),)
        facts = PolicyFacts(workspace=self._parts.env.root, policy="ask", sandboxed=True)
        return self._parts.policy.decide("run_command", effects, facts).classes == (READ_ONLY,)

    def emit(self, text: str, _skipped_lines: int) -> None:
        self._parts.recorder.append(UserShellProgress(text=text), cause=self._command.id)

    def finish(self) -> None:
        output = bytes(self._output).decode("utf-8", "replace")
        cleaned = strip_control_sequences(output)
        separator = "\n" if cleaned and self._note and not cleaned.endswith("\n") else ""
        shown = head_and_tail(f"{cleaned}{separator}{self._note}")
        self._parts.recorder.append(
            UserShellFinished(
                command=self._command.command,
                output=shown.text,
                exit_code=self._exit_code,
                duration_ms=round((self._parts.clock.monotonic() - self._started_at) * 1_000, 1),
                hidden=self._command.hidden,
                end=self._end,
                full_output=output if shown.is_cut or cleaned != output else None,
            ),
            cause=self._command.id,
        )
