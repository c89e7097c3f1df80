"""The commands /fork, /what-if and /compare, for branches of a session."""

from collections.abc import Callable

from tui_agent.config.paths import is_session_stored
from tui_agent.folds.comparison.compared_branch import Side
from tui_agent.folds.transcript.entries import UserEntry
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import JsonRow, json_rows, text_of
from tui_agent.tui.commands.session import switch
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.modals.fork_request import ForkPoint
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.screens.compare.screen import CompareScreen
from tui_agent.tui.screens.tree import fork as tree_fork
from tui_agent.tui.untrusted_text import clean_line

NOTHING = "Nothing to fork yet: send a message first."
MAX_NAMES = 2


def fork(context: AppContext, argument: str) -> None:
    """Fork the session at the event with the number `argument`, by default at the newest event."""
    seq = _parse_event(context, argument, "/fork", context.views.seq)
    if seq is not None:
        context.worker(_start(context, seq, tree_fork.fork), "fork")


async def _start(
    context: AppContext, seq: int, start: Callable[[AppContext, ForkPoint, tree_fork.Say], None]
) -> None:
    """Call `start` with the fork point at event `seq`. If there is nothing to fork, warn the user."""
    point = await tree_fork.fork_point_here(context, seq)
    if point is None or seq < 0:
        context.app.say(NOTHING, "warning")
    else:
        start(context, point, context.app.say)


def what_if(context: AppContext, argument: str) -> None:
    """Fork the session before a message, change one thing (e.g. the message or the model), and send the message again.

    `argument`: the event number of the message; the default is the newest message.
    """
    messages = [entry for entry in context.views.transcript.view().entries if isinstance(entry, UserEntry)]
    newest = next((entry.seq for entry in reversed(messages) if entry.state in ("sent", "steered")), -1)
    seq = _parse_event(context, argument, "/what-if", newest)
    if seq is not None:
        context.worker(_start(context, seq, tree_fork.what_if), "what if")


def _parse_event(context: AppContext, argument: str, slash: str, default: int) -> int | None:
    if not argument:
        return default
    if argument.isdecimal() and int(argument) <= context.views.seq:
        return int(argument)
    context.app.say(f"{slash} needs the number of an event, up to {context.views.seq}.", "warning")
    return None


def compare(context: AppContext, argument: str) -> None:
    """Compare two sessions side by side.

    `argument`: up to two session ids. With one id, that session is compared with the open session. Without an id,
    the open session is compared with its parent or its newest fork.
    """
    named = tuple(argument.split())
    if len(named) > MAX_NAMES:
        context.app.say("/compare takes at most two session ids.", "warning")
        return
    if len(named) < MAX_NAMES and (context.folder is None or not is_session_stored(context.folder)):
        context.app.say("Nothing to compare yet: send a message first.", "warning")
        return
    names = named if len(named) == MAX_NAMES else (context.app.session_id, *named)

    def report_missing(why: str) -> None:
        if named:
            context.app.say(why, "warning")
        else:
            context.worker(_choose_session(context), "compare")

    screen = CompareScreen(context, names, lambda side: _keep_branch(context, names, side), report_missing)
    context.app.push_screen(screen)


def _keep_branch(context: AppContext, names: tuple[str, ...], side: Side) -> None:
    """Continue with the compared branch `side`.

    Open the branch's session. If this session is already open, revert it to the branch's last event. `names`: the
    compared sessions, as arguments of `tui-agent compare`.
    """
    open_session = context.app.session_id
    if side.session != open_session:
        switch(context, side.session)
    # A name of the form `SESSION@EVENT` is another branch of a session.
    elif f"{open_session}@{side.last_seq}" in names and side.last_seq < context.views.seq:
        context.act("revert", str(side.last_seq))
    else:
        context.app.say("This branch is already open.")


async def _choose_session(context: AppContext) -> None:
    """Let the user choose a session to compare with the open session."""
    status, output = await context.ask("sessions", "list", "--json", "-C", str(context.app.options.cwd))
    open_session = context.app.session_id
    rows = [row for row in json_rows(output) if text_of(row, "id") != open_session] if status == 0 else []
    if not rows:
        context.app.say("No other session to compare with yet. /fork creates one.", "warning")
        return
    open_picker(
        context, "Compare with", list(map(_session_item, rows)), lambda session: compare(context, session)
    )


def _session_item(row: JsonRow) -> Item:
    session = text_of(row, "id")
    forked = text_of(row, "parent")
    about = f"fork of {clean_line(forked)}  {session}" if forked else session
    return Item(session, text_of(row, "title") or "untitled", about=about)
