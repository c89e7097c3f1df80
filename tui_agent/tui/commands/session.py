"""Commands about sessions: open another one, start a new one, pause, rename, the queue, the trace."""

import asyncio
from dataclasses import replace
from pathlib import Path

from tui_agent.config.paths import is_session_stored
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.commands import Pause, Rename, Resume, SendQueued, Unqueue
from tui_agent.protocol.events.turn import UserQueued
from tui_agent.protocol.settings import PAUSE_PENDING
from tui_agent.tui.commands.info import show_command_output
from tui_agent.tui.commands.session_name import begin, say_turn_is_running
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.text import clean_line


def switch(context: AppContext, session_id: str) -> None:
    """Close this session and open another, whose id is known."""
    if context.running:
        say_turn_is_running(context)
    elif context.sessions.under_way:
        context.app.do("open_session", session_id)
    else:
        context.sessions.go_to(context.sessions.open(context.sessions.options_of(session_id)), "switch")


def start_session(context: AppContext, argument: str) -> None:
    """Start a new session with the same settings."""
    context.sessions.go_to(context.sessions.open(context.sessions.same_settings()), "new")


def reset_session(context: AppContext, argument: str) -> None:
    """Start a session with a summary of this one's turns, or of the named one's; the old log is kept."""
    context.sessions.go_to(_reset(context, argument), "reset")


async def _reset(context: AppContext, wanted: str) -> None:
    state, old = context.state, context.app.session_id
    has_turns = bool(state.root_task or state.session_context)
    here = old if has_turns and await asyncio.to_thread(is_session_stored, context.folder) else ""
    options = replace(context.sessions.same_settings(), carry_from=wanted or here or None)
    if await context.sessions.open(options) and here:
        context.app.say(f"Started a new session. /session {old} opens the old one.", "done")


def resume(context: AppContext, argument: str) -> None:
    """Continue a paused turn; with an id, or when nothing is paused, an earlier session."""
    if argument:
        begin(context, argument, named=False)
    elif context.state.agent_state == "paused":
        context.submit(Resume())
    elif context.running and context.state.state_reason == PAUSE_PENDING:
        context.submit(Resume())
        context.app.say("The turn continues without a pause.")
    elif context.running:
        context.app.say("A turn is already running. /pause holds it.", "warning")
    else:
        context.app.push_screen(SessionsScreen(context))


def pause(context: AppContext, argument: str) -> None:
    """Pause the turn, or continue a paused one."""
    if not context.running:
        context.app.say("No turn is running. /pause holds one before its next call.")
    elif context.state.agent_state == "paused":
        context.submit(Resume())
    else:
        if context.state.state_reason != PAUSE_PENDING:
            context.submit(Pause())
        context.app.say("The turn pauses after this call. /resume cancels that.")


def rename(context: AppContext, argument: str) -> None:
    """Rename the session."""
    if argument:
        context.submit(Rename(title=argument))
    else:
        context.app.say("/rename needs a name, for example /rename night shift.", "warning")


def unqueue(context: AppContext, argument: str) -> None:
    """Move a queued message back into the prompt: the one of this number, else the newest."""
    message = _queued_message(context, argument, newest=True)
    if message is None:
        return
    context.submit(Unqueue(queue_id=message.queue_id))
    if not context.prompt.text.strip():
        context.prompt.put_text(text_preview(message.text))


def send_queued(context: AppContext, argument: str) -> None:
    """Send a queued message now: the one of this number, else the first."""
    message = _queued_message(context, argument, newest=False)
    if message is not None:
        context.submit(SendQueued(queue_id=message.queue_id))


def _queued_message(context: AppContext, argument: str, *, newest: bool) -> UserQueued | None:
    queue = context.state.queue
    if not queue:
        key = context.app.key_map.key_of("queue")
        context.app.say(f"No messages are queued. Press {key} while a turn runs to queue one.")
        return None
    if not argument:
        return queue[-1 if newest else 0]
    if argument.isdecimal() and 1 <= int(argument) <= len(queue):
        return queue[int(argument) - 1]
    context.app.say(f"No queued message {clean_line(argument)[:20]}; there are {len(queue)}.", "warning")
    return None


def show_trace(context: AppContext, argument: str) -> None:
    """Show the span tree, or the trace of another session in numbers."""
    if argument and argument not in ("latest", context.app.session_id):
        show_command_output(context, f"Trace of {Path(argument).name}", "trace", argument)
    else:
        context.app.push_screen(TraceScreen(context))
