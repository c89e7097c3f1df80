"""The rows of the screen that lists a history's messages. A row shows the message's turn and its form in the context,
such as `summary`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.compacted_history import calls_by_id, preview
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart, text_previews
from tui_agent.protocol.stored_text import LongText, text_preview, text_size
from tui_agent.protocol.unicode_text import clip_line

MessagePlace: TypeAlias = Literal["summary", "line", "back", "here"]

CHARS_PER_TOKEN = 4
_SENDERS: Final[dict[MessageOrigin, str]] = {
    "prompt": "you",
    "mentions": "mentions",
    "map": "map",
    "transient": "note",
    "restored": "note",
    "instructions": "instructions",
    "hook": "note",
}


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A row for one message of a history.

    `tokens`: token count when the message was first sent, or an estimate.

    `place`: form of the message in the context:

    - `summary`: replaced by a summary.
    - `line`: replaced by one line that names an artifact.
    - `back`: restored as a quotation.
    - `here`: unchanged.
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
    """The messages of a history that are missing or changed in the context, in order.

    `compaction`: event of the newest compaction that can be undone.
    """

    items: tuple[MessageRow, ...]
    compaction: int | None
    present_items: tuple[MessageRow, ...] = ()
    """Messages in their original form in the context. The user can pin them."""


class CountedTokens:
    """Collects the token counts of the main agent's messages from events."""

    def __init__(self) -> None:
        self._tokens: dict[int, list[int]] = {}
        self._ratio = 1.0

    def apply(self, ev: Envelope) -> bool:
        packed = ev.payload
        if ev.agent != MAIN_AGENT or not isinstance(packed, ContextPacked):
            return False
        counts: dict[int, list[int]] = {}
        for message in packed.added:
            counts.setdefault(message.seq, []).append(message.tokens)
        for seq, tokens in counts.items():
            # A smaller count belongs to the line that replaces the message.
            if sum(tokens) > sum(self._tokens.get(seq, ())):
                self._tokens[seq] = tokens
        if packed.counted_tokens:
            self._ratio = packed.total_tokens / packed.counted_tokens
        return True

    def tokens_of(self, seq: int, index: int) -> int | None:
        """Return the number of tokens of a message, or None if the message was not sent.

        `index`: the message's position among the messages of the event `seq`.
        """
        counts = self._tokens.get(seq, ())
        return round(counts[index] * self._ratio) if index < len(counts) else None


class CallNames:
    """Collects the names of calls from events, e.g. `read src/app.py`."""

    def __init__(self) -> None:
        self._names: dict[CallId, str] = {}

    def apply(self, ev: Envelope) -> bool:
        if not isinstance(ev.payload, ToolCalled):
            return False
        self._names[ev.payload.call_id] = f"{ev.payload.verb} {ev.payload.target}".strip()
        return True

    def name_of(self, call: ToolCallPart) -> str:
        """Return the name of a call as the transcript shows it."""
        return self._names.get(call.call_id) or f"{call.name} {_first_argument(call)}".strip()


class TurnNumbers:
    """Collects the number and the first event of each turn from events."""

    def __init__(self) -> None:
        self._first_seqs, self._turns = [-1], [1]
        self._message_seq: int | None = None
        """Event number of a user message that has not started its turn yet, or None."""

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case UserMessageReceived() if ev.agent == MAIN_AGENT:
                self._message_seq = ev.seq
                return False
            case TurnStarted(turn=turn):
                self._first_seqs.append(ev.seq if self._message_seq is None else self._message_seq)
                self._turns.append(turn)
                self._message_seq = None
                return True
            case _:
                return False

    def turn_of(self, seq: int) -> int:
        """Return the number of the event's turn."""
        return self._turns[bisect_right(self._first_seqs, seq) - 1]


