"""L7: summarising what was said, and what a summary stands for: bring it back, keep it, take the summary back."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui_agent.folds.base import branch
from tui_agent.folds.forgotten_items import ForgottenItem, ForgottenView, forgotten_view
from tui_agent.folds.model_messages import ModelMessages
from tui_agent.protocol.commands import Compact, PinContext, RestoreContext
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.tui import units
from tui_agent.tui.handlers.sheets import show
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_agent.tui.live import Live

LIST: Final = "list"
UNDO: Final = "undo"
MOST: Final = 1_000_000
NOTHING: Final = "Nothing was put away: everything that was said is in the context."


def compact(live: "Live", argument: str) -> None:
    """Summarise what was said, or show what was."""
    if argument.strip() == LIST:
        live.worker(_list(live), "compactions")
    else:
        live.submit(Compact(focus=argument.strip()))


async def _list(live: "Live") -> None:
    records = await live.reading.events_between(0, live.views.seq, MOST)
    view = await asyncio.to_thread(folded, records)
    by_seq = {str(one.seq): one for one in view.items}

    def chosen(value: str | None) -> None:
        if value == UNDO:
            live.submit(RestoreContext(compaction=view.compaction))
        elif value is not None:
            _deeds(live, by_seq[value])

    title = "Not in the context as it was said"
    picker = Picker(lambda: live.app.looks, title, rows(view), empty=NOTHING)
    live.app.push_screen(picker, chosen)


def folded(records: Sequence[Record]) -> ForgottenView:
    """What the branch of a log has let go of."""
    fold = ModelMessages()
    for record in branch(records):
        if isinstance(record, Envelope):
            fold.apply(record)
    return forgotten_view(fold)


def rows(view: ForgottenView) -> list[Item]:
    """The picker's rows: the way back of all first, then each message."""
    undo = Item(UNDO, "Take the newest summary back", "all that it stands for is in the context again")
    head = [undo] if view.compaction is not None else []
    return [*head, *(_row(one) for one in view.items)]


def _row(item: ForgottenItem) -> Item:
    where = "" if item.where == "summary" else "put away, "
    pin = "pinned, " if item.pinned else ""
    return Item(
        str(item.seq),
        clean_line(item.who)[:16],
        clean_line(item.said),
        right=f"{pin}{where}{units.about(item.tokens)}",
        group=f"Turn {item.turn}",
    )


def _deeds(live: "Live", item: ForgottenItem) -> None:
    pin = (
        Item("unpin", "Keep it no longer", "summaries to come may leave it out")
        if item.pinned
        else Item("pin", "Keep it", "every summary to come has it word for word")
    )
    deeds = [Item("back", "Bring it back", "as a message in the context"), pin, Item("show", "Show it whole")]

    def chosen(value: str | None) -> None:
        match value:
            case "back":
                live.submit(RestoreContext(seqs=(item.seq,)))
            case "pin" | "unpin":
                live.submit(PinContext(seqs=(item.seq,), pinned=value == "pin"))
            case "show":
                live.worker(_show(live, item), "message")

    title = f"{item.who}, turn {item.turn}"
    live.app.push_screen(Picker(lambda: live.app.looks, clean_line(title), deeds), chosen)


async def _show(live: "Live", item: ForgottenItem) -> None:
    texts = [await live.reading.read_text(text) for text in item.texts]
    words = "\n".join(texts) or "(nothing)"

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        return viewer.say(width, words, "t1")

    show(live, clean_line(f"{item.who}, turn {item.turn}"), draw, plain=words)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"compact": compact}
