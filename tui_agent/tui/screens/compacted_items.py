"""The list of a session's shortened and summarised messages, and the full text of each message."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui_agent.folds.context.compacted_rows import (
    CallNames,
    CompactedView,
    CountedTokens,
    MessageRow,
    TurnNumbers,
    compacted_view,
)
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import current_branch
from tui_agent.ports.session import ReadText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.units import format_tokens

IN_CONTEXT: Final = "In the context: pin messages that must stay"
TITLE: Final = "Shortened or summarised"
EMPTY: Final = "Nothing yet: all messages are in the context."


def read_compacted(records: Sequence[Record]) -> CompactedView:
    """Return the shortened and summarised messages of the current branch, and the messages in the context."""
    messages, tokens, calls, turns = ModelMessages(), CountedTokens(), CallNames(), TurnNumbers()
    for record in current_branch(records):
        if isinstance(record, Envelope):
            for fold in (messages, tokens, calls, turns):
                fold.apply(record)
    return compacted_view(messages, tokens, calls, turns)


def compacted_rows(view: CompactedView) -> list[Item]:
    return [_row(number, item) for number, item in enumerate(view.items)]


def present_rows(view: CompactedView) -> list[Item]:
    """Return a list item for each message in the context.

    The items are numbered from `len(view.items)`, after the items of `compacted_rows`.
    """
    items = enumerate(view.present_items, start=len(view.items))
    return [replace(_row(number, item), group=IN_CONTEXT) for number, item in items]


def _row(number: int, item: MessageRow) -> Item:
    place = {"summary": "", "line": "shortened, ", "back": "restored, ", "here": ""}[item.place]
    pin = "pinned, " if item.pinned else ""
    return Item(
        str(number),
        clean_line(item.sender)[:16],
        clean_line(item.text),
        right=f"{pin}{place}~{format_tokens(item.tokens)} tokens",
        group=f"Turn {item.turn}",
    )


def message_title(item: MessageRow) -> str:
    return clean_line(f"{item.sender}, turn {item.turn}")


async def read_message(item: MessageRow, read: ReadText) -> str:
    """Return the full text of a message."""
    texts = [await read(text) for text in item.texts]
    return "\n".join(texts) or "(nothing)"
