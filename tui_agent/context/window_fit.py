"""Makes a request fit the window, by the sections' order of giving way.

Invariant: calls keep their results, messages their order. Texts become shorter, and each says what is left out; only where
all of them are short and there is still no room, the oldest answers go with their results. What a person said, and what a
summary must not lose, is the last to be cut, where the window does not hold it: the artifact that has all of it is named.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from tui_agent.context.budgets import ORDER, Room
from tui_agent.context.summary import STORY
from tui_agent.context.token_counts import Counted
from tui_agent.context.truncation import head_and_tail
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
"""What a block is shortened to: about 300 tokens."""
_LEAST = 400
"""Tokens below which shortening a block gains nothing."""
_TINY_BYTES, _TINY_LINES, _TINY_LEAST = 240, 6, 90
"""The same where that was not enough; what the model said, and the arguments of its calls, are then shortened as well."""
_LEAST_WORDS = 200
"""Tokens that stay of a person's words."""
_TRIES = 4
_IMAGE = TextContent(text="[An image was left out for want of room.]")


@dataclass(slots=True)
class Fitted:
    """A history that was made to fit: `short` are the positions of what was shortened, by section; `words` those of a
    person's words, or of a summary, that the window does not hold, each with the text that is cut."""

    counted: list[Counted]
    short: dict[SectionName, list[int]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    words: dict[int, str] = field(default_factory=dict)
    whole: dict[int, Counted] = field(default_factory=dict)
    """What stood where words were cut."""
    pinned: frozenset[int] = frozenset()
    """Positions of what a person pinned: it gives way last."""
    lost: dict[int, str] = field(default_factory=dict)
    """Those of them that are shortened all the same, each with the text that is."""

    def cut(self, at: int, whole: Counted, after: Counted) -> None:
        """Have this in place of words that the window does not hold."""
        self.counted[at], self.whole[at], self.words[at] = after, whole, _words(whole.message)

    def messages(self) -> Iterator[Message]:
        """What is sent."""
        return (one.message for at, one in enumerate(self.counted) if at not in self.dropped)


class Fitting:
    """Shortens messages, and remembers how: the next request has the same short texts."""

    def __init__(self, recount: Callable[[Message], Counted]) -> None:
        self._recount = recount
        self._short: dict[tuple[int, bool], tuple[Message, Counted]] = {}
        self._cut: dict[int, tuple[Message, Counted]] = {}
        self._limit: object = None

    def fit(
        self,
        fitted: Fitted,
        sections: Sequence[SectionName],
        room: Room,
        needed: int,
        wished: int,
    ) -> None:
        """Make the history smaller by `needed` tokens, by the `wished` ones as far as shortening old blocks is enough for
        that."""
        left = needed - wished + self._by_sections(fitted, sections, room, wished)
        everything = range(len(fitted.counted))
        free = [at for at in everything if at not in fitted.pinned]
        # What was just found out is not shortened for a later request's sake.
        for at in free[bisect_left(free, _newest(fitted)) :]:
            left = self._shorten(fitted, sections[at], (at,), left, left)
        for tiny, positions in ((True, free), (False, sorted(fitted.pinned)), (True, sorted(fitted.pinned))):
            for at in positions:
                left = self._shorten(fitted, sections[at], (at,), left, left, tiny=tiny)
        if left > 0:
            _drop_oldest(fitted, left)

    def cut_as_before(self, fitted: Fitted, limit: object) -> None:
        """What of a person's words was cut under this limit stays so: the next request begins as this one."""
        if limit != self._limit:
            self._limit = limit
            self._cut.clear()
        for at, one in enumerate(fitted.counted):
            known = self._cut.get(id(one.message))
            if known is not None and known[0] is one.message:
                fitted.cut(at, one, known[1])

    def cut_words(self, fitted: Fitted, needed: int, wished: int) -> None:
        """Where `needed` tokens more have to go, cut the longest of what a person said, or of what a summary has, until
        `wished` of them are gone, so that there is room for work."""
        longest = sorted(
            (at for at, one in enumerate(fitted.counted) if _words(one.message)),
            key=lambda at: -fitted.counted[at].tokens,
        )
        left = wished
        for at in longest:
            if needed <= 0:
                break
            before = fitted.counted[at]
            whole = fitted.whole.get(at, before)
            after = self._cut_to(whole, max(_LEAST_WORDS, before.tokens - left))
            if after.tokens < before.tokens:
                self._cut[id(whole.message)] = whole.message, after
                fitted.cut(at, whole, after)
                left, needed = left - before.tokens + after.tokens, needed - before.tokens + after.tokens

    def _cut_to(self, before: Counted, tokens: int) -> Counted:
        words = _words(before.message)
        size = len(words.encode("utf-8", "replace"))
        after = before
        for _ in range(_TRIES):
            size = int(size * tokens / max(after.tokens, 1) * 0.97)
            shown = head_and_tail(words, max_bytes=size, max_lines=len(words) + 1, artifact=True)
            after = self._recount(_with_words(before.message, shown.text))
            if after.tokens <= tokens:
                break
        return after

    def _by_sections(self, fitted: Fitted, sections: Sequence[SectionName], room: Room, excess: int) -> int:
        """Shorten the oldest blocks of each section in turn, down to its share; what is left of the excess then."""
        counted = list(fitted.counted)
        free = [at for at in range(_newest(fitted)) if at not in fitted.pinned]
        for section in ORDER:
            at = [position for position in free if sections[position] == section]
            size = sum(counted[position].tokens for position in at)
            for over in (size - (room.budget(section) or 0), size):
                excess = self._shorten(fitted, section, at, min(over, excess), excess)
                if excess <= 0:
                    return excess
        return excess

    def _shorten(
        self,
        fitted: Fitted,
        section: SectionName,
        positions: Sequence[int],
        wanted: int,
        excess: int,
        *,
        tiny: bool = False,
    ) -> int:
        for position in positions:
            if wanted <= 0:
                break
            before = fitted.counted[position]
            after = self._shorter(before, tiny=tiny)
            if after is None:
                continue
            if position in fitted.pinned:
                fitted.lost.setdefault(position, _text(before.message))
            fitted.counted[position] = after
            short = fitted.short.setdefault(section, [])
            if position not in short:
                short.append(position)
            wanted -= before.tokens - after.tokens
            excess -= before.tokens - after.tokens
        return excess

    def _shorter(self, before: Counted, *, tiny: bool) -> Counted | None:
        """The message shortened; None where that gains nothing."""
        if before.tokens < (_TINY_LEAST if tiny else _LEAST):
            return None
        known = self._short.get((id(before.message), tiny))
        if known is not None and known[0] is before.message:
            return known[1]
        message = _tiny(before.message) if tiny else _shortened(before.message)
        if message is before.message:
            return None
        after = self._recount(message)
        if after.tokens >= before.tokens:
            return None
        self._short[id(before.message), tiny] = before.message, after
        return after


def _newest(fitted: Fitted) -> int:
    """Where the newest answer with its results begins; behind everything where there is none."""
    at = len(fitted.counted) - 1
    while at >= 0 and isinstance(fitted.counted[at].message, ToolMessage):
        at -= 1
    newest = at if at >= 0 and isinstance(fitted.counted[at].message, AssistantMessage) else at + 1
    return newest if newest < len(fitted.counted) - 1 else len(fitted.counted)


def _words(message: Message) -> str:
    """What of a message a person said, or a summary's text."""
    match message:
        case UserMessage(kind="said" | "instructions", content=content):
            texts = (one.text for one in content if isinstance(one, TextContent))
            return max((text for text in texts if isinstance(text, str)), key=len, default="")
        case SummaryMessage(text=str() as text):
            return text
        case _:
            return ""


def _with_words(message: Message, now: str) -> Message:
    """The message with this in place of its words."""
    match message:
        case UserMessage(content=content):
            words = _words(message)
            pieces = tuple(
                TextContent(text=now) if isinstance(one, TextContent) and one.text == words else one
                for one in content
            )
            return message.model_copy(update={"content": pieces})
        case SummaryMessage():
            return message.model_copy(update={"text": now})
        case _:
            return message


def _text(message: Message) -> str:
    """The longest text of a message."""
    content = () if isinstance(message, AssistantMessage | SummaryMessage) else message.content
    texts = [one.text for one in content if isinstance(one, TextContent) and isinstance(one.text, str)]
    return max(texts, key=len, default="")


def _drop_oldest(fitted: Fitted, needed: int) -> None:
    """Let the oldest answers go, each with its results, until there is room; the newest stays."""
    answers = [at for at, one in enumerate(fitted.counted) if isinstance(one.message, AssistantMessage)]
    for start in answers[:-1]:
        if needed <= 0:
            return
        end = start + 1
        while isinstance(fitted.counted[end].message, ToolMessage):
            end += 1
        fitted.dropped.update(range(start, end))
        needed -= sum(one.tokens for one in fitted.counted[start:end])


def _tiny(message: Message) -> Message:
    """As little as can stand for it."""
    match message:
        case AssistantMessage(parts=parts):
            return message.model_copy(update={"parts": tuple(map(_tiny_part, parts))})
        case (
            ToolMessage(content=content) | UserMessage(kind="mentions" | "map" | "restored", content=content)
        ):
            return message.model_copy(update={"content": tuple(map(_tiny_content, content))})
        case SummaryMessage(text=str() as text):
            return message.model_copy(update={"text": _with_story(text, _cut)})
        case _:
            return message


def _tiny_content(piece: Content) -> Content:
    if isinstance(piece, ImageContent):
        return _IMAGE
    return piece.model_copy(update={"text": _cut(piece.text)}) if isinstance(piece.text, str) else piece


def _tiny_part(part: ModelPart) -> ModelPart:
    """Signed reasoning goes back as it came, or a provider refuses it."""
    match part:
        case ToolCallPart(arguments=arguments):
            return part.model_copy(
                update={"arguments": {name: _tiny_value(it) for name, it in arguments.items()}}
            )
        case ReasoningPart() if part.signature or part.opaque:
            return part
        case TextPart(text=str() as text) | ReasoningPart(text=str() as text):
            return part.model_copy(update={"text": _cut(text)})
        case _:
            return part


def _tiny_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _cut(value)
    return value if len(json.dumps(value)) <= _TINY_BYTES else _cut(json.dumps(value))


def _cut(text: str) -> str:
    return head_and_tail(text, max_bytes=_TINY_BYTES, max_lines=_TINY_LINES).text


def _shortened(message: Message) -> Message:
    match message:
        case ToolMessage() | UserMessage(kind="mentions" | "map" | "restored"):
            return message.model_copy(update={"content": tuple(map(_short_content, message.content))})
        case SummaryMessage(text=str() as text):
            return message.model_copy(update={"text": _with_story(text, _short)})
        case _:
            return message


def _with_story(text: str, shorter: Callable[[str], str]) -> str:
    """A summary with a shorter story: the rest of it is what must not be lost."""
    lasting, heading, story = text.rpartition(f"\n## {STORY}\n")
    return f"{lasting}{heading}{shorter(story)}" if heading else shorter(text)


def _short_content(piece: Content) -> Content:
    if not isinstance(piece, TextContent) or not isinstance(piece.text, str):
        return piece
    return piece.model_copy(update={"text": _short(piece.text)})


def _short(text: str) -> str:
    return head_and_tail(text, max_bytes=SHORT_BYTES, max_lines=SHORT_LINES).text
