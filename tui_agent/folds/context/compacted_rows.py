"""What a history has let go of, as rows for a person: each message, in which turn, and where it is now."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from tui_agent.folds.context.compacted_history import calls_of, preview
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.protocol.base import BlobText, LongText, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserKind,
    UserMessage,
)
from tui_agent.protocol.parts import ImageContent, TextPart, ToolCallPart

Where: TypeAlias = Literal["summary", "line", "back", "here"]

CHARS_PER_TOKEN = 4
_WHO: Final[dict[UserKind, str]] = {
    "said": "you",
    "mentions": "mentions",
    "map": "map",
    "passing": "note",
    "restored": "note",
    "instructions": "instructions",
}


@dataclass(frozen=True, slots=True)
class ForgottenItem:
    """One message. `where`: a summary stands for it, or a line with its artifact, it was brought `back` as a quotation,
    or it stands `here` as it was said.
    Tokens as they were counted when it was first sent, of one that never was by its characters: an estimate."""

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
    held: tuple[ForgottenItem, ...] = ()
    """What is in the context as it was said, and could be pinned before it goes: words and results."""


class CountedTokens:
    """Folds what each message of the main agent's was counted as."""

    def __init__(self) -> None:
        self._tokens: dict[int, list[int]] = {}
        self._ratio = 1.0

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if something was counted."""
        packed = ev.payload
        if ev.agent != MAIN_AGENT or not isinstance(packed, ContextPacked):
            return False
        now: dict[int, list[int]] = {}
        for one in packed.added:
            now.setdefault(one.seq, []).append(one.tokens)
        for seq, tokens in now.items():
            if sum(tokens) > sum(self._tokens.get(seq, ())):  # less: a line that stands for it
                self._tokens[seq] = tokens
        if packed.counted_tokens:
            self._ratio = packed.total_tokens / packed.counted_tokens
        return True

    def of(self, seq: int, at: int) -> int | None:
        """Tokens of the message that is number `at` of those that come from this event; None where it was not sent."""
        counts = self._tokens.get(seq, ())
        return round(counts[at] * self._ratio) if at < len(counts) else None


class CallNames:
    """Folds what the transcript calls each call: `read src/app.py`."""

    def __init__(self) -> None:
        self._names: dict[CallId, str] = {}

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if it named a call."""
        if not isinstance(ev.payload, ToolCalled):
            return False
        self._names[ev.payload.call_id] = f"{ev.payload.verb} {ev.payload.target}".strip()
        return True

    def of(self, call: ToolCallPart) -> str:
        """Its name; of one that was never taken up its tool and what it was about."""
        return self._names.get(call.call_id) or f"{call.name} {_about(call)}".strip()


def forgotten_view(
    fold: ModelMessages, counted: CountedTokens, calls: CallNames | None = None
) -> ForgottenView:
    """The rows of a history."""
    calls = calls or CallNames()
    held, gone = fold.view(), fold.forgotten
    here = {one.seq for one in held}
    reduced = {one.seq for one in gone.reduced.values()}
    rows, kept, turn = list[ForgottenItem](), list[ForgottenItem](), 0
    of_event, originals = Counter[int](), fold.originals()
    asked = calls_of(originals)
    for one in originals:
        at = of_event[one.seq]
        of_event[one.seq] += 1
        turn += gone.own(one)
        whole = one.seq in here and one.seq not in reduced
        if _stands_in_the_prompt(one) or _only_calls(one) or (whole and not _can_be_pinned(one)):
            continue
        back = gone.back.get(one.seq) in here
        where: Where = "here" if whole else "line" if one.seq in here else "back" if back else "summary"
        row = _item(one, max(1, turn), where, pinned=one.seq in gone.pinned, tokens=counted.of(one.seq, at))
        if isinstance(one, AssistantMessage):
            row = replace(row, said=_line(_spoken(one, calls)))
        note = isinstance(one, UserMessage) and one.kind == "said" and not gone.own(one)
        call = asked.get(one.call_id) if isinstance(one, ToolMessage) else None
        if call is not None:
            said = "  ".join(filter(None, (_about(call), row.said)))
            row = replace(row, said=said, texts=(_whole_call(call), *row.texts))
        (kept if whole else rows).append(replace(row, who="note") if note else row)
    newest = gone.newest if gone.front(held) else None
    return ForgottenView(tuple(rows), newest, tuple(kept))


def _about(call: ToolCallPart) -> str:
    """What it is about: the first of its arguments that is a text, mostly a path or a command."""
    texts = (text for text in call.arguments.values() if isinstance(text, str))
    return " ".join(next(texts, "").split())[:60]


def _spoken(message: AssistantMessage, calls: CallNames) -> str:
    """What an answer says, then its calls."""
    texts = [text_preview(part.text) for part in message.parts if isinstance(part, TextPart)]
    named = [calls.of(part) for part in message.parts if isinstance(part, ToolCallPart)]
    return " ".join([*texts, ", ".join(named)])


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


def _item(message: Message, turn: int, where: Where, *, pinned: bool, tokens: int | None) -> ForgottenItem:
    texts = _texts(message)
    size = sum(one.size if isinstance(one, BlobText) else len(one) for one in texts)
    return ForgottenItem(
        message.seq,
        turn,
        _who(message),
        _line(preview(message)),
        size // CHARS_PER_TOKEN if tokens is None else tokens,
        where,
        pinned,
        texts,
    )


def _can_be_pinned(message: Message) -> bool:
    """Words and results: a call alone says nothing, and what the program itself put in comes anew."""
    match message:
        case UserMessage(kind=kind):
            return kind in ("said", "mentions")
        case AssistantMessage():
            return not _only_calls(message)
        case ToolMessage():
            return True
        case SummaryMessage():
            return False


def _only_calls(message: Message) -> bool:
    """An answer without words: each of its calls stands in the row of its result."""
    if not isinstance(message, AssistantMessage):
        return False
    return not any(isinstance(part, TextPart) and text_preview(part.text).strip() for part in message.parts)


def _stands_in_the_prompt(message: Message) -> bool:
    """Instructions that joined on the way are in the prompt once their message is gone."""
    return isinstance(message, UserMessage) and message.kind == "instructions"


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
        _whole_call(part) if isinstance(part, ToolCallPart) else getattr(part, "text", "") for part in parts
    )


def _whole_call(call: ToolCallPart) -> str:
    """A call with all that it was given, each on lines of its own."""
    return "\n".join([call.name, *(f"{name}: {value}" for name, value in call.arguments.items())])
