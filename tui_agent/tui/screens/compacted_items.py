"""What of a session is not in the context as it was said, as rows to choose from and as a text to read."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from tui_agent.folds.base import current_branch
from tui_agent.folds.context.compacted_rows import (
    CallNames,
    CompactedView,
    CountedTokens,
    MessageRow,
    compacted_view,
)
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.text import clean_line
from tui_agent.units import format_tokens

HELD: Final = "In the context: pin what must stay"
TITLE: Final = "Put away or summarised"
NOTHING: Final = "Nothing yet: everything that was said is in the context."


def folded(records: Sequence[Record]) -> CompactedView:
    """What the branch of a log has let go of."""
    fold, counted, calls = ModelMessages(), CountedTokens(), CallNames()
    for record in current_branch(records):
        if isinstance(record, Envelope):
            fold.apply(record)
            counted.apply(record)
            calls.apply(record)
    return compacted_view(fold, counted, calls)


def rows(view: CompactedView) -> list[Item]:
    """A row for each message; its value is the message's place."""
    return [_row(at, one) for at, one in enumerate(view.items)]


def held_rows(view: CompactedView) -> list[Item]:
    """A row for each message that is in the context as it was said; their places go on behind those of `rows`."""
    ahead = len(view.items)
    return [replace(_row(at, one), group=HELD) for at, one in enumerate(view.present_items, start=ahead)]


def _row(at: int, item: MessageRow) -> Item:
    where = {"summary": "", "line": "put away, ", "back": "brought back, ", "here": ""}[item.place]
    pin = "pinned, " if item.pinned else ""
    return Item(
        str(at),
        clean_line(item.sender)[:16],
        clean_line(item.text),
        right=f"{pin}{where}~{format_tokens(item.tokens)} tokens",
        group=f"Turn {item.turn}",
    )


def head_of(item: MessageRow) -> str:
    """Who said it, and when."""
    return clean_line(f"{item.sender}, turn {item.turn}")


async def whole_of(item: MessageRow, read: Callable[[LongText], Awaitable[str]]) -> str:
    """All that it says."""
    texts = [await read(text) for text in item.texts]
    return "\n".join(texts) or "(nothing)"
