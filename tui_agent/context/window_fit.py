"""Shortening of a history so that the request fits into the window.

The user's messages and a summary's required content are cut last.

Invariant: calls keep their results, and messages keep their order.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from tui_agent.context.budgets import SHORTENING_ORDER, Room
from tui_agent.context.compaction.summary_text import STORY
from tui_agent.context.history_tokens import MessageCount
from tui_agent.context.truncation import artifact_id, head_and_tail
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import (
    Content,
    ImageContent,
    ModelPart,
    ReasoningPart,
    TextContent,
    TextPart,
    ToolCallPart,
)

SHORT_BYTES, SHORT_LINES = 1_200, 24
"""Maximum bytes and lines of a text after it was shortened (about 300 tokens)."""
_MIN_BLOCK_TOKENS = 400
"""A message with fewer tokens than this is not shortened."""
_TINY_BYTES, _TINY_LINES, _TINY_MIN_TOKENS = 240, 6, 90
"""Limits of the second shortening: maximum bytes and lines of a text, and minimum tokens of a message."""
_MIN_WORD_TOKENS = 200
"""Minimum size of a user message after a cut, in tokens."""
_TRIES = 4
_IMAGE = TextContent(text="[image left out: no room]")


@dataclass(slots=True)
class FittedHistory:
    """A history while it is being fitted into the window.

    `short`: positions of shortened messages, by section.
    `words`: full text of each cut user message or summary, by position.
    """

    counted: list[MessageCount]
    short: dict[SectionName, list[int]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    words: dict[int, str] = field(default_factory=dict)
    full_counts: dict[int, MessageCount] = field(default_factory=dict)
    """The same messages as in `words`, with the token counts of their full form."""
    pinned: frozenset[int] = frozenset()
    """Positions of pinned messages, which are shortened last."""
    lost: dict[int, str] = field(default_factory=dict)
    """Maps the position of a shortened pinned message to the message's full text."""

    def replace_cut(self, index: int, full: MessageCount, after: MessageCount) -> None:
        """Replace the message at `index` by the shortened message `after`. `full` is the full message."""
        self.counted[index], self.full_counts[index], self.words[index] = (
            after,
            full,
            _longest_text(full.message),
        )

    def messages(self) -> Iterator[Message]:
        """Return the messages to send."""
        return (count.message for index, count in enumerate(self.counted) if index not in self.dropped)


