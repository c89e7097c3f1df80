"""One turn of a session without the app: submit the prompt, follow the events, report how it ended.

Invariant: independent of engines and models; works with any `Session`.
"""

import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from tui_agent.cli.exit_codes import Exit, of_turn_end
from tui_agent.errors import BudgetExceeded, TuiAgentError, UsageError
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session
from tui_agent.protocol.base import LongText
from tui_agent.protocol.commands import Command, ContinueTurn, Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import CommandRejected, RunStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT, CommandId
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.settings import AgentState

Show = Callable[[Record], None]
TurnStart: TypeAlias = str | ContinueTurn
"""The start of a turn: a prompt, or a command to continue without one."""
AfterTurn: TypeAlias = Callable[[Session], Awaitable[None]]
"""A function to run in the session after the turn has finished and before the session is closed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a turn. `answer` is the last text of the main agent."""

    reason: str
    detail: str
    run_id: str
    session: str
    answer: str

    @property
    def status(self) -> str:
        """`success`, or the reason why the turn ended."""
        return "success" if self.reason == "finished" else self.reason

    @property
    def exit(self) -> Exit:
        """The exit status for this end."""
        return of_turn_end(self.reason)


async def run_turn(
    session: Session, begin: TurnStart, show: Show, after: int = -1, coda: AfterTurn | None = None
) -> Outcome:
    """Start a turn, follow the session to the end of that turn, and close it.

    `after` is the last event of earlier runs if known, so that the history need not be read. `show` is called with
    every record of this run in order, including those written while the session closes. `coda` runs after the turn,
    before the session closes.

    Raises `BudgetExceeded` if the session's turn limit is reached, `UsageError` if the command is rejected for
    another reason, `TuiAgentError` if the session ends before the turn.
    """
    command = session.submit(SubmitPrompt(text=begin) if isinstance(begin, str) else begin)
    turn = _Turn(command, show)
    follower = session.follow(after)
    try:
        while turn.ended is None:
            batch = await follower.next_batch()
            if not batch:
                raise TuiAgentError(
                    "The session ended before the turn did.",
                    hint=f"To see its events: tui-agent trace {session.id}",
                )
            turn.take(batch)
        answer = await join_texts(session, turn.words)
        if coda is not None and turn.ended.reason == "finished":
            await coda(session)
        await session.aclose()
        while batch := await follower.next_batch():
            turn.take(batch)
    finally:
        follower.close()
    # For a script, a turn that was given up after a denial is a failure, even if the model ends it with an
    # explanation.
    gave_up = turn.ended.reason == "finished" and turn.denial
    reason, detail = ("denied", turn.denial) if gave_up else (turn.ended.reason, turn.ended.detail)
    return Outcome(reason, detail, turn.run_id, session.id, answer)


class _Turn:
    """The state of the turn that one command started."""

    def __init__(self, command: CommandId, show: Show) -> None:
        self._command = command
        self._show = show
        self._waiting: list[Record] = []
        self._begun = False
        self.ended: TurnFinished | None = None
        self.run_id = ""
        self.words: Sequence[LongText] = ()
        self.denial = ""
        """The reason why a call of the newest answer with calls was denied; empty if none was."""

    def take(self, batch: Sequence[Record]) -> None:
        """Process records, and show those of this run, which are all since its `run.started`."""
        for record in batch:
            if not self._begun:
                self._hold_back(record)
            if self._begun:
                self._show_waiting()
                self._process(record)

    def _hold_back(self, record: Record) -> None:
        # Events of earlier runs are history. The `run.started` of this run is known only once its command appears.
        if isinstance(record, Envelope):
            if isinstance(record.payload, RunStarted):
                self._waiting = [] if len(self._waiting) > 1 else self._waiting
                self.run_id = record.payload.run_id
            self._begun = record.cause == self._command
        if not self._begun:
            self._waiting.append(record)

    def _show_waiting(self) -> None:
        for record in self._waiting:
            self._show(record)
        self._waiting = []

    def _process(self, record: Record) -> None:
        self._show(record)
        if not isinstance(record, Envelope) or record.agent != MAIN_AGENT:
            return
        match record.payload:
            case ModelResponded(parts=parts):
                self.words = [part.text for part in parts if isinstance(part, TextPart)] or self.words
                if any(isinstance(part, ToolCallPart) for part in parts):
                    self.denial = ""
            case PermissionDecided(decision="deny", reason=reason):
                self.denial = reason
            case TurnFinished() as finished:
                self.ended = finished
            case CommandRejected(reason=reason, hint=hint, limit=limit) if record.cause == self._command:
                raise BudgetExceeded(reason, hint=hint) if limit else UsageError(reason, hint=hint)


async def submit_and_wait(session: Session, follower: Follower, command: Command) -> list[Envelope]:
    """Submit a command, wait until it has been carried out, and return its events.

    Raises `TuiAgentError` if the engine rejects the command or the session ends.
    """
    command_id = session.submit(command)
    events: list[Envelope] = []
    while batch := await follower.next_batch():
        for record in batch:
            if not isinstance(record, Envelope) or record.cause != command_id:
                continue
            events.append(record)
            match record.payload:
                case CommandRejected(reason=reason, hint=hint):
                    raise TuiAgentError(reason, hint=hint)
                case AgentStateChanged(state=AgentState.IDLE):
                    return events
                case _:
                    pass
    raise TuiAgentError("The session ended before the command was done.")


async def join_texts(session: Session, texts: Sequence[LongText]) -> str:
    """Join texts of the log, loading those stored as blobs."""
    pieces = [
        text
        if isinstance(text, str)
        else (await session.read_blob(text.blob_sha256)).decode("utf-8", "replace")
        for text in texts
    ]
    return "".join(pieces).strip()


async def interrupt_on_signal(session: Session) -> None:
    """Interrupt the turn at the first Ctrl+C or SIGTERM; raise KeyboardInterrupt at the second. Runs until cancelled."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        interrupted = False
        async for _ in signals:
            if interrupted:
                raise KeyboardInterrupt
            interrupted = True
            session.submit(Interrupt())


async def run_supervised(
    session: Session, begin: TurnStart, show: Show, after: int = -1, coda: AfterTurn | None = None
) -> Outcome:
    """Call `run_turn`; Ctrl+C interrupts the turn."""
    async with anyio.create_task_group() as group:
        group.start_soon(interrupt_on_signal, session)
        outcome = await run_turn(session, begin, show, after, coda)
        group.cancel_scope.cancel()
    return outcome


def result_lines(outcome: Outcome) -> str:
    """Return the lines printed after the answer, for people and scripts."""
    lines = [f"status: {outcome.status}", f"run_id: {outcome.run_id}", f"session: {outcome.session}"]
    return "\n".join(lines)


def failure_line(outcome: Outcome) -> str:
    """Return one line on why the turn did not finish."""
    return " ".join(outcome.detail.split()) or f"The turn ended: {outcome.reason}."
