"""Summarising what was said, and what a summary stands for: bring it back, keep it, take the summary back."""

import asyncio
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui_agent.folds.context.compacted_rows import ForgottenItem, ForgottenView
from tui_agent.protocol.commands import Compact, PinContext, RestoreContext
from tui_agent.tui.commands.viewer import show
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.screens.compacted_items import NOTHING, folded, head_of, held_rows, rows, whole_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_agent.tui.controller.controller import Live

LIST: Final = "list"
LOOKING: Final = "The session is being read."
UNDO: Final = "undo"
MOST: Final = 1_000_000


def compact(live: "Live", argument: str) -> None:
    """Summarise what was said, or show what was."""
    if argument.strip() == LIST:
        _list(live)
    else:
        live.submit(Compact(focus=argument.strip()))


def _list(live: "Live") -> None:
    """The list opens at once; a long session is read while it stands there."""
    held: list[ForgottenView] = []

    def chosen(value: str | None) -> None:
        for view in held:
            if value == UNDO:
                _summary_deeds(live, view)
            elif value is not None:
                _deeds(live, (*view.items, *view.held)[int(value)])

    async def fill() -> None:
        records = await live.reading.events_between(0, live.views.seq, MOST)
        view = await asyncio.to_thread(folded, records)
        held.append(view)
        picker.empty = NOTHING
        picker.set_items(_rows(view))

    picker = Picker(lambda: live.app.looks, "Bring back or pin", [], empty=LOOKING)
    live.app.push_screen(picker, chosen)
    live.worker(fill(), "compactions")


def _rows(view: ForgottenView) -> list[Item]:
    """The picker's rows: the way back of all first, then each message that went, then what could be kept."""
    undo = Item(UNDO, "undo", "take the newest summary back, with all that it stands for")
    return [*([undo] if view.compaction is not None else []), *rows(view), *held_rows(view)]


def _summary_deeds(live: "Live", view: ForgottenView) -> None:
    """Asked once more: the row is the list's first, and an Enter too many would undo what cost a request."""
    deeds = [
        Item("leave", "Leave it", "it goes on standing for what was said"),
        Item(UNDO, "Take it back", "what it stands for is in the context again"),
    ]

    def chosen(value: str | None) -> None:
        if value == UNDO:
            live.submit(RestoreContext(compaction=view.compaction))

    live.app.push_screen(Picker(lambda: live.app.looks, "The newest summary", deeds), chosen)


def _deeds(live: "Live", item: ForgottenItem) -> None:
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
                live.submit(RestoreContext(seqs=(item.seq,)))
            case "pin" | "unpin":
                live.submit(PinContext(seqs=(item.seq,), pinned=value == "pin"))
            case "show":
                live.worker(_show(live, item), "message")

    live.app.push_screen(Picker(lambda: live.app.looks, head_of(item), deeds), chosen)


async def _show(live: "Live", item: ForgottenItem) -> None:
    words = await whole_of(item, live.reading.read_text)

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        return viewer.say(width, words, "t1")

    show(live, head_of(item), draw, plain=words)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"compact": compact}