def compacted_view(
    fold: ModelMessages,
    counted: CountedTokens,
    calls: CallNames | None = None,
    turns: TurnNumbers | None = None,
) -> CompactedView:
    """Return the rows for the messages of a history."""
    calls, turns = calls or CallNames(), turns or TurnNumbers()
    history, removed = fold.view(), fold.removed
    present_seqs = {message.seq for message in history}
    reduced = {result.seq for result in removed.reduced.values()}
    removed_rows, present_rows = list[MessageRow](), list[MessageRow]()
    event_counts, originals = Counter[int](), fold.originals()
    answered_calls = calls_by_id(originals)
    for message in originals:
        index = event_counts[message.seq]
        event_counts[message.seq] += 1
        is_original = message.seq in present_seqs and message.seq not in reduced
        # These get no row: a call is shown in the row of its result, and removed instructions are added to the prompt
        # again.
        is_instructions = isinstance(message, UserMessage) and message.origin == "instructions"
        if is_instructions or _has_only_calls(message) or (is_original and not _is_pinnable(message)):
            continue
        sender, text, texts = _describe(message, calls, is_user_text=removed.is_user_text(message))
        text, tokens = clip_line(text, 200), counted.tokens_of(message.seq, index)
        if tokens is None:
            tokens = sum(map(text_size, texts)) // CHARS_PER_TOKEN
        call = answered_calls.get(message.call_id) if isinstance(message, ToolMessage) else None
        if call is not None:
            text = "  ".join(filter(None, (_first_argument(call), text)))
            texts = (_full_call(call), *texts)
        place: MessagePlace = "here" if is_original else "line" if message.seq in present_seqs else "summary"
        if place == "summary" and removed.restored.get(message.seq) in present_seqs:
            place = "back"
        is_pinned = message.seq in removed.pinned
        row = MessageRow(
            message.seq, turns.turn_of(message.seq), sender, text, tokens, place, is_pinned, texts
        )
        (present_rows if is_original else removed_rows).append(row)
    newest = removed.newest_compaction if removed.leading_summary(history) else None
    return CompactedView(tuple(removed_rows), newest, tuple(present_rows))


def _describe(
    message: Message, calls: CallNames, *, is_user_text: bool
) -> tuple[str, str, tuple[LongText, ...]]:
    """Return a message's sender, the beginning of its text, and all its texts."""
    match message:
        case UserMessage(content=content, origin=origin):
            sender = "note" if origin == "prompt" and not is_user_text else _SENDERS[origin]
            return sender, preview(message), _content_texts(content)
        case ToolMessage(name=name, content=content):
            return name, preview(message), _content_texts(content)
        case SummaryMessage(text=text):
            return "summary", preview(message), (text,)
        case AssistantMessage(parts=parts):
            names = [calls.name_of(part) for part in parts if isinstance(part, ToolCallPart)]
            beginnings = text_previews(parts)
            texts = tuple(_full_call(part) if isinstance(part, ToolCallPart) else part.text for part in parts)
            return "agent", " ".join([*beginnings, ", ".join(names)]), texts


def _content_texts(content: Sequence[Content]) -> tuple[LongText, ...]:
    return tuple(part.text for part in content if isinstance(part, TextContent))


def _first_argument(call: ToolCallPart) -> str:
    texts = (text for text in call.arguments.values() if isinstance(text, str))
    return clip_line(next(texts, ""), 60)


def _is_pinnable(message: Message) -> bool:
    """Return True if the user can pin the message."""
    # A call is pinned with its result. The program's own messages need no pin: they are added again after a compaction.
    match message:
        case UserMessage(origin=kind):
            return kind in ("prompt", "mentions", "hook")
        case AssistantMessage():
            return not _has_only_calls(message)
        case ToolMessage():
            return True
        case SummaryMessage():
            return False


def _has_only_calls(message: Message) -> bool:
    """Return True for an answer without text."""
    if not isinstance(message, AssistantMessage):
        return False
    return not any(isinstance(part, TextPart) and text_preview(part.text).strip() for part in message.parts)


def _full_call(call: ToolCallPart) -> str:
    return "\n".join([call.name, *(f"{name}: {value}" for name, value in call.arguments.items())])
