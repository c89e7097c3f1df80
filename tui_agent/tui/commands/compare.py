"""The action that sets this session beside another one, or one of its branches beside another."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.folds.comparison.side import Side
from tui_agent.tui.cli_client import JsonRow, json_rows, text_of
from tui_agent.tui.commands.export import folder_of
from tui_agent.tui.commands.session import switch
from tui_agent.tui.controller.drafts import stored
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.screens.compare.screen import Choices, CompareScreen
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

NAMES = 2


def compare(live: "Live", argument: str) -> None:
    """Two named sessions, this one and a named one; without a name this one and its parent or newest fork."""
    named = tuple(argument.split())
    if len(named) > NAMES:
        live.app.say("/compare takes the id of a session, or of two.", "warning")
        return
    if len(named) < NAMES and (live.folder is None or not stored(live.folder)):
        live.app.say("Nothing was said yet that could be compared.", "warning")
        return
    names = named if len(named) == NAMES else (live.app.session_id, *named)

    def nothing(why: str) -> None:
        if named:
            live.app.say(why, "warning")
        else:
            live.worker(_pick(live), "compare")

    choices = Choices(
        live.ask,
        live.app.session_id,
        live.state.title,
        folder_of(live),
        live.app.actions,
        lambda side: _keep(live, names, side),
        nothing,
        live.app.say,
    )
    live.app.push_screen(CompareScreen(names, choices, lambda: live.app.looks))


def _keep(live: "Live", names: tuple[str, ...], side: Side) -> None:
    """Go on with this branch: open its session; in the open one go back to where it ends."""
    own = live.app.session_id
    if side.session != own:
        switch(live, side.session)
    elif f"{own}@{side.last_seq}" in names and side.last_seq < live.views.seq:
        live.act("revert", str(side.last_seq))
    else:
        live.app.say("This branch is the open one; it stays.")


async def _pick(live: "Live") -> None:
    """Choose whom to compare this session with: it is no fork, and has none."""
    status, said = await live.ask("sessions", "list", "--json", "-C", str(live.app.options.cwd))
    own = live.app.session_id
    rows = [row for row in json_rows(said) if text_of(row, "id") != own] if status == 0 else []
    if not rows:
        live.app.say("There is nothing to compare with yet. /fork makes another branch.", "warning")
        return

    def chosen(value: str | None) -> None:
        if value is not None:
            compare(live, value)

    live.app.push_screen(Picker(lambda: live.app.looks, "Compare with", [_item(row) for row in rows]), chosen)


def _item(row: JsonRow) -> Item:
    session = text_of(row, "id")
    forked = text_of(row, "parent")
    about = f"fork of {clean_line(forked)}  {session}" if forked else session
    return Item(session, text_of(row, "title") or "without a name", about=about)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"compare": compare}
"""By the names of the registry."""
