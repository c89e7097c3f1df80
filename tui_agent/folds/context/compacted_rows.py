"""Rows for people on the removed messages of a history: each message, its turn, and where it is now."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from tui_agent.folds.context.compacted_history import calls_by_id, preview
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.protocol.base import LongText, text_preview, text_size
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import ImageContent, TextPart, ToolCallPart

MessagePlace: TypeAlias = Literal["summary", "line", "back", "here"]

CHARS_PER_TOKEN = 4
_SENDERS: Final[dict[MessageOrigin, str]] = {
    "prompt": "you",
    "mentions": "mentions",
    "map": "map",
    "transient": "note",
    "restored": "note",
    "instructions": "instructions",
}


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message. `place` says how the context holds it.

    - `summary`: a summary replaces it.
    - `line`: a line with its artifact replaces it.
    - `restored`: it was restored as a quotation.
    - `here`: in its original form.

    Tokens are those counted when it was first sent, or an estimate from its characters if it never was.
    """

    seq: int
    turn: int
    sender: str
    text: str
    tokens: int
    place: MessagePlace
    pinned: bool
    texts: tuple[LongText, ...]


@dataclass(frozen=True, slots=True)
class CompactedView:
    """Messages that are not in the context in their original form, in order; `compaction` is the newest that
    can be undone."""

    items: tuple[MessageRow, ...]
    compaction: int | None
    present_items: tuple[MessageRow, ...] = ()
    """Messages in the context in their original form that can be pinned: text and results."""


class CountedTokens:
    """A fold of the token counts of the main agent's messages."""

    def __init__(self) -> None:
        self._tokens: dict[int, list[int]] = {}
        self._ratio = 1.0

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if something was counted."""
        packed = ev.payload
        if ev.agent != MAIN_AGENT or not isinstance(packed, ContextPacked):
            return False
        counts: dict[int, list[int]] = {}
        for message in packed.added:
            counts.setdefault(message.seq, []).append(message.tokens)
        for seq, tokens in counts.items():
            if sum(tokens) > sum(self._tokens.get(seq, ())):  # fewer: a line that replaces it
                self._tokens[seq] = tokens
        if packed.counted_tokens:
            self._ratio = packed.total_tokens / packed.counted_tokens
        return True

    def tokens_of(self, seq: int, index: int) -> int | None:
        """Return the tokens of message number `index` among those of this event; None if it was not sent."""
        counts = self._tokens.get(seq, ())
        return round(counts[index] * self._ratio) if index < len(counts) else None


class CallNames:
    """A fold of the calls' names in the transcript: `read src/app.py`."""

    def __init__(self) -> None:
        self._names: dict[CallId, str] = {}

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if it named a call."""
        if not isinstance(ev.payload, ToolCalled):
            return False
        self._names[ev.payload.call_id] = f"{ev.payload.verb} {ev.payload.target}".strip()
        return True

    def name_of(self, call: ToolCallPart) -> str:
        """Return the name of a call; for one that was never accepted, its tool and first argument."""
        return self._names.get(call.call_id) or f"{call.name} {_first_argument(call)}".strip()


def compacted_view(
    fold: ModelMessages, counted: CountedTokens, calls: CallNames | None = None
) -> CompactedView:
    """Return the rows of a history."""
    calls = calls or CallNames()
    held, forgotten = fold.view(), fold.removed
    present_seqs = {message.seq for message in held}
    reduced = {result.seq for result in forgotten.reduced.values()}
    removed_rows, present_rows, turn = list[MessageRow](), list[MessageRow](), 0
    event_counts, originals = Counter[int](), fold.originals()
    asked = calls_by_id(originals)
    for message in originals:
        index = event_counts[message.seq]
        event_counts[message.seq] += 1
        turn += forgotten.is_user_text(message)
        is_original = message.seq in present_seqs and message.seq not in reduced
        if (
            _is_instructions(message)
            or _has_only_calls(message)
            or (is_original and not _is_pinnable(message))
        ):
            continue
        was_restored = forgotten.restored.get(message.seq) in present_seqs
        where: MessagePlace = (
            "here"
            if is_original
            else "line"
            if message.seq in present_seqs
            else "back"
            if was_restored
            else "summary"
        )
        row = _build_item(
            message,
            max(1, turn),
            where,
            pinned=message.seq in forgotten.pinned,
            tokens=counted.tokens_of(message.seq, index),
        )
        if isinstance(message, AssistantMessage):
            row = replace(row, text=_single_line(_answer_text(message, calls)))
        is_note = (
            isinstance(message, UserMessage)
            and message.origin == "prompt"
            and not forgotten.is_user_text(message)
        )
        call = asked.get(message.call_id) if isinstance(message, ToolMessage) else None
        if call is not None:
            text = "  ".join(filter(None, (_first_argument(call), row.text)))
            row = replace(row, text=text, texts=(_full_call(call), *row.texts))
        (present_rows if is_original else removed_rows).append(
            replace(row, sender="note") if is_note else row
        )
    newest = forgotten.newest_compaction if forgotten.leading_summary(held) else None
    return CompactedView(tuple(removed_rows), newest, tuple(present_rows))


def _first_argument(call: ToolCallPart) -> str:
    """Return the first text argument, usually a path or a command."""
    texts = (text for text in call.arguments.values() if isinstance(text, str))
    return " ".join(next(texts, "").split())[:60]


def _answer_text(message: AssistantMessage, calls: CallNames) -> str:
    """Return an answer's text, then its calls."""
    texts = [text_preview(part.text) for part in message.parts if isinstance(part, TextPart)]
    names = [calls.name_of(part) for part in message.parts if isinstance(part, ToolCallPart)]
    return " ".join([*texts, ", ".join(names)])


