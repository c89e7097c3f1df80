"""From an event to a fork that is open: asked where, made by the command line, opened where nothing runs.

Invariant: a session that runs is left alone: then the fork is made and named, not opened.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from textual.app import App

from tui_agent.folds.session.branches import on_branch, stretches
from tui_agent.protocol.commands import GoOn
from tui_agent.tui.commands.model import choose_model
from tui_agent.tui.controller.drafts import stored
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.modals.fork_point import Made, Spot, Wish, make, places_of, spot_at
from tui_agent.tui.panes.note import Level
from tui_agent.tui.widgets.line_pane import Looks

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

Say: TypeAlias = Callable[[str, Level], None]
Begin: TypeAlias = Callable[[Spot, Say], None]
"""Goes on from an event elsewhere; what is to be said meanwhile is handed back."""


async def ask_where(app: "App[int]", looks: Callable[[], Looks], spot: Spot) -> Wish | None:
    """Where a fork is to work; None where it is not wanted. To be awaited in a worker."""
    return await app.push_screen_wait(ForkForm(looks, spot, await places_of(spot, "fork")))


async def spot_here(live: "Live", seq: int) -> Spot | None:
    """The spot of an event of the open session; None where nothing of it is stored yet."""
    if not await asyncio.to_thread(stored, live.folder):
        return None
    branch = stretches(live.views.branches.view().moves, live.views.seq)
    entries = live.views.transcript.view().entries if on_branch(seq, branch) else ()
    records = await live.reading.events_between(seq, seq, 1)
    return spot_at(live.app.session_id, entries, live.state, seq, records[0] if records else None)


def fork(live: "Live", spot: Spot, say: Say) -> None:
    """Ask where a fork of this event is to work, make it, and open it."""
    live.worker(_fork(live, spot, say), "fork")


def what_if(live: "Live", spot: Spot, say: Say) -> None:
    """Ask what is to be different and where, make the fork, open it, and let it go on."""
    live.worker(_what_if(live, spot, say), "what if")


async def _fork(live: "Live", spot: Spot, say: Say) -> None:
    wish = await ask_where(live.app, lambda: live.app.looks, spot)
    if wish is not None:
        await _carry_out(live, spot, wish, say)


async def _what_if(live: "Live", spot: Spot, say: Say) -> None:
    form = ForkForm(
        lambda: live.app.looks,
        spot,
        await places_of(spot, "what-if"),
        what_if=True,
        pick_model=lambda then: choose_model(live, then),
        edit=live.app.edit_outside,
    )
    wish = await live.app.push_screen_wait(form)
    if wish is not None:
        await _carry_out(live, spot, wish, say)


async def _carry_out(live: "Live", spot: Spot, wish: Wish, say: Say) -> None:
    say(f"Forking after event {spot.at_seq} …", "info")
    made = await make(live.ask, spot, wish)
    if not made.id:
        say(made.said, "error")
    elif live.running or live.opening.under_way:
        say(f"Forked after event {spot.at_seq}: /session {made.id} opens it once the turn is over.", "done")
    else:
        while len(live.app.screen_stack) > 1:
            await live.app.pop_screen()
        live.opening.go_to(_open(live, spot, wish, made), "fork")


async def _open(live: "Live", spot: Spot, wish: Wish, made: Made) -> None:
    if not await live.opening.open(live.opening.options_of(made.id)):
        return
    if wish.change is not None:
        live.submit(GoOn())
        live.app.say(
            f"The what-if goes on here. /compare shows both, /tree goes back; {spot.session} is as it was.",
            "done",
        )
        return
    editor = live.app.prompt.editor
    if spot.draft and not editor.text:
        editor.put(spot.draft)
    live.app.say(f"A fork of {spot.session} after event {spot.at_seq}. /tree shows both.", "done")
