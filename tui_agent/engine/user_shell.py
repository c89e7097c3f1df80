"""The user's own commands (`!` and `!!`): run as they stand, without the policy: the user is the one who asks.

Invariant: `user.shell_started` is always followed by `user.shell_finished`, with what was printed until then.
"""

import codecs
from collections.abc import Sequence

from tui_agent.context.truncation import head_and_tail
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.model.delta_merge import Merger, Ticker
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.live_output import Output
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.clock import Clock
from tui_agent.ports.environment import ExecSpec
from tui_agent.protocol.commands import RunUserShell
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.turn import (
    ShellEnd,
    UserShellFinished,
    UserShellProgress,
    UserShellStarted,
)
from tui_agent.protocol.settings import AgentState

TIMEOUT = 600.0
MAX_OUTPUT = 2_000_000
LIVE_ROOM = 64_000
"""Characters of live output that are recorded whole; from there on, samples."""
SAMPLE = 2_000
SAMPLE_EVERY_S = 0.5
_ENDS: dict[str, ShellEnd] = {"exited": "exited", "timeout": "timeout"}


def begin_user_shell(parts: EngineParts, command: RunUserShell) -> None:
    """Record that it begins, before anything else of the session can; `run_user_shell` must follow."""
    parts.recorder.append(UserShellStarted(command=command.command, hidden=command.hidden), cause=command.id)


async def run_user_shell(
    parts: EngineParts, states: StateKeeper, ticker: Ticker, command: RunUserShell
) -> None:
    """Run one command and record its output, cut in the middle where it is long. Cancelling kills it."""
    run = _Run(parts, command)
    try:
        states.set(AgentState.RUNNING, f"! {command.command}")
        with ticker.merging(parts.clock, run.emit, str) as merger:
            await run.through(merger)
    finally:
        run.finish()
        states.set(AgentState.IDLE)


def close_shell(recorder: Recorder, started: UserShellStarted, history: Sequence[Record]) -> None:
    """End a command that a run before left open, with what the log tells of its output."""
    output = Output()
    began = last = 0.0
    for record in history:
        if not isinstance(record, Envelope):
            continue
        last = record.at
        if isinstance(record.payload, UserShellStarted):
            output, began = Output(), record.at
        elif isinstance(record.payload, UserShellProgress):
            output.add(record.payload.text)
    recorder.append(
        UserShellFinished(
            command=started.command,
            output=output.text(),
            exit_code=None,
            duration_ms=round(max(0.0, last - began) * 1_000, 1),
            hidden=started.hidden,
            ended="lost",
        )
    )


class _Run:
    """One command from its start to its record."""

    def __init__(self, parts: EngineParts, command: RunUserShell) -> None:
        self._parts = parts
        self._command = command
        self._began = parts.clock.monotonic()
        self._kept = bytearray()
        self._ended: ShellEnd = "interrupted"
        self._exit_code: int | None = None
        self._note = ""

    async def through(self, merger: Merger[str]) -> None:
        """Run it to its end, unconfined: it is the user's own command."""
        spec = ExecSpec(
            script=self._command.command, timeout=TIMEOUT, max_output=MAX_OUTPUT, outside=True, network=True
        )
        live = _Live(merger, self._parts.clock)

        def take(data: bytes) -> None:
            self._kept += data[: max(MAX_OUTPUT - len(self._kept), 0)]
            live.take(data)

        try:
            result = await self._parts.env.exec(spec, take)
        except EnvironmentFault as fault:
            self._ended, self._note = "failed", str(fault)
            return
        self._exit_code = result.exit_code
        self._ended = _ENDS.get(result.ended, "failed")
        self._note = "" if result.ended == "exited" else result.message

    def emit(self, _key: str, text: str) -> None:
        self._parts.recorder.append(UserShellProgress(text=text), cause=self._command.id)

    def finish(self) -> None:
        """Record its end."""
        printed = bytes(self._kept).decode("utf-8", "replace")
        joint = "\n" if printed and self._note and not printed.endswith("\n") else ""
        self._parts.recorder.append(
            UserShellFinished(
                command=self._command.command,
                output=head_and_tail(f"{printed}{joint}{self._note}").text,
                exit_code=self._exit_code,
                duration_ms=round((self._parts.clock.monotonic() - self._began) * 1_000, 1),
                hidden=self._command.hidden,
                ended=self._ended,
            ),
            cause=self._command.id,
        )


class _Live:
    """Decodes output as it comes and passes it on: all of it at first, then samples of what is newest."""

    def __init__(self, merger: Merger[str], clock: Clock) -> None:
        self._merger = merger
        self._clock = clock
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._room = LIVE_ROOM
        self._sampled_at = 0.0

    def take(self, data: bytes) -> None:
        """The next bytes; called on the event loop."""
        text = self._decode.decode(data)
        if self._room and text:
            first, text = text[: self._room], text[self._room :]
            self._room -= len(first)
            self._merger.add("output", first)
        now = self._clock.monotonic()
        if text and now - self._sampled_at >= SAMPLE_EVERY_S:
            self._sampled_at = now
            self._merger.add("output", text[-SAMPLE:])
