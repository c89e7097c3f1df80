"""Actions about sessions: which one, another one, its name, its queue, its trace."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tui_agent.config.paths import is_session_stored
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.commands import Pause, Rename, Resume, SendQueued, Unqueue
from tui_agent.protocol.events.turn import UserQueued
from tui_agent.protocol.settings import PAUSING
from tui_agent.tui.commands.info import program
from tui_agent.tui.commands.session_name import begin, session
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.text import clean_line


def switch(context: AppContext, session_id: str) -> None:
    """Let go of this session and open another."""
    if context.running:
        stops = context.app.key_map.key_of("stop")
        context.app.say(
            f"A turn is running. /session can open another after it; {stops} stops it.", "warning"
        )
        return
    if context.sessions.under_way:
        context.app.do("open_session", session_id)
        return
    context.sessions.go_to(context.sessions.open(context.sessions.options_of(session_id)), "switch")


def new(context: AppContext, argument: str) -> None:
    """A new session with the same settings."""
    context.sessions.go_to(context.sessions.open(context.sessions.same_settings()), "new")


def reset_session(context: AppContext, argument: str) -> None:
    """A fresh session that begins with a summary of this one's turns, or of another's; the old log is kept."""
    context.sessions.go_to(_reset(context, argument), "reset")


async def _reset(context: AppContext, wanted: str) -> None:
    state, old = context.state, context.app.session_id
    said = bool(state.root_task or state.session_context)
    here = old if said and await asyncio.to_thread(is_session_stored, context.folder) else ""
    options = replace(context.sessions.same_settings(), carry_from=wanted or here or None)
    if await context.sessions.open(options) and here:
        context.app.say(f"A fresh session. /session {old} opens the one before.", "done")


def sessions(context: AppContext, argument: str) -> None:
    """All sessions: look for one, open it, or do something with it."""
    context.app.push_screen(SessionsScreen(context))


def open_session(context: AppContext, argument: str) -> None:
    """Open the session of this id, which is known to be there."""
    switch(context, argument)


def resume(context: AppContext, argument: str) -> None:
    """A paused turn goes on; with an id, or when nothing is paused, an earlier session."""
    if argument:
        begin(context, argument, named=False)
    elif context.state.agent_state == "paused":
        context.submit(Resume())
    elif context.running and context.state.state_reason == PAUSING:
        context.submit(Resume())
        context.app.say("The turn goes on without a pause.")
    elif context.running:
        context.app.say("A turn is running. /pause holds it.", "warning")
    else:
        sessions(context, "")


def pause(context: AppContext, argument: str) -> None:
    """Hold the turn, or let it go on."""
    if not context.running:
        context.app.say("There is nothing to pause. /pause holds a running turn before its next call.")
    elif context.state.agent_state == "paused":
        context.submit(Resume())
    elif context.state.state_reason == PAUSING:
        context.app.say("The turn pauses after this call. /resume takes it back.")
    else:
        context.submit(Pause())
        context.app.say("The turn pauses after this call. /resume takes it back.")


def rename(context: AppContext, argument: str) -> None:
    """Give the session a name."""
    if argument:
        context.submit(Rename(title=argument))
    else:
        context.app.say("/rename takes a name, as /rename night shift.", "warning")


def unqueue(context: AppContext, argument: str) -> None:
    """Take a queued message back into the prompt: the one of this number, else the newest."""
    waiting = _queued(context, argument, newest=True)
    if waiting is None:
        return
    context.submit(Unqueue(queue_id=waiting.queue_id))
    if not context.prompt.text.strip():
        context.prompt.put_text(text_preview(waiting.text))


def send_queued(context: AppContext, argument: str) -> None:
    """Send a queued message now: the one of this number, else the first."""
    waiting = _queued(context, argument, newest=False)
    if waiting is not None:
        context.submit(SendQueued(queue_id=waiting.queue_id))


def _queued(context: AppContext, argument: str, *, newest: bool) -> UserQueued | None:
    queue = context.state.queue
    if not queue:
        queues = context.app.key_map.key_of("queue")
        context.app.say(f"Nothing is queued. {queues} queues a message while a turn runs.")
        return None
    if not argument:
        return queue[-1 if newest else 0]
    if argument.isdecimal() and 1 <= int(argument) <= len(queue):
        return queue[int(argument) - 1]
    context.app.say(f"There is no queued message {clean_line(argument)[:20]}; {len(queue)} wait.", "warning")
    return None


def trace(context: AppContext, argument: str) -> None:
    """The span tree; with an argument another session's trace in numbers."""
    if argument and argument not in ("latest", context.app.session_id):
        _other_trace(context, argument)
    else:
        context.app.push_screen(TraceScreen(context))


def _other_trace(context: AppContext, argument: str) -> None:
    program(context, f"Trace of {Path(argument).name}", "trace", argument)


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
    "session": session,
    "sessions": sessions,
    "open_session": open_session,
    "new": new,
    "reset_session": reset_session,
    "resume": resume,
    "pause": pause,
    "rename": rename,
    "unqueue": unqueue,
    "send_queued": send_queued,
    "trace": trace,
}
