"""Commands about sessions: find or open another session, start a new one, pause, rename, the queue, the trace.

Invariant: only `/rename` changes a session's name.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tui_agent.config.paths import is_session_stored
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.commands import Pause, Rename, Resume, SendQueued, Unqueue
from tui_agent.protocol.events.turn import UserQueued
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.settings import PAUSE_PENDING
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.commands.help_and_lists import show_command_output
from tui_agent.tui.modals.confirm import QuitQuestion, describe_running_work
from tui_agent.tui.prompt.attachments import Picture
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.untrusted_text import clean_line

SESSION_ID_PREFIX = "ses_"
"""The prefix of all session ids."""


def list_or_open_session(context: AppContext, argument: str) -> None:
    """Open the session with the id `argument`, or list the sessions that match `argument`."""
    if not argument:
        context.app.push_screen(SessionsScreen(context))
    else:
        begin(context, argument, lists=True)


def begin(context: AppContext, argument: str, *, lists: bool) -> None:
    """Open the session whose id begins with `argument`.

    `lists`: True to list matching sessions if no id begins with `argument`.
    """
    if context.sessions.under_way:
        context.app.do("sessions" if lists else "pause", argument if lists else f"resume {argument}")
    elif context.is_running:
        context.worker(_open_or_list(context, argument, lists=lists, can_open=False), "session")
    else:
        context.sessions.go_to(_open_or_list(context, argument, lists=lists, can_open=True), "session")


def say_turn_is_running(context: AppContext) -> None:
    """Show a notice: no other session can be opened during a turn."""
    key = context.app.key_of("stop")
    context.app.say(f"A turn is running. Press {key} to stop it before you open another session.", "warning")


async def _open_or_list(context: AppContext, argument: str, *, lists: bool, can_open: bool) -> None:
    """Open a session or list sessions, after the checks in `begin`.

    `can_open`: False while a turn runs.
    """
    session = ""
    try:
        session, problem = await _find_session(context, argument)
    finally:  # Also after an error, because messages wait until `stay` is called or another session is open.
        is_other = session not in ("", context.app.session_id)
        if can_open and not is_other:
            context.sessions.stay()
    is_id = argument.startswith(SESSION_ID_PREFIX) and len(argument.split()) == 1
    if is_other and can_open:
        context.sessions.go_to(context.sessions.open(context.sessions.options_for(session)), "switch")
    elif is_other:
        say_turn_is_running(context)
    elif session:
        context.app.say("This session is already open.")
    elif problem:
        context.app.say(problem, "warning")
    elif lists and not is_id:
        context.app.push_screen(SessionsScreen(context, argument))
    else:
        shown = clean_line(argument)[:60]
        context.app.say(f"No session {shown}. /sessions lists all; /new starts one.", "warning")


async def _find_session(context: AppContext, argument: str) -> tuple[str, str]:
    """Find the session whose id begins with `argument`. Return its id and an error message.

    The id is empty if no session matches, or if several sessions match.
    """
    if len(argument.split()) != 1:
        return "", ""
    status, output = await context.ask("sessions", "list", "--all", f"--id={argument}", "--json")
    ids = [text_of(row, "id") for row in json_rows(output)]
    if status:
        return "", clean_line(" ".join(output.split())) or "The sessions could not be searched."
    if len(ids) > 1:
        matches = f"{len(ids)} sessions begin with {clean_line(argument)}: {', '.join(ids[:3])}"
        return "", f"{matches}. Type more of the id."
    return (ids[0] if ids else ""), ""


def quit_app(context: AppContext, argument: str) -> None:
    """Quit; while a turn, a subtask or a background job runs, ask first."""
    work = describe_running_work(context)
    if not work:
        context.app.leave()
        return
    context.app.quit_question = QuitQuestion(work)
    context.app.push_screen(context.app.quit_question, lambda yes: context.app.leave() if yes else None)


def switch(context: AppContext, session_id: str) -> None:
    """Close the open session, and open the session with this id."""
    if context.is_running:
        say_turn_is_running(context)
    elif context.sessions.under_way:
        context.app.do("open_session", session_id)
    else:
        context.sessions.go_to(context.sessions.open(context.sessions.options_for(session_id)), "switch")


def start_session(context: AppContext, argument: str) -> None:
    """Start a new session with the settings of the open session."""
    context.sessions.go_to(context.sessions.open(context.sessions.same_settings()), "new")


def reset_session(context: AppContext, argument: str) -> None:
    """Start a session with a summary of the open session, or of the session `argument`."""
    context.sessions.go_to(_reset(context, argument), "reset")


async def _reset(context: AppContext, session_id: str) -> None:
    state, old = context.state, context.app.session_id
    has_turns = bool(state.root_task or state.session_context)
    here = old if has_turns and await asyncio.to_thread(is_session_stored, context.folder) else ""
    options = replace(context.sessions.same_settings(), carry_from=session_id or here or None)
    if await context.sessions.open(options) and here:
        context.app.say(f"Started a new session. /sessions {old} opens the old one.", "done")


def resume(context: AppContext, argument: str) -> None:
    """Continue the paused turn, or open the session `argument`."""
    if argument:
        begin(context, argument, lists=False)
    elif context.state.agent_state == "paused":
        context.submit(Resume())
    elif context.is_running and context.state.state_reason == PAUSE_PENDING:
        context.submit(Resume())
        context.app.say("The turn continues without a pause.")
    elif context.is_running:
        context.app.say("A turn is already running. /pause pauses it.", "warning")
    else:
        context.app.push_screen(SessionsScreen(context))


def pause(context: AppContext, argument: str) -> None:
    """Pause the running turn, or continue a paused one."""
    if not context.is_running:
        context.app.say("No turn is running. /pause pauses a turn before its next call.")
    elif context.state.agent_state == "paused":
        context.submit(Resume())
    else:
        if context.state.state_reason != PAUSE_PENDING:
            context.submit(Pause())
        context.app.say("The turn pauses after the current call. /resume continues it.")


def rename(context: AppContext, argument: str) -> None:
    """Set the title of the open session."""
    context.submit(Rename(title=argument))


def unqueue(context: AppContext, argument: str) -> None:
    """Move the queued message number `argument`, by default the newest, back into the prompt."""
    message = _queued_message(context, argument, newest=True)
    if message is None:
        return
    ids = [queued.queue_id for queued in context.state.queue]
    context.submit(Unqueue(queue_id=message.queue_id))
    queued_after = tuple(ids[: ids.index(message.queue_id)])
    context.worker(_put_back(context, message, queued_after), "queued message")


async def _put_back(context: AppContext, message: UserQueued, queued_after: tuple[RequestId, ...]) -> None:
    text, editor, prompt = await context.reader.read_text(message.text), context.editor, context.app.prompt
    draft = editor.drafts_of_sent.pop(text, None)
    prompt.queue_rows.queued_after = queued_after
    # A draft also has the pasted parts, but it replaces the text in the prompt.
    if draft is not None and not editor.text.strip():
        editor.put_draft(draft)
    else:
        if message.attachments:
            editor.chips.restore_pictures(text, await _saved_pictures(context, message.attachments))
        editor.put_text("\n".join(part for part in (text, editor.text) if part.strip()))


async def _saved_pictures(context: AppContext, images: Sequence[ImageContent]) -> list[Picture]:
    """Save a queued message's pictures as files, because the prompt needs files to send the pictures again."""
    session, config = context.session, context.config
    if session is None or config is None:
        return []
    folder = config.data_dir / "drafts" / "images"
    module = await asyncio.to_thread(import_module, "tui_agent.tui.terminal.clipboard_image")
    pictures = []
    for image in images:
        try:
            data = await session.read_blob(image.blob_sha256)
            path = await asyncio.to_thread(module.save_image, data, folder)
        except (TuiAgentError, OSError) as fault:
            context.app.say(str(fault), "warning")
            break
        pictures.append(Picture(str(path), image.media_type))
    return pictures


def send_queued(context: AppContext, argument: str) -> None:
    """Send the queued message number `argument` now, by default the oldest."""
    message = _queued_message(context, argument, newest=False)
    if message is not None:
        context.submit(SendQueued(queue_id=message.queue_id))


def _queued_message(context: AppContext, argument: str, *, newest: bool) -> UserQueued | None:
    queue = context.state.queue
    if not queue:
        key = context.app.key_of("queue")
        context.app.say(f"No messages are queued. Press {key} while a turn runs to queue one.")
        return None
    if not argument:
        return queue[-1 if newest else 0]
    if argument.isdecimal() and 1 <= int(argument) <= len(queue):
        return queue[int(argument) - 1]
    context.app.say(
        f"There is no queued message {clean_line(argument)[:20]}; the queue has {len(queue)}.", "warning"
    )
    return None


def show_trace(context: AppContext, argument: str) -> None:
    """Show the trace of the open session, or a summary for the session `argument`."""
    if argument and argument not in ("latest", context.app.session_id):
        show_command_output(context, f"Trace of {Path(argument).name}", "trace", argument)
    else:
        context.app.push_screen(TraceScreen(context))