def _single_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _build_item(
    message: Message, turn: int, where: MessagePlace, *, pinned: bool, tokens: int | None
) -> MessageRow:
    texts = _texts(message)
    size = sum(text_size(text) for text in texts)
    return MessageRow(
        message.seq,
        turn,
        _sender_label(message),
        _single_line(preview(message)),
        size // CHARS_PER_TOKEN if tokens is None else tokens,
        where,
        pinned,
        texts,
    )


def _is_pinnable(message: Message) -> bool:
    """Return True for text and results: a call alone says nothing, and the program adds its own messages again."""
    match message:
        case UserMessage(origin=kind):
            return kind in ("prompt", "mentions")
        case AssistantMessage():
            return not _has_only_calls(message)
        case ToolMessage():
            return True
        case SummaryMessage():
            return False


def _has_only_calls(message: Message) -> bool:
    """Return True for an answer without text: its calls are in the rows of their results."""
    if not isinstance(message, AssistantMessage):
        return False
    return not any(isinstance(part, TextPart) and text_preview(part.text).strip() for part in message.parts)


def _is_instructions(message: Message) -> bool:
    """Return True for instructions that joined later: they are in the prompt once their message is removed."""
    return isinstance(message, UserMessage) and message.origin == "instructions"


def _sender_label(message: Message) -> str:
    match message:
        case UserMessage(origin=kind):
            return _SENDERS[kind]
        case AssistantMessage():
            return "agent"
        case ToolMessage(name=name):
            return name
        case SummaryMessage():
            return "summary"


def _texts(message: Message) -> tuple[LongText, ...]:
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            return tuple(part.text for part in content if not isinstance(part, ImageContent))
        case SummaryMessage(text=text):
            return (text,)
        case AssistantMessage(parts=parts):
            return _part_texts(parts)


def _part_texts(parts: Sequence[object]) -> tuple[LongText, ...]:
    return tuple(
        _full_call(part) if isinstance(part, ToolCallPart) else getattr(part, "text", "") for part in parts
    )


def _full_call(call: ToolCallPart) -> str:
    """Return a call with all its arguments, one per line."""
    return "\n".join([call.name, *(f"{name}: {value}" for name, value in call.arguments.items())])
