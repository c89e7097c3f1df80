"""Actions about sessions: which one, another one, its name, its queue, its trace."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.protocol.base import text_preview
from tui_agent.protocol.commands import Pause, Rename, Resume, SendQueued, Unqueue
from tui_agent.protocol.events.turn import UserQueued
from tui_agent.protocol.settings import PAUSING
from tui_agent.tui.commands.info import program
from tui_agent.tui.commands.session_name import begin, session
from tui_agent.tui.controller.drafts import stored
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live


def switch(live: "Live", session_id: str) -> None:
    """Let go of this session and open another."""
    if live.running:
        live.app.say("A turn is running. /session can open another after it; Esc stops it.", "warning")
        return
    if live.opening.under_way:
        live.app.do("open_session", session_id)
        return
    live.opening.go_to(live.opening.open(live.opening.options_of(session_id)), "switch")


def new(live: "Live", argument: str) -> None:
    """A new session with the same settings."""
    live.opening.go_to(live.opening.open(live.opening.same_settings()), "new")


def reset_session(live: "Live", argument: str) -> None:
    """A fresh session that begins with a summary of this one's turns, or of another's; the old log is kept."""
    live.opening.go_to(_reset(live, argument), "reset")


async def _reset(live: "Live", wanted: str) -> None:
    state, old = live.state, live.app.session_id
    said = bool(state.root_task or state.session_context)
    here = old if said and await asyncio.to_thread(stored, live.folder) else ""
    options = replace(live.opening.same_settings(), carry_from=wanted or here or None)
    if await live.opening.open(options) and here:
        live.app.say(f"A fresh session. /session {old} opens the one before.", "done")


def sessions(live: "Live", argument: str) -> None:
    """All sessions: look for one, open it, or do something with it."""
    live.app.push_screen(SessionsScreen(live))


def open_session(live: "Live", argument: str) -> None:
    """Open the session of this id, which is known to be there."""
    switch(live, argument)


def resume(live: "Live", argument: str) -> None:
    """A paused turn goes on; with an id, or when nothing is paused, an earlier session."""
    if argument:
        begin(live, argument, named=False)
    elif live.state.agent_state == "paused":
        live.submit(Resume())
    elif live.running and live.state.state_reason == PAUSING:
        live.submit(Resume())
        live.app.say("The turn goes on without a pause.")
    elif live.running:
        live.app.say("A turn is running. /pause holds it.", "warning")
    else:
        sessions(live, "")


def pause(live: "Live", argument: str) -> None:
    """Hold the turn, or let it go on."""
    if not live.running:
        live.app.say("There is nothing to pause. /pause holds a running turn before its next call.")
    elif live.state.agent_state == "paused":
        live.submit(Resume())
    elif live.state.state_reason == PAUSING:
        live.app.say("The turn pauses after this call. /resume takes it back.")
    else:
        live.submit(Pause())
        live.app.say("The turn pauses after this call. /resume takes it back.")


def rename(live: "Live", argument: str) -> None:
    """Give the session a name."""
    if argument:
        live.submit(Rename(title=argument))
    else:
        live.app.say("/rename takes a name, as /rename night shift.", "warning")


def unqueue(live: "Live", argument: str) -> None:
    """Take a queued message back into the prompt: the one of this number, else the newest."""
    waiting = _queued(live, argument, newest=True)
    if waiting is None:
        return
    live.submit(Unqueue(queue_id=waiting.queue_id))
    editor = live.app.prompt.editor
    if not editor.text.strip():
        editor.put(text_preview(waiting.text))


def send_queued(live: "Live", argument: str) -> None:
    """Send a queued message now: the one of this number, else the first."""
    waiting = _queued(live, argument, newest=False)
    if waiting is not None:
        live.submit(SendQueued(queue_id=waiting.queue_id))


def _queued(live: "Live", argument: str, *, newest: bool) -> UserQueued | None:
    queue = live.state.queue
    if not queue:
        live.app.say("Nothing is queued. Tab queues a message while a turn runs.")
        return None
    if not argument:
        return queue[-1 if newest else 0]
    if argument.isdecimal() and 1 <= int(argument) <= len(queue):
        return queue[int(argument) - 1]
    live.app.say(f"There is no queued message {clean_line(argument)[:20]}; {len(queue)} wait.", "warning")
    return None


def trace(live: "Live", argument: str) -> None:
    """The span tree; with an argument another session's trace in numbers."""
    if argument and argument not in ("latest", live.app.session_id):
        _other_trace(live, argument)
    else:
        live.app.push_screen(TraceScreen(live))


def _other_trace(live: "Live", argument: str) -> None:
    program(live, f"Trace of {Path(argument).name}", "trace", argument)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {
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