class HistoryFitter:
    """Shortens messages, and caches the shortened texts for the next request."""

    def __init__(self, recount: Callable[[Message], MessageCount]) -> None:
        self._recount = recount
        self._short: dict[tuple[int, bool], tuple[Message, MessageCount]] = {}
        self._cut: dict[int, tuple[Message, MessageCount]] = {}
        self._limit: object = None

    def fit(
        self,
        fitted: FittedHistory,
        sections: Sequence[SectionName],
        room: Room,
        needed: int,
        preferred: int,
    ) -> None:
        """Shorten the history by at least `needed` tokens.

        Old messages are shortened further, until `preferred` tokens are saved.
        """
        remaining = needed - preferred + self._shorten_sections(fitted, sections, room, preferred)
        everything = range(len(fitted.counted))
        free = [position for position in everything if position not in fitted.pinned]
        # Do not shorten the newest results to make room for a later request.
        for position in free[bisect_left(free, _index_of_newest_answer(fitted)) :]:
            remaining = self._shorten(fitted, sections[position], (position,), remaining, remaining)
        for tiny, positions in ((True, free), (False, sorted(fitted.pinned)), (True, sorted(fitted.pinned))):
            for position in positions:
                remaining = self._shorten(
                    fitted, sections[position], (position,), remaining, remaining, tiny=tiny
                )
        if remaining > 0:
            _drop_oldest(fitted, remaining)

    def cut_as_before(self, fitted: FittedHistory, limit: object) -> None:
        """Repeat the cuts of earlier requests, so that the beginning of the request does not change.

        `limit`: identifies the window. For a new window, the earlier cuts are forgotten.
        """
        if limit != self._limit:
            self._limit = limit
            self._cut.clear()
        for index, count in enumerate(fitted.counted):
            known = self._cut.get(id(count.message))
            if known is not None and known[0] is count.message:
                fitted.replace_cut(index, count, known[1])

    def cut_words(self, fitted: FittedHistory, needed: int, preferred: int) -> None:
        """If `needed` is positive, cut user messages and summaries by up to `preferred` tokens, the longest first."""
        longest = sorted(
            (index for index, count in enumerate(fitted.counted) if _longest_text(count.message)),
            key=lambda index: -fitted.counted[index].tokens,
        )
        remaining = preferred
        for index in longest:
            if needed <= 0:
                break
            before = fitted.counted[index]
            full = fitted.full_counts.get(index, before)
            after = self._cut_to(full, max(_MIN_WORD_TOKENS, before.tokens - remaining))
            if after.tokens < before.tokens:
                self._cut[id(full.message)] = full.message, after
                fitted.replace_cut(index, full, after)
                remaining -= before.tokens - after.tokens
                needed -= before.tokens - after.tokens

    def _cut_to(self, before: MessageCount, tokens: int) -> MessageCount:
        words = _longest_text(before.message)
        artifact = artifact_id(words)
        size = len(words.encode("utf-8", "replace"))
        after = before
        for _ in range(_TRIES):
            # Slightly less than proportional, because the note about the cut needs tokens too.
            size = int(size * tokens / max(after.tokens, 1) * 0.97)
            shown = head_and_tail(words, max_bytes=size, max_lines=len(words) + 1, artifact=artifact)
            after = self._recount(_replace_longest_text(before.message, shown.text))
            if after.tokens <= tokens:
                break
        return after

    def _shorten_sections(
        self, fitted: FittedHistory, sections: Sequence[SectionName], room: Room, excess: int
    ) -> int:
        """Shorten old messages, section by section. Return the part of `excess` that remains."""
        counted = list(fitted.counted)
        free = [
            position for position in range(_index_of_newest_answer(fitted)) if position not in fitted.pinned
        ]
        for section in SHORTENING_ORDER:
            positions = [position for position in free if sections[position] == section]
            size = sum(counted[position].tokens for position in positions)
            # First only the part above the section's budget, then as much as is needed.
            for over in (size - (room.budget(section) or 0), size):
                excess = self._shorten(fitted, section, positions, min(over, excess), excess)
                if excess <= 0:
                    return excess
        return excess

    def _shorten(
        self,
        fitted: FittedHistory,
        section: SectionName,
        positions: Sequence[int],
        needed: int,
        excess: int,
        *,
        tiny: bool = False,
    ) -> int:
        for position in positions:
            if needed <= 0:
                break
            before = fitted.counted[position]
            after = self._shorten_if_smaller(before, tiny=tiny)
            if after is None:
                continue
            if position in fitted.pinned:
                fitted.lost.setdefault(position, _text(before.message))
            fitted.counted[position] = after
            short = fitted.short.setdefault(section, [])
            if position not in short:
                short.append(position)
            needed -= before.tokens - after.tokens
            excess -= before.tokens - after.tokens
        return excess

    def _shorten_if_smaller(self, before: MessageCount, *, tiny: bool) -> MessageCount | None:
        """Return the message with shortened texts, or None if that saves no tokens."""
        if before.tokens < (_TINY_MIN_TOKENS if tiny else _MIN_BLOCK_TOKENS):
            return None
        # The message is stored beside its id, because an id can be given to a new object.
        known = self._short.get((id(before.message), tiny))
        if known is not None and known[0] is before.message:
            return known[1]
        message = _shorten_message(before.message, tiny=tiny)
        if message is before.message:
            return None
        after = self._recount(message)
        if after.tokens >= before.tokens:
            return None
        self._short[id(before.message), tiny] = before.message, after
        return after


def _index_of_newest_answer(fitted: FittedHistory) -> int:
    """Return the position of the newest answer, or the length of the history if there is none."""
    newest = len(fitted.counted)
    # The newest answer's results are what the model reads next.
    while newest > 0 and isinstance(fitted.counted[newest - 1].message, ToolMessage):
        newest -= 1
    if newest > 0 and isinstance(fitted.counted[newest - 1].message, AssistantMessage):
        newest -= 1
    return newest if newest < len(fitted.counted) - 1 else len(fitted.counted)


