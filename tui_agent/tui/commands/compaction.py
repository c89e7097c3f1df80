"""The command /compact: summarise old turns, restore or pin messages, or undo the newest summary."""

import asyncio
from typing import Final

from tui_agent.folds.context.compacted_rows import CompactedView, MessageRow
from tui_agent.protocol.commands import Compact, PinContext, RestoreContext
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.modals.viewer import show
from tui_agent.tui.screens.compacted_items import (
    EMPTY,
    compacted_rows,
    message_title,
    present_rows,
    read_compacted,
    read_message,
)

LIST: Final = "list"
READING: Final = "Reading the session …"
UNDO: Final = "undo"
MAX_EVENTS: Final = 1_000_000


def compact(context: AppContext, argument: str) -> None:
    """Summarise old turns, with `argument` as the focus; if `argument` is `list`, list the summarised messages."""
    if argument.strip() == LIST:
        _show_list(context)
    else:
        context.submit(Compact(focus=argument.strip()))


def _show_list(context: AppContext) -> None:
    view = CompactedView((), None)

    def choose(value: str) -> None:
        if value == UNDO:
            _offer_undo(context, view)
        else:
            _offer_actions(context, (*view.items, *view.present_items)[int(value)])

    async def fill() -> None:
        nonlocal view
        records = await context.reader.events_between(0, context.views.seq, MAX_EVENTS)
        view = await asyncio.to_thread(read_compacted, records)
        picker.empty = EMPTY
        picker.set_items(_list_items(view))

    picker = open_picker(context, "Restore or pin", [], choose, empty=READING)
    context.worker(fill(), "compactions")


def _list_items(view: CompactedView) -> list[Item]:
    undo = Item(UNDO, "undo", "undo the newest summary and restore its messages")
    return [*([undo] if view.compaction is not None else []), *compacted_rows(view), *present_rows(view)]


def _offer_undo(context: AppContext, view: CompactedView) -> None:
    """Ask the user whether to undo the newest summary."""
    # Without this question, Enter on the list's first row could undo the summary by accident.
    items = [
        Item("leave", "Keep it", "the summary stays in the context"),
        Item(UNDO, "Undo it", "its messages are in the context again"),
    ]

    def choose(value: str) -> None:
        if value == UNDO:
            context.submit(RestoreContext(compaction=view.compaction))

    open_picker(context, "The newest summary", items, choose, has_filter=False)


def _offer_actions(context: AppContext, item: MessageRow) -> None:
    items = [Item("show", "Show the full text")]
    if item.pinned:
        items.insert(0, Item("unpin", "Unpin it", "later summaries may leave it out"))
    else:
        items.insert(0, Item("pin", "Pin it", "every later summary keeps it word for word"))
    if item.place not in ("back", "here"):
        items.insert(0, Item("back", "Restore it", "add it to the context again"))

    def choose(value: str) -> None:
        match value:
            case "back":
                context.submit(RestoreContext(seqs=(item.seq,)))
            case "pin" | "unpin":
                context.submit(PinContext(seqs=(item.seq,), pinned=value == "pin"))
            case "show":
                context.worker(_show(context, item), "message")

    open_picker(context, message_title(item), items, choose)


async def _show(context: AppContext, item: MessageRow) -> None:
    text = await read_message(item, context.reader.read_text)
    show(context, message_title(item), lambda facts: facts.text(text), plain=text)
