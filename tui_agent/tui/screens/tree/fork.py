"""Forking a session at an event: the form, the command, and opening the fork.

Invariant: a fork created during a turn is not opened; only its id is shown.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from tui_agent.config.paths import is_session_stored
from tui_agent.folds.replay_cursor import views_at
from tui_agent.folds.session.branches import is_on_branch, stretches
from tui_agent.protocol.commands import ContinueTurn
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.modals.fork_request import (
    ForkPoint,
    ForkRequest,
    fork_point_at,
    make_fork,
    with_known_files,
    workplaces_for,
)
from tui_agent.tui.modals.model_picker import choose_model
from tui_agent.tui.panes.notice import Level

Say: TypeAlias = Callable[[str, Level], None]
StartFork: TypeAlias = Callable[[ForkPoint, Say], None]
"""A function that creates and opens a fork. It shows notices with the given `Say`."""


async def fork_point_here(context: AppContext, seq: int) -> ForkPoint | None:
    """Return the fork point at the event `seq` of the open session; None if the session is not stored yet."""
    if not await asyncio.to_thread(is_session_stored, context.folder):
        return None
    branch = stretches(context.views.branches.view().moves, context.views.seq)
    entries = context.views.transcript.view().entries if is_on_branch(seq, branch) else ()
    records = await context.reader.events_between(0, context.views.seq)
    session, read = context.app.session_id, context.reader.read_text
    return await fork_point_at(session, entries, context.state, seq, records, read)


async def read_message(context: AppContext, folder: Path, seq: int) -> str:
    """Return the full text of the user's message at event `seq`. Return `""` for other events.

    `folder`: the folder of the session.
    """
    if folder.name == context.app.session_id:
        records, read = await context.reader.events_between(seq, seq, 1), context.reader.read_text
    else:
        # Imported here, because the app loads the store only when it reads a log.
        source = import_module("tui_agent.session.recorded_session").RecordedSession(folder)
        records, read = await source.read_all(), source.read_text
    for record in records:
        if (
            record.seq == seq
            and isinstance(record, Envelope)
            and isinstance(record.payload, UserMessageReceived)
        ):
            return await read(record.payload.text)
    return ""


def fork(context: AppContext, point: ForkPoint, say: Say) -> None:
    """Ask for the folder of a fork, create the fork, and open it."""
    context.worker(_fork(context, point, say, is_what_if=False), "fork")


def fork_session(context: AppContext, folder: Path, seq: int, name: str, say: Say) -> None:
    """Fork the session `name` at its newest event.

    - `folder`: the folder of the session
    - `seq`: the number of the newest event
    """
    context.worker(_fork_session(context, folder, seq, name, say), "fork")


async def _fork_session(context: AppContext, folder: Path, seq: int, name: str, say: Say) -> None:
    recorded = import_module("tui_agent.session.recorded_session").RecordedSession(folder)
    records = await recorded.read_all()
    views = await asyncio.to_thread(views_at, records, seq)
    session, entries, state = recorded.id, views.transcript.view().entries, views.state.view()
    point = await fork_point_at(session, entries, state, seq, records, recorded.read_text)
    await _fork(context, replace(point, session_name=name), say, is_what_if=False)


def fork_end(context: AppContext, point: ForkPoint, folder: Path, say: Say) -> None:
    """Fork the session stored in `folder` at `point`, the last event of a branch."""
    context.worker(_fork_end(context, point, folder, say), "fork")


async def _fork_end(context: AppContext, point: ForkPoint, folder: Path, say: Say) -> None:
    recorded = import_module("tui_agent.session.recorded_session").RecordedSession(folder)
    point = await with_known_files(point, await recorded.read_all())
    await _fork(context, point, say, is_what_if=False)


def what_if(context: AppContext, point: ForkPoint, say: Say) -> None:
    """Ask for a change and a folder, create and open the fork, and let the agent continue in the fork."""
    context.worker(_fork(context, point, say, is_what_if=True), "what if")


async def _fork(context: AppContext, point: ForkPoint, say: Say, *, is_what_if: bool) -> None:
    form = ForkForm(
        point,
        await workplaces_for(point, "what-if" if is_what_if else "fork"),
        what_if=is_what_if,
        pick_model=partial(choose_model, context),
        edit=context.app.edit_outside,
    )
    request = await context.app.push_screen_wait(form)
    if request is None:
        return
    say("Forking …", "info")
    if not context.is_running and not context.sessions.under_way:
        # What is typed from now on waits for the fork.
        context.sessions.go_to(_make_and_open(context, point, request, say), "fork")
        return
    result = await make_fork(context.ask, point, request)
    if result.id:
        opens = f"Forked. /sessions {result.id} opens the fork when the turn has ended."
        say(f"{opens} {result.note}".rstrip(), "done")
    else:
        say(result.fault, "error")


async def _make_and_open(context: AppContext, point: ForkPoint, request: ForkRequest, say: Say) -> None:
    unsent = context.editor.text
    result = await make_fork(context.ask, point, request)
    if not result.id:
        context.sessions.stay()
        say(result.fault, "error")
        return
    await context.app.close_screens()
    # With a message of the fork's own, the unsent one stays with the session in which it was written.
    options = context.sessions.options_for(result.id)
    if not await context.sessions.open(options, with_draft=not point.prompt_text):
        return
    if request.change is not None:
        context.submit(ContinueTurn())
        context.app.say(
            "The what-if runs in this new session. /compare compares it with "
            f"{point.session}; /tree switches back. {result.note}".rstrip(),
            "done",
        )
        return
    if point.prompt_text and context.editor.text in ("", unsent):
        context.editor.put_text(point.prompt_text)
    context.app.hide_notice()  # The chat says what was forked.
    if result.note:
        context.app.say(result.note)