def _longest_text(message: Message) -> str:
    """Return the longest text of a user message or an instruction. Return a summary's whole text.

    For other messages, return an empty string.
    """
    match message:
        case UserMessage(origin="prompt" | "instructions"):
            return _text(message)
        case SummaryMessage(text=str() as text):
            return text
        case _:
            return ""


def _replace_longest_text(message: Message, now: str) -> Message:
    """Return the message with its longest text (see `_longest_text`) replaced by `now`."""
    match message:
        case UserMessage(content=content):
            words = _longest_text(message)
            pieces = tuple(
                TextContent(text=now) if isinstance(item, TextContent) and item.text == words else item
                for item in content
            )
            return message.model_copy(update={"content": pieces})
        case SummaryMessage():
            return message.model_copy(update={"text": now})
        case _:
            return message


def _text(message: Message) -> str:
    content = () if isinstance(message, AssistantMessage | SummaryMessage) else message.content
    texts = [item.text for item in content if isinstance(item, TextContent) and isinstance(item.text, str)]
    return max(texts, key=len, default="")


def _drop_oldest(fitted: FittedHistory, needed: int) -> None:
    """Drop the oldest answers and their results until `needed` tokens are free, but keep the newest answer."""
    answers = [
        index for index, count in enumerate(fitted.counted) if isinstance(count.message, AssistantMessage)
    ]
    for start in answers[:-1]:
        if needed <= 0:
            return
        end = start + 1
        while isinstance(fitted.counted[end].message, ToolMessage):
            end += 1
        fitted.dropped.update(range(start, end))
        needed -= sum(count.tokens for count in fitted.counted[start:end])


def _shorten_message(message: Message, *, tiny: bool) -> Message:
    """Return the message with shortened texts.

    `tiny`: shorten still more, and replace each image by a note.
    """
    shorten = _tiny_text if tiny else _short_text
    match message:
        case AssistantMessage(parts=parts) if tiny:
            return message.model_copy(update={"parts": tuple(map(_tiny_part, parts))})
        case (
            ToolMessage(content=content)
            | UserMessage(origin="mentions" | "map" | "restored", content=content)
        ):
            pieces = tuple(_shorten_content(piece, shorten, _IMAGE if tiny else piece) for piece in content)
            return message.model_copy(update={"content": pieces})
        case SummaryMessage(text=str() as text):
            return message.model_copy(update={"text": _shorten_story(text, shorten)})
        case _:
            return message


def _shorten_content(piece: Content, shorten: Callable[[str], str], image: Content) -> Content:
    if isinstance(piece, ImageContent):
        return image
    return piece.model_copy(update={"text": shorten(piece.text)}) if isinstance(piece.text, str) else piece


def _tiny_part(part: ModelPart) -> ModelPart:
    """Shorten a part, but not signed reasoning."""
    # Providers accept signed reasoning only unchanged.
    match part:
        case ToolCallPart(arguments=arguments):
            return part.model_copy(
                update={"arguments": {name: _tiny_value(value) for name, value in arguments.items()}}
            )
        case ReasoningPart() if part.signature or part.opaque:
            return part
        case TextPart(text=str() as text) | ReasoningPart(text=str() as text):
            return part.model_copy(update={"text": _tiny_text(text)})
        case _:
            return part


def _tiny_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _tiny_text(value)
    return value if len(json.dumps(value)) <= _TINY_BYTES else _tiny_text(json.dumps(value))


def _tiny_text(text: str) -> str:
    return head_and_tail(text, max_bytes=_TINY_BYTES, max_lines=_TINY_LINES).text


def _short_text(text: str) -> str:
    return head_and_tail(text, max_bytes=SHORT_BYTES, max_lines=SHORT_LINES).text


def _shorten_story(text: str, shorten: Callable[[str], str]) -> str:
    """Shorten only the story of a summary, because all its other sections are required content."""
    required, heading, story = text.rpartition(f"\n## {STORY}\n")
    return f"{required}{heading}{shorten(story)}" if heading else shorten(text)
