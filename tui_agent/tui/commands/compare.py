"""The action that sets this session beside another one, or one of its branches beside another."""

from collections.abc import Callable

from tui_agent.config.paths import is_session_stored
from tui_agent.folds.comparison.side import Side
from tui_agent.tui.cli_client import JsonRow, json_rows, text_of
from tui_agent.tui.commands.session import switch
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.screens.compare.screen import Choices, CompareScreen
from tui_agent.tui.text import clean_line

NAMES = 2


def compare(context: AppContext, argument: str) -> None:
    """Two named sessions, this one and a named one; without a name this one and its parent or newest fork."""
    named = tuple(argument.split())
    if len(named) > NAMES:
        context.app.say("/compare takes the id of a session, or of two.", "warning")
        return
    if len(named) < NAMES and (context.folder is None or not is_session_stored(context.folder)):
        context.app.say("Nothing was said yet that could be compared.", "warning")
        return
    names = named if len(named) == NAMES else (context.app.session_id, *named)

    def nothing(why: str) -> None:
        if named:
            context.app.say(why, "warning")
        else:
            context.worker(_pick(context), "compare")

    choices = Choices(
        context.ask,
        context.app.session_id,
        context.state.title,
        context.work_folder,
        lambda side: _keep(context, names, side),
        nothing,
        context.app.say,
    )
    context.app.push_screen(CompareScreen(names, choices, lambda: context.app.looks))


def _keep(context: AppContext, names: tuple[str, ...], side: Side) -> None:
    """Go on with this branch: open its session; in the open one go back to where it ends."""
    own = context.app.session_id
    if side.session != own:
        switch(context, side.session)
    elif f"{own}@{side.last_seq}" in names and side.last_seq < context.views.seq:
        context.act("revert", str(side.last_seq))
    else:
        context.app.say("This branch is the open one; it stays.")


async def _pick(context: AppContext) -> None:
    """Choose whom to compare this session with: it is no fork, and has none."""
    status, said = await context.ask("sessions", "list", "--json", "-C", str(context.app.options.cwd))
    own = context.app.session_id
    rows = [row for row in json_rows(said) if text_of(row, "id") != own] if status == 0 else []
    if not rows:
        context.app.say("There is nothing to compare with yet. /fork makes another branch.", "warning")
        return

    def chosen(value: str | None) -> None:
        if value is not None:
            compare(context, value)

    context.app.push_screen(
        Picker(lambda: context.app.looks, "Compare with", [_item(row) for row in rows]), chosen
    )


def _item(row: JsonRow) -> Item:
    session = text_of(row, "id")
    forked = text_of(row, "parent")
    about = f"fork of {clean_line(forked)}  {session}" if forked else session
    return Item(session, text_of(row, "title") or "without a name", about=about)


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {"compare": compare}
"""By the names of the registry."""
