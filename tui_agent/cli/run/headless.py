"""Drives one turn of a session without a screen: submit the prompt, follow events, tell how it ended.

Invariant: knows nothing of engines or models; any `Session` will do.
"""

import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from tui_agent.cli.exit_codes import Exit, of_turn_end
from tui_agent.errors import BudgetReached, TuiAgentError, UsageError
from tui_agent.ports.session import Session
from tui_agent.protocol.base import LongText
from tui_agent.protocol.commands import GoOn, Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import CommandRejected, RunStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT, CommandId
from tui_agent.protocol.parts import TextPart, ToolCallPart

Show = Callable[[Record], None]
Begin: TypeAlias = str | GoOn
"""What begins a turn: a prompt's words, or nothing new."""
Coda: TypeAlias = Callable[[Session], Awaitable[None]]
"""What is done in the session once the turn has finished, before it is closed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended. `answer` is the last words of the main agent."""

    reason: str
    detail: str
    run_id: str
    session: str
    answer: str

    @property
    def status(self) -> str:
        """`success`, or why not."""
        return "success" if self.reason == "finished" else self.reason

    @property
    def exit(self) -> Exit:
        """The exit status that tells it."""
        return of_turn_end(self.reason)


async def run_turn(
    session: Session, begin: Begin, show: Show, after: int = -1, coda: Coda | None = None
) -> Outcome:
    """Begin a turn, follow the session to the end of that turn, and close it.

    `after` is the last event of earlier runs, where that is known: the history need not be read for this one.
    `show` sees every record of this run in order, those of the closing too.

    Raises `BudgetReached` where the session has had its turns, `UsageError` where it refuses to begin otherwise, `TuiAgentError` where it ends before the turn does.
    """
    command = session.submit(SubmitPrompt(text=begin) if isinstance(begin, str) else begin)
    turn = _Turn(command, show)
    follower = session.follow(after)
    try:
        while turn.ended is None:
            batch = await follower.next()
            if not batch:
                raise TuiAgentError(
                    "The session ended before the turn did.", hint=f"See: tui-agent trace {session.id}"
                )
            turn.take(batch)
        answer = await whole(session, turn.words)
        if coda is not None and turn.ended.reason == "finished":
            await coda(session)
        await session.aclose()
        while batch := await follower.next():
            turn.take(batch)
    finally:
        follower.close()
    # Giving up after a denial is no success for a script, even where the model explains it politely.
    gave_up = turn.ended.reason == "finished" and turn.denial
    reason, detail = ("denied", turn.denial) if gave_up else (turn.ended.reason, turn.ended.detail)
    return Outcome(reason, detail, turn.run_id, session.id, answer)


class _Turn:
    """What is known of the turn that one command started."""

    def __init__(self, command: CommandId, show: Show) -> None:
        self._command = command
        self._show = show
        self._waiting: list[Record] = []
        self._begun = False
        self.ended: TurnFinished | None = None
        self.run_id = ""
        self.words: Sequence[LongText] = ()
        self.denial = ""
        """Why a call of the newest answer that made any was denied; empty where none was."""

    def take(self, batch: Sequence[Record]) -> None:
        """Show what belongs to this run: from its `run.started` on, all of a new session's events."""
        for record in batch:
            if not self._begun:
                self._hold_back(record)
            if self._begun:
                self._flush()
                self._read(record)

    def _hold_back(self, record: Record) -> None:
        # An earlier run's events are history, and which run.started is ours shows only once our command arrives.
        if isinstance(record, Envelope):
            if isinstance(record.payload, RunStarted):
                self._waiting = [] if len(self._waiting) > 1 else self._waiting
                self.run_id = record.payload.run_id
            self._begun = record.cause == self._command
        if not self._begun:
            self._waiting.append(record)

    def _flush(self) -> None:
        for record in self._waiting:
            self._show(record)
        self._waiting = []

    def _read(self, record: Record) -> None:
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
                raise BudgetReached(reason, hint=hint) if limit else UsageError(reason, hint=hint)


async def whole(session: Session, texts: Sequence[LongText]) -> str:
    """Texts of the log, joined, wherever each is kept."""
    pieces = [
        text
        if isinstance(text, str)
        else (await session.read_blob(text.blob_sha256)).decode("utf-8", "replace")
        for text in texts
    ]
    return "".join(pieces).strip()


async def interrupt_on_signal(session: Session) -> None:
    """The first Ctrl+C or SIGTERM stops the turn in order; a second one is the caller's. Runs until cancelled."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        asked = False
        async for _ in signals:
            if asked:
                raise KeyboardInterrupt
            asked = True
            session.submit(Interrupt())


async def run_supervised(
    session: Session, begin: Begin, show: Show, after: int = -1, coda: Coda | None = None
) -> Outcome:
    """`run_turn`, with the user's Ctrl+C as an interruption of the turn."""
    async with anyio.create_task_group() as group:
        group.start_soon(interrupt_on_signal, session)
        outcome = await run_turn(session, begin, show, after, coda)
        group.cancel_scope.cancel()
    return outcome


def result_lines(outcome: Outcome) -> str:
    """What a plain run prints after the answer, for people and for scripts that look for it."""
    lines = [f"status: {outcome.status}", f"run_id: {outcome.run_id}", f"session: {outcome.session}"]
    return "\n".join(lines)


def trouble(outcome: Outcome) -> str:
    """One line on why a turn did not finish."""
    return " ".join(outcome.detail.split()) or f"The turn ended: {outcome.reason}."
