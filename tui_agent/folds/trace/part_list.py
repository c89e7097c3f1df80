"""The message parts of a session, one row each. A part is a text, a reasoning, a tool call or a tool result.

Invariant: rows are numbered from 0 without gaps, in the order of the log.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.parts import ModelPart, TextContent, ToolCallPart
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import clip_line

PartType: TypeAlias = Literal["reasoning", "text", "tool_call", "tool_result", "patch"]
SUMMARY_CHARS = 200


@dataclass(frozen=True, slots=True)
class PartRow:
    """A row for one message part.

    `part`: index of the part.
    `seq`, `time`: number and time of the part's event.
    `duration_ms`: duration of the call (for a result) or of the answer (for the first part of an answer).
    `commit`: checkpoint of the files after the part.
    `changed_files`: True if the part changed files.
    """

    part: int
    type: PartType
    role: Literal["assistant", "tool"]
    author: Literal["model", "agent", "tool"]
    agent: AgentId
    turn: int
    seq: int
    time: float
    name: str
    call_id: CallId | None
    status: str
    summary: str
    duration_ms: float | None
    commit: str = ""
    changed_files: bool = False


class Parts:
    """Builds one row for each message part from the events of a log."""

    def __init__(self) -> None:
        self.rows: list[PartRow] = []
        self.turn = 0
        self.commit = ""
        self.names: dict[CallId, str] = {}
        self.drained_count = 0

    def apply(self, ev: Envelope) -> bool:
        return _HANDLERS.apply(self, ev)

    def drain(self) -> list[PartRow]:
        """Return the rows added since the last call, in order."""
        new_rows, self.drained_count = self.rows[self.drained_count :], len(self.rows)
        return new_rows

    def view(self) -> tuple[PartRow, ...]:
        return tuple(self.rows)


_HANDLERS: Handlers[Parts] = Handlers()


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: Parts, ev: Envelope, payload: TurnStarted) -> bool:
    fold.turn = payload.turn
    return False


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: Parts, ev: Envelope, payload: ToolCalled) -> bool:
    fold.names[payload.call_id] = f"{payload.verb} {payload.target}".strip()
    return False


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: Parts, ev: Envelope, payload: ModelResponded) -> bool:
    for number, part in enumerate(payload.parts):
        call = part if isinstance(part, ToolCallPart) else None
        row = PartRow(
            part=payload.first_part + number,
            type=part.kind,
            role="assistant",
            author=payload.author,
            agent=ev.agent,
            turn=fold.turn,
            seq=ev.seq,
            time=ev.time,
            name=call.name if call else "",
            call_id=call.call_id if call else None,
            status="",
            summary=_shorten([_part_text(part)]),
            duration_ms=payload.duration_ms if number == 0 else None,
            commit=fold.commit,
        )
        fold.rows.append(row)
    return bool(payload.parts)


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: Parts, ev: Envelope, payload: ToolFinished) -> bool:
    call_label = fold.names.pop(payload.call_id, payload.name)
    if payload.part is None:
        return False
    texts = (item.text for item in payload.content if isinstance(item, TextContent))
    outcome = payload.summary or next((text_preview(text) for text in texts), "")
    row = PartRow(
        part=payload.part,
        type="tool_result",
        role="tool",
        author="tool",
        agent=ev.agent,
        turn=fold.turn,
        seq=ev.seq,
        time=ev.time,
        name=payload.name,
        call_id=payload.call_id,
        status=payload.status,
        summary=_shorten([call_label, outcome]),
        duration_ms=payload.duration_ms,
        commit=fold.commit,
    )
    fold.rows.append(row)
    return True


@_HANDLERS.on(CheckpointTaken)
def _on_checkpoint_taken(fold: Parts, ev: Envelope, payload: CheckpointTaken) -> bool:
    is_first = payload.part < 0
    for index in range(len(fold.rows) - 1, -1, -1):
        row = fold.rows[index]
        is_own = row.part == payload.part and payload.author != "human"
        if is_own:
            fold.rows[index] = replace(row, commit=payload.commit, changed_files=True)
        elif is_first and not row.commit:  # The first checkpoint may be taken during the first parts.
            fold.rows[index] = replace(row, commit=payload.commit)
        if not is_first and row.part <= payload.part:
            break
    fold.commit = payload.commit
    return bool(fold.rows)


@_HANDLERS.on(CheckpointRestored)
def _on_checkpoint_restored(fold: Parts, ev: Envelope, payload: CheckpointRestored) -> bool:
    fold.commit = payload.commit
    return False


def _part_text(part: ModelPart) -> LongText:
    if not isinstance(part, ToolCallPart):
        return part.text
    arguments = ", ".join(f"{name}={value}" for name, value in part.arguments.items())
    return f"{part.name}({arguments})"


def _shorten(texts: Iterable[LongText]) -> str:
    lines = (" ".join(text_preview(text).split()) for text in texts)
    return clip_line(" · ".join(filter(None, lines)), SUMMARY_CHARS)
