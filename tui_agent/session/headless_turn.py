"""One turn of a session without the app: submits the prompt, follows the events, and returns the turn's end.

Invariant: the functions work with any `Session`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session, read_text
from tui_agent.protocol.commands import Command, ContinueTurn, SubmitPrompt
from tui_agent.protocol.display_blocks import (
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
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import CommandRejected, RunStarted, TrajectoryEnd
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT, CallId, CommandId
from tui_agent.protocol.parts import TextPart, tool_calls
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.command_effects import describe_effect

Show = Callable[[Record], None]
TurnStart: TypeAlias = str | ContinueTurn
"""The start of a turn: a message (possibly a slash command), or the command `ContinueTurn`."""
LIMITS: dict[str, TrajectoryEnd] = {
    "part_limit": "part_limit",
    "iteration_limit": "iteration_limit",
    "turn_limit": "turn_limit",
    "cost_limit": "cost_limit",
    "time_limit": "timeout",
    "interrupted": "interrupted",
}
"""Maps the reason why a turn was stopped to the reason in the event `session.ended`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a turn.

    - `reason`: a `TurnFinished.reason`.
    - `recorded_reason`: the reason that the log has, if it differs from `reason`.
    - `answer`: the main agent's last text.
    - `warning`: sentence for the user if the turn finished despite denied calls.
    - `denial`: the newest decision that denied a call.
    """

    reason: str
    detail: str
    run_id: str
    session: str
    answer: str
    warning: str = ""
    recorded_reason: str = ""
    denial: PermissionDecided | None = None

    @property
    def status(self) -> str:
        """`success` if the turn finished, otherwise `reason`."""
        return "success" if self.reason == "finished" else self.reason

    @property
    def trajectory_end(self) -> TrajectoryEnd:
        """The reason to record in `session.ended` if neither tests nor a verifier judged the result."""
        reason = self.recorded_reason or self.reason
        return "finished" if reason == "finished" else LIMITS.get(reason, "agent_error")


AfterTurn: TypeAlias = Callable[[Session, Outcome], Awaitable[TurnStart | None]]
"""Function called after a turn, before the session is closed.

Returns the start of the next turn, or None to close the session.
"""


async def run_turn(
    session: Session, begin: TurnStart, show: Show, after: int = -1, after_turn: AfterTurn | None = None
) -> Outcome:
    """Start a turn, wait until it has ended, close the session, and return the turn's result.

    - `after`: only events after this one are read.
    - `show`: called with every record of this run in order.
    - `after_turn`: called after each turn, before the session is closed. It returns the start of another turn, or None.

    If the session has reached its turn limit, no turn runs, and the result's reason is `turn_limit`. If the command is
    rejected for another reason, raise `UsageError`. If the session ends before the turn, raise `TuiAgentError`.
    """
    turn = _Turn(_submit(session, begin), show)
    follower = session.follow(after)
    try:
        outcome = await _follow_turn(session, follower, turn)
        while after_turn is not None and (next_start := await after_turn(session, outcome)) is not None:
            turn.begin_next(_submit(session, next_start))
            outcome = await _follow_turn(session, follower, turn)
        # The events of closing are shown too, for example `run.finished`.
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
                "The session ended during the turn.",
                hint=f"To see its events: tui-agent trace {session.id}",
            )
        turn.take(batch)
    return turn.outcome(turn.ended, session.id, await join_texts(session, turn.words))


class _Turn:
    """The state of one turn, collected from the session's events. The command `command` starts the turn."""

    def __init__(self, command: CommandId, show: Show) -> None:
        self._command = command
        self._show = show
        self._waiting: list[Record] = []
        self._begun = False
        self.ended: TurnFinished | None = None
        self.run_id = ""
        self.words: Sequence[LongText] = ()
        self._effects: list[str] = []
        """Sentences about the effects of a slash command that starts no turn, such as `/undo`."""
        self.denials: dict[CallId, PermissionDecided] = {}
        """Maps the id of a denied tool call to the decision."""
        self._last_calls: set[CallId] = set()
        """Ids of the calls in the model's newest answer with tool calls. Interrupted calls are left out."""

    def begin_next(self, command: CommandId) -> None:
        """Discard the data of the last turn. From now on, process the turn that `command` starts."""
        self._command, self.ended, self.words = command, None, ()
        self.denials.clear()
        self._effects.clear()
        self._last_calls = set()

    def outcome(self, ended: TurnFinished, session: str, answer: str) -> Outcome:
        """Return the result of an ended turn.

        If the turn finished, but all of the model's newest tool calls were denied, the result's reason is `denied`.
        """
        outcome = Outcome(ended.reason, ended.detail, self.run_id, session, answer)
        if not self.denials:
            return outcome
        reasons = [denial.reason for denial in self.denials.values()]
        outcome = replace(outcome, denial=list(self.denials.values())[-1])
        if ended.reason != "finished":
            return outcome
        if self._last_calls and self._last_calls <= set(self.denials):
            return replace(outcome, reason="denied", detail=reasons[-1], recorded_reason=ended.reason)
        count = f"{format_count(len(reasons), 'call')} {'was' if len(reasons) == 1 else 'were'}"
        last = "" if len(set(reasons)) == 1 else ", the last one"
        return replace(outcome, warning=f"{count} denied{last}: {reasons[-1]}")

    def take(self, batch: Sequence[Record]) -> None:
        """Process records of the session, and show those of this run."""
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
                # In a new session, the only record before it is `session.started`, which is shown. More records belong to
                # an earlier run.
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
                calls = {part.call_id for part in tool_calls(parts)}
                self._last_calls = calls or self._last_calls
            case PermissionDecided(decision="deny", call_id=call_id) as denial:
                self.denials[call_id] = denial
            case PermissionDecided(call_id=call_id):
                self.denials.pop(call_id, None)
            case ToolFinished(status="interrupted", call_id=call_id):
                self._last_calls.discard(call_id)
            case TurnFinished() as finished:
                self.ended = finished
            case AgentStateChanged(state=AgentState.IDLE) if (
                self.ended is None and record.cause == self._command
            ):  # a command without a turn, such as `/undo`
                self.words = [" ".join(self._effects)]
                self.ended = TurnFinished(turn=0, reason="finished")
            case CommandRan(sends=False, display=display) if record.cause == self._command:
                self.words = ["\n".join(block_text(block) for block in display)]
                self.ended = TurnFinished(turn=0, reason="finished")
            case CommandRejected(reason=reason, hint=hint, limit=limit) if record.cause == self._command:
                if not limit:
                    raise UsageError(reason, hint=hint)
                self.ended = TurnFinished(turn=0, reason=limit, detail=f"{reason} {hint}")
            case _ if record.cause == self._command and (effect := describe_effect(record)):
                self._effects.append(effect)


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
    """Submit a command, wait until it is done, and return its events.

    Raise `TuiAgentError` if the engine rejects the command or the session ends.
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
    """Join texts from a session's events, with blobs loaded."""
    return "".join([await read_text(session, text) for text in texts]).strip()
