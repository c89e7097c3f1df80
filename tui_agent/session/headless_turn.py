"""One turn of a session without the app: submits the prompt, follows the events, and returns the turn's end.

Invariant: the functions work with any `Session`, whatever its engine and model.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session, read_text
from tui_agent.protocol.base import MAIN_AGENT, CallId, CommandId, LongText, text_preview
from tui_agent.protocol.commands import Command, ContinueTurn, RunCommand, SubmitPrompt
from tui_agent.protocol.display import (
    CustomBlock,
    DiffBlock,
    DisplayBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
)
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.command import CommandRan
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import CommandRejected, RunStarted, TrajectoryEnd
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.unicode_text import format_count

Show = Callable[[Record], None]
TurnStart: TypeAlias = str | ContinueTurn | RunCommand
"""What starts a turn: a prompt, or a command that needs no prompt."""
LIMITS: dict[str, TrajectoryEnd] = {
    "part_limit": "part_limit",
    "iteration_limit": "iteration_limit",
    "turn_limit": "turn_limit",
    "cost_limit": "cost_limit",
    "time_limit": "timeout",
    "interrupted": "interrupted",
}
"""Maps the reason why a turn ended to the reason in a trajectory. The agent chose none of these ends."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a turn.

    `reason` is a `TurnFinished.reason`. `answer` is the main agent's last text. `warning` is a sentence about a
    finished turn with denied calls.
    """

    reason: str
    detail: str
    run_id: str
    session: str
    answer: str
    warning: str = ""

    @property
    def status(self) -> str:
        """`success` if the turn finished. Otherwise the value of `reason`."""
        return "success" if self.reason == "finished" else self.reason

    @property
    def trajectory_end(self) -> TrajectoryEnd:
        """The end to record for a trajectory without tests and without a verifier."""
        return "finished" if self.reason == "finished" else LIMITS.get(self.reason, "agent_error")


AfterTurn: TypeAlias = Callable[[Session, Outcome], Awaitable[TurnStart | None]]
"""Function that is called after a turn, before the session is closed.

