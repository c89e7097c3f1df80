"""L3: makes a request fit the window, by the sections' order of giving way.

Invariant: calls keep their results, messages their order; only texts become shorter, and each says what is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui_agent.context.budgets import ORDER, Room
from tui_agent.context.counting import Counted
from tui_agent.context.truncate import head_and_tail
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, TextContent

SHORT_BYTES, SHORT_LINES = 1_200, 24
"""What a block is shortened to: about 300 tokens."""
_LEAST = 400
"""Tokens below which shortening a block gains nothing."""


@dataclass(slots=True)
class Fitted:
    """A history that was made to fit: `short` are the positions of what was shortened, by section."""

    counted: list[Counted]
    short: dict[SectionName, list[int]] = field(default_factory=dict)


class Fitting:
    """Shortens messages, and remembers how: the next request has the same short texts."""

    def __init__(self, recount: Callable[[Message], Counted]) -> None:
        self._recount = recount
        self._short: dict[int, tuple[Message, Counted]] = {}

    def fit(
        self, counted: Sequence[Counted], sections: Sequence[SectionName], room: Room, excess: int
    ) -> Fitted:
        """Shorten the oldest blocks of each section in turn, down to its share, until `excess` tokens are gone."""
        fitted = Fitted(list(counted))
        for section in ORDER:
            at = [position for position, name in enumerate(sections) if name == section]
            size = sum(counted[position].tokens for position in at)
            for over in (size - (room.budget(section) or 0), size):
                excess = self._shorten(fitted, section, at, min(over, excess), excess)
                if excess <= 0:
                    return fitted
        return fitted

    def _shorten(
        self, fitted: Fitted, section: SectionName, positions: Sequence[int], wanted: int, excess: int
    ) -> int:
        for position in positions:
            if wanted <= 0:
                break
            before = fitted.counted[position]
            after = self._shorter(before)
            if after is None:
                continue
            fitted.counted[position] = after
            fitted.short.setdefault(section, []).append(position)
            wanted -= before.tokens - after.tokens
            excess -= before.tokens - after.tokens
        return excess

    def _shorter(self, before: Counted) -> Counted | None:
        """The message shortened; None where that gains nothing."""
        if before.tokens < _LEAST:
            return None
        known = self._short.get(id(before.message))
        if known is not None and known[0] is before.message:
            return known[1]
        message = _shortened(before.message)
        if message is before.message:
            return None
        after = self._recount(message)
        self._short[id(before.message)] = before.message, after
        return after


def _shortened(message: Message) -> Message:
    match message:
        case ToolMessage() | UserMessage(kind="mentions" | "map" | "restored"):
            return message.model_copy(update={"content": tuple(map(_short_content, message.content))})
        case SummaryMessage(text=str() as text):
            return message.model_copy(update={"text": _short(text)})
        case _:
            return message


def _short_content(piece: Content) -> Content:
    if not isinstance(piece, TextContent) or not isinstance(piece.text, str):
        return piece
    return piece.model_copy(update={"text": _short(piece.text)})


def _short(text: str) -> str:
    return head_and_tail(text, max_bytes=SHORT_BYTES, max_lines=SHORT_LINES).text
