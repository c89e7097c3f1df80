"""From an event to a fork that is open: asked where, made by the command line, opened where nothing runs.

Invariant: a session that runs is left alone: then the fork is made and named, not opened.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tui_agent.config.paths import is_session_stored
from tui_agent.folds.session.branches import is_on_branch, stretches
from tui_agent.protocol.commands import ContinueTurn
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.modals.fork_point import (
    ForkPoint,
    ForkRequest,
    ForkResult,
    fork_point_at,
    make_fork,
    workplaces_for,
)
from tui_agent.tui.modals.model_picker import choose_model
from tui_agent.tui.panes.note import Level
from tui_agent.tui.theme.palette import Looks

Say: TypeAlias = Callable[[str, Level], None]
Begin: TypeAlias = Callable[[ForkPoint, Say], None]
"""Goes on from an event elsewhere; what is to be said meanwhile is handed back."""


async def ask_where(
    push_screen_wait: Callable[[ForkForm], Awaitable[ForkRequest | None]],
    looks: Callable[[], Looks],
    point: ForkPoint,
) -> ForkRequest | None:
    """Where a fork is to work; None where it is not wanted. To be awaited in a worker."""
    return await push_screen_wait(ForkForm(looks, point, await workplaces_for(point, "fork")))


async def fork_point_here(context: AppContext, seq: int) -> ForkPoint | None:
    """The spot of an event of the open session; None where nothing of it is stored yet."""
    if not await asyncio.to_thread(is_session_stored, context.folder):
        return None
    branch = stretches(context.views.branches.view().moves, context.views.seq)
    entries = context.views.transcript.view().entries if is_on_branch(seq, branch) else ()
    records = await context.reader.events_between(seq, seq, 1)
    return fork_point_at(context.app.session_id, entries, context.state, seq, records[0] if records else None)


def fork(context: AppContext, point: ForkPoint, say: Say) -> None:
    """Ask where a fork of this event is to work, make it, and open it."""
    context.worker(_fork(context, point, say), "fork")


def what_if(context: AppContext, point: ForkPoint, say: Say) -> None:
    """Ask what is to be different and where, make the fork, open it, and let it go on."""
    context.worker(_what_if(context, point, say), "what if")


async def _fork(context: AppContext, point: ForkPoint, say: Say) -> None:
    request = await ask_where(context.app.push_screen_wait, lambda: context.app.looks, point)
    if request is not None:
        await _carry_out(context, point, request, say)


async def _what_if(context: AppContext, point: ForkPoint, say: Say) -> None:
    form = ForkForm(
        lambda: context.app.looks,
        point,
        await workplaces_for(point, "what-if"),
        what_if=True,
        pick_model=lambda then: choose_model(context, then),
        edit=context.app.edit_outside,
    )
    request = await context.app.push_screen_wait(form)
    if request is not None:
        await _carry_out(context, point, request, say)


async def _carry_out(context: AppContext, point: ForkPoint, request: ForkRequest, say: Say) -> None:
    say(f"Forking after event {point.at_seq} …", "info")
    result = await make_fork(context.ask, point, request)
    if not result.id:
        say(result.fault, "error")
    elif context.running or context.sessions.under_way:
        say(
            f"Forked after event {point.at_seq}: /session {result.id} opens it once the turn is over.", "done"
        )
    else:
        await context.app.close_screens()
        context.sessions.go_to(_open(context, point, request, result), "fork")


async def _open(context: AppContext, point: ForkPoint, request: ForkRequest, result: ForkResult) -> None:
    if not await context.sessions.open(context.sessions.options_of(result.id)):
        return
    if request.change is not None:
        context.submit(ContinueTurn())
        context.app.say(
            f"The what-if goes on here. /compare shows both, /tree goes back; {point.session} is as it was.",
            "done",
        )
        return
    if point.prompt_text and not context.prompt.text:
        context.prompt.put_text(point.prompt_text)
    context.app.say(f"A fork of {point.session} after event {point.at_seq}. /tree shows both.", "done")
