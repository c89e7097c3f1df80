"""The argument of /session: a session to open, or a new name for this one.

Invariant: a word that looks like an id but is not one neither makes a session nor becomes a name; any other single word
becomes a name after a question.
"""

from tui_agent.protocol.commands import Rename
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.commands.stats import show_status
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.text import clean_line

ID = "ses_"
"""The prefix of the product's session ids."""


def show_or_open_session(context: AppContext, argument: str) -> None:
    """Show the status of this session, open another one, or rename this one."""
    if not argument:
        show_status(context, "")
    else:
        begin(context, argument, named=True)


def begin(context: AppContext, argument: str, *, named: bool) -> None:
    """Open the session of this id; if there is none and `named` is set, rename this session."""
    if context.sessions.under_way:
        context.app.do("session" if named else "resume", argument)
    elif context.running:
        context.worker(_rename_beside_turn(context, argument, named=named), "session")
    else:
        context.sessions.go_to(_open_or_rename(context, argument, named=named), "session")


def say_turn_is_running(context: AppContext) -> None:
    """Say that no other session can be opened while a turn runs."""
    key = context.app.key_map.key_of("stop")
    context.app.say(f"A turn is running. Press {key} to stop it before you open another session.", "warning")


async def _rename_beside_turn(context: AppContext, argument: str, *, named: bool) -> None:
    """Rename this session: while a turn runs, no other one can be opened."""
    session, problem = await _find_session(context, argument)
    if session and session != context.app.session_id:
        say_turn_is_running(context)
    else:
        _rename_or_refuse(context, argument, session, problem, named=named)


async def _open_or_rename(context: AppContext, argument: str, *, named: bool) -> None:
    try:
        session, problem = await _find_session(context, argument)
    except BaseException:
        context.sessions.stay()
        raise
    if session and session != context.app.session_id:
        await context.sessions.open(context.sessions.options_of(session))
        return
    context.sessions.stay()
    _rename_or_refuse(context, argument, session, problem, named=named)


def _rename_or_refuse(context: AppContext, argument: str, session: str, problem: str, *, named: bool) -> None:
    if session:
        context.app.say("This session is already open.")
    elif problem:
        context.app.say(problem, "warning")
    elif not named or (argument.startswith(ID) and len(argument.split()) == 1):
        context.app.say(
            f"No session {clean_line(argument)[:60]}. /sessions lists all; /new starts one.",
            "warning",
        )
    elif context.session is None:
        context.app.say("No session is open to rename. /sessions lists all.", "warning")
    elif len(argument.split()) > 1:
        _rename(context, argument)
    else:
        _ask_for_rename(context, argument)


def _ask_for_rename(context: AppContext, name: str) -> None:
    """Ask first: a single word may have been meant as another session's id."""
    shown = clean_line(name)[:60]
    question = Confirm(
        lambda: context.app.looks,
        f"Rename this session to {shown}?",
        [f"There is no session {shown} to open. /sessions lists all."],
        yes=("confirm_go", "rename"),
        no="keep its name",
        level="info",
    )
    context.app.push_screen(question, lambda yes: _rename(context, name) if yes else None)


def _rename(context: AppContext, name: str) -> None:
    context.submit(Rename(title=name))
    context.app.say(f"Renamed this session to {clean_line(name)[:60]}.", "done")


async def _find_session(context: AppContext, argument: str) -> tuple[str, str]:
    """Return the id of the session meant, or an empty one, and the problem if it is not clear which."""
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