Returns the start of the next turn, or None to close the session.
"""


async def run_turn(
    session: Session, begin: TurnStart, show: Show, after: int = -1, coda: AfterTurn | None = None
) -> Outcome:
    """Start a turn in a session, wait for the turn's end, close the session and return the result.

    Only events after `after` are read. `show` is called with every record of this run in order, including records
    written while the session closes. `coda` is called after the turn and before the session is closed. If `coda`
    returns another turn, that turn is also run. The result is the result of the last turn.

    If the session's turn limit is reached, no turn is run, and the result has the reason `turn_limit`. Raises
    `UsageError` if the command is rejected for another reason, and `TuiAgentError` if the session ends before the turn.
    """
    turn = _Turn(_submit(session, begin), show)
    follower = session.follow(after)
    try:
        outcome = await _follow_turn(session, follower, turn)
        while coda is not None and (more := await coda(session, outcome)) is not None:
            turn.begin_next(_submit(session, more))
            outcome = await _follow_turn(session, follower, turn)
        await session.aclose()
        while batch := await follower.next_batch():
            turn.take(batch)
    finally:
        follower.close()
    return outcome


def _submit(session: Session, begin: TurnStart) -> CommandId:
    return session.submit(SubmitPrompt(text=begin) if isinstance(begin, str) else begin)


async def _follow_turn(session: Session, follower: Follower, turn: "_Turn") -> Outcome:
    while turn.ended is None:
        batch = await follower.next_batch()
        if not batch:
            raise TuiAgentError(
                "The session ended before the turn did.",
                hint=f"To see its events: tui-agent trace {session.id}",
            )
        turn.take(batch)
    return turn.outcome(turn.ended, session.id, await join_texts(session, turn.words))


class _Turn:
    """The state of the turn that `command` starts, collected from the session's events."""

    def __init__(self, command: CommandId, show: Show) -> None:
        self._command = command
        self._show = show
        self._waiting: list[Record] = []
        self._begun = False
        self.ended: TurnFinished | None = None
        self.run_id = ""
        self.words: Sequence[LongText] = ()
        self.denials: dict[CallId, str] = {}
        """Maps the id of a denied tool call to the reason."""
        self._last_calls: set[CallId] = set()
        """Ids of the tool calls in the newest answer that contains calls."""

    def begin_next(self, command: CommandId) -> None:
        """Reset this state, and collect the turn that `command` starts in the same run."""
        self._command, self.ended, self.words = command, None, ()
        self.denials.clear()
        self._last_calls = set()

    def outcome(self, ended: TurnFinished, session: str, answer: str) -> Outcome:
        """Return the result of the ended turn.

        If the model only explains why it stops after denied calls, the turn is "finished" in the log. The task was not
        done, so the result is "denied", and a script sees a failure.
        """
        denials = list(self.denials.values())
        if ended.reason != "finished" or not denials:
            return Outcome(ended.reason, ended.detail, self.run_id, session, answer)
        if self._last_calls and self._last_calls <= set(self.denials):
            return Outcome("denied", denials[-1], self.run_id, session, answer)
        count = f"{format_count(len(denials), 'call')} {'was' if len(denials) == 1 else 'were'}"
        last = "" if len(set(denials)) == 1 else ", the last one"
        warning = f"{count} denied{last}: {denials[-1]}"
        return Outcome(ended.reason, ended.detail, self.run_id, session, answer, warning)

    def take(self, batch: Sequence[Record]) -> None:
        """Process records of the session. Show all records from this run's `run.started` on."""
        for record in batch:
            if not self._begun:
                self._hold_back(record)
            if self._begun:
                self._show_waiting()
                self._process(record)

    def _hold_back(self, record: Record) -> None:
        # Events of earlier runs are not shown. Which `run.started` is this run's is known only when the first event
        # caused by this run's command arrives.
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
                calls = {part.call_id for part in parts if isinstance(part, ToolCallPart)}
                self._last_calls = calls or self._last_calls
            case PermissionDecided(decision="deny", reason=reason, call_id=call_id):
                self.denials[call_id] = reason
            case PermissionDecided(call_id=call_id):
                self.denials.pop(call_id, None)
            case TurnFinished() as finished:
                self.ended = finished
            case CommandRan(sends=False, display=display) if record.cause == self._command:
                self.words = ["\n".join(block_text(block) for block in display)]
                self.ended = TurnFinished(turn=0, reason="finished")
            case CommandRejected(reason=reason, hint=hint, limit=limit) if record.cause == self._command:
                if not limit:
                    raise UsageError(reason, hint=hint)
                self.ended = TurnFinished(turn=0, reason=limit, detail=f"{reason} {hint}")


def block_text(block: DisplayBlock) -> str:
    """Return a block as plain text."""
    match block:
        case TableBlock(columns=columns, rows=rows):
            return "\n".join("\t".join(row) for row in (columns, *rows))
        case (
            TextBlock(text=text)
            | MarkdownBlock(text=text)
            | TerminalBlock(text=text)
            | CustomBlock(text=text)
        ):
            return text_preview(text)
        case DiffBlock(diff=diff):
            return text_preview(diff)
        case _:
            return block.model_dump_json(exclude={"kind"})


async def submit_and_wait(session: Session, follower: Follower, command: Command) -> list[Envelope]:
    """Submit a command, wait until it was carried out, and return the events that it caused.

    Raises `TuiAgentError` if the engine rejects the command or the session ends.
    """
    command_id = session.submit(command)
    events: list[Envelope] = []
    while batch := await follower.next_batch():
        for record in batch:
            if not isinstance(record, Envelope) or record.cause != command_id:
                continue
            events.append(record)
            payload = record.payload
            if isinstance(payload, CommandRejected):
                raise TuiAgentError(payload.reason, hint=payload.hint)
            if isinstance(payload, AgentStateChanged) and payload.state == AgentState.IDLE:
                return events
    raise TuiAgentError("The session ended before the command was done.")


async def join_texts(session: Session, texts: Sequence[LongText]) -> str:
    """Join texts from a session's events. Texts that are stored as blobs are loaded."""
    return "".join([await read_text(session, text) for text in texts]).strip()
