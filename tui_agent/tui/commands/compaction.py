"""Summarising what was said, and what a summary stands for: bring it back, keep it, take the summary back."""

import asyncio
from collections.abc import Callable
from typing import Final

from textual.strip import Strip

from tui_agent.folds.context.compacted_rows import ForgottenItem, ForgottenView
from tui_agent.protocol.commands import Compact, PinContext, RestoreContext
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import Viewer, show
from tui_agent.tui.screens.compacted_items import NOTHING, folded, head_of, held_rows, rows, whole_of

LIST: Final = "list"
LOOKING: Final = "The session is being read."
UNDO: Final = "undo"
MOST: Final = 1_000_000


def compact(context: AppContext, argument: str) -> None:
    """Summarise what was said, or show what was."""
    if argument.strip() == LIST:
        _list(context)
    else:
        context.submit(Compact(focus=argument.strip()))


def _list(context: AppContext) -> None:
    """The list opens at once; a long session is read while it stands there."""
    held: list[ForgottenView] = []

    def chosen(value: str | None) -> None:
        for view in held:
            if value == UNDO:
                _summary_deeds(context, view)
            elif value is not None:
                _deeds(context, (*view.items, *view.held)[int(value)])

    async def fill() -> None:
        records = await context.reader.events_between(0, context.views.seq, MOST)
        view = await asyncio.to_thread(folded, records)
        held.append(view)
        picker.empty = NOTHING
        picker.set_items(_rows(view))

    picker = Picker(lambda: context.app.looks, "Bring back or pin", [], empty=LOOKING)
    context.app.push_screen(picker, chosen)
    context.worker(fill(), "compactions")


def _rows(view: ForgottenView) -> list[Item]:
    """The picker's rows: the way back of all first, then each message that went, then what could be kept."""
    undo = Item(UNDO, "undo", "take the newest summary back, with all that it stands for")
    return [*([undo] if view.compaction is not None else []), *rows(view), *held_rows(view)]


def _summary_deeds(context: AppContext, view: ForgottenView) -> None:
    """Asked once more: the row is the list's first, and an Enter too many would undo what cost a request."""
    deeds = [
        Item("leave", "Leave it", "it goes on standing for what was said"),
        Item(UNDO, "Take it back", "what it stands for is in the context again"),
    ]

    def chosen(value: str | None) -> None:
        if value == UNDO:
            context.submit(RestoreContext(compaction=view.compaction))

    context.app.push_screen(Picker(lambda: context.app.looks, "The newest summary", deeds), chosen)


def _deeds(context: AppContext, item: ForgottenItem) -> None:
    pin = (
        Item("unpin", "Unpin it", "summaries to come may leave it out")
        if item.pinned
        else Item("pin", "Pin it", "every summary to come keeps it word for word")
    )
    back = (
        []
        if item.where in ("back", "here")
        else [Item("back", "Bring it back", "as a message in the context")]
    )
    deeds = [*back, pin, Item("show", "Show it whole")]

    def chosen(value: str | None) -> None:
        match value:
            case "back":
                context.submit(RestoreContext(seqs=(item.seq,)))
            case "pin" | "unpin":
                context.submit(PinContext(seqs=(item.seq,), pinned=value == "pin"))
            case "show":
                context.worker(_show(context, item), "message")

    context.app.push_screen(Picker(lambda: context.app.looks, head_of(item), deeds), chosen)


async def _show(context: AppContext, item: ForgottenItem) -> None:
    words = await whole_of(item, context.reader.read_text)

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        return viewer.say(width, words, "t1")

    show(context, head_of(item), draw, plain=words)


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {"compact": compact}
