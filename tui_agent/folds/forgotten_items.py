"""L1: what a history has let go of, as rows for a person: each message, in which turn, and where it is now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from tui_agent.folds.forgotten import preview
from tui_agent.folds.model_messages import ModelMessages
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserKind,
    UserMessage,
)
from tui_agent.protocol.parts import ImageContent, ToolCallPart

Where: TypeAlias = Literal["summary", "line", "back"]

CHARS_PER_TOKEN = 4
_WHO: Final[dict[UserKind, str]] = {"said": "you", "mentions": "mentions", "map": "map", "passing": "note"}


@dataclass(frozen=True, slots=True)
class ForgottenItem:
    """One message. `where`: a summary stands for it, or a line with its artifact, or it was brought `back` as a quotation.
    Tokens are an estimate."""

    seq: int
    turn: int
    who: str
    said: str
    tokens: int
    where: Where
    pinned: bool
    texts: tuple[LongText, ...]


@dataclass(frozen=True, slots=True)
class ForgottenView:
    """What is not in the context as it was said, in order; `compaction` is the newest that can be taken back."""

    items: tuple[ForgottenItem, ...]
    compaction: int | None


def forgotten_view(fold: ModelMessages) -> ForgottenView:
    """The rows of a history."""
    held, gone = fold.view(), fold.forgotten
    here = {one.seq for one in held}
    reduced = {one.seq for one in gone.reduced.values()}
    rows, turn = list[ForgottenItem](), 0
    for one in fold.originals():
        turn += gone.own(one)
        if one.seq in here and one.seq not in reduced:
            continue
        back = gone.back.get(one.seq) in here
        where: Where = "line" if one.seq in here else "back" if back else "summary"
        row = _item(one, max(1, turn), where, pinned=one.seq in gone.pinned)
        note = isinstance(one, UserMessage) and one.kind == "said" and not gone.own(one)
        rows.append(replace(row, who="note") if note else row)
    newest = gone.newest if gone.front(held) else None
    return ForgottenView(tuple(rows), newest)


def _item(message: Message, turn: int, where: Where, *, pinned: bool) -> ForgottenItem:
    texts = _texts(message)
    size = sum(one.size if isinstance(one, BlobText) else len(one) for one in texts)
    return ForgottenItem(
        message.seq,
        turn,
        _who(message),
        " ".join(preview(message).split())[:200],
        size // CHARS_PER_TOKEN,
        where,
        pinned,
        texts,
    )


def _who(message: Message) -> str:
    match message:
        case UserMessage(kind=kind):
            return _WHO[kind]
        case AssistantMessage():
            return "agent"
        case ToolMessage(name=name):
            return name
        case SummaryMessage():
            return "summary"


def _texts(message: Message) -> tuple[LongText, ...]:
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            return tuple(one.text for one in content if not isinstance(one, ImageContent))
        case SummaryMessage(text=text):
            return (text,)
        case AssistantMessage(parts=parts):
            return _said(parts)


def _said(parts: Sequence[object]) -> tuple[LongText, ...]:
    return tuple(
        f"{part.name} {part.arguments}" if isinstance(part, ToolCallPart) else getattr(part, "text", "")
        for part in parts
    )
