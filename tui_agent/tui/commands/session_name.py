"""What a word behind /session means: a session to open, or a name for this one.

Invariant: a word that looks like an id but is none neither makes a session nor becomes a name; any other single word
becomes one after a question.
"""

from tui_agent.protocol.commands import Rename
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.commands.stats import status
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.text import clean_line

ID = "ses_"
"""How the ids begin that the product gives."""


def session(context: AppContext, argument: str) -> None:
    """This one in words; open another one; or name this one."""
    if not argument:
        status(context, "")
    else:
        begin(context, argument, named=True)


def begin(context: AppContext, argument: str, *, named: bool) -> None:
    """Find out what is meant, and do it; `named`: what is no session becomes this one's name."""
    if context.sessions.under_way:
        context.app.do("session" if named else "resume", argument)
    elif context.running:
        context.worker(_beside(context, argument, named=named), "session")
    else:
        context.sessions.go_to(_opened(context, argument, named=named), "session")


async def _beside(context: AppContext, argument: str, *, named: bool) -> None:
    """While a turn runs only a name can be given."""
    wanted, why = await found(context, argument)
    if wanted and wanted != context.app.session_id:
        stops = context.app.key_map.key_of("stop")
        context.app.say(
            f"A turn is running. /session can open another after it; {stops} stops it.", "warning"
        )
    else:
        _not_another(context, argument, wanted, why, named=named)


async def _opened(context: AppContext, argument: str, *, named: bool) -> None:
    try:
        wanted, why = await found(context, argument)
    except BaseException:
        context.sessions.stay()
        raise
    if wanted and wanted != context.app.session_id:
        await context.sessions.open(context.sessions.options_of(wanted))
        return
    context.sessions.stay()
    _not_another(context, argument, wanted, why, named=named)


def _not_another(context: AppContext, argument: str, wanted: str, why: str, *, named: bool) -> None:
    if wanted:
        context.app.say("This session is open already.")
    elif why:
        context.app.say(why, "warning")
    elif not named or (argument.startswith(ID) and len(argument.split()) == 1):
        context.app.say(
            f"There is no session {clean_line(argument)[:60]}. /sessions shows them all; /new starts one.",
            "warning",
        )
    elif context.session is None:
        context.app.say("No session is open that could get this name. /sessions shows all.", "warning")
    elif len(argument.split()) > 1:
        _rename(context, argument)
    else:
        _ask(context, argument)


def _ask(context: AppContext, name: str) -> None:
    """One word may have been meant as another session's id."""
    shown = clean_line(name)[:60]
    question = Confirm(
        lambda: context.app.looks,
        f"Call this session {shown}?",
        [f"There is no session {shown} to open; /sessions shows them all."],
        yes=("confirm_go", "call it so"),
        no="leave its name",
        level="info",
    )
    context.app.push_screen(question, lambda yes: _rename(context, name) if yes else None)


def _rename(context: AppContext, name: str) -> None:
    context.submit(Rename(title=name))
    context.app.say(f"Renamed this session to {clean_line(name)[:60]}.", "done")


async def found(context: AppContext, argument: str) -> tuple[str, str]:
    """The id of the session that is meant, or an empty one, with the reason where it is not clear which."""
    if len(argument.split()) != 1:
        return "", ""
    status_code, said = await context.ask("sessions", "list", "--all", f"--id={argument}", "--json")
    ids = [text_of(row, "id") for row in json_rows(said)]
    if status_code:
        return "", clean_line(" ".join(said.split())) or "The sessions could not be looked through."
    if len(ids) > 1:
        return (
            "",
            f"{len(ids)} sessions begin with {clean_line(argument)}: {', '.join(ids[:3])}. Give more of the id.",
        )
    return (ids[0] if ids else ""), ""
