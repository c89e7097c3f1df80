"""What a word behind /session means: a session to open, or a name for this one.

Invariant: a word that looks like an id but is none neither makes a session nor becomes a name; any other single word
becomes one after a question.
"""

from typing import TYPE_CHECKING

from tui_agent.protocol.commands import Rename
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.commands.stats import status
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

ID = "ses_"
"""How the ids begin that the product gives."""


def session(live: "Live", argument: str) -> None:
    """This one in words; open another one; or name this one."""
    if not argument:
        status(live, "")
    else:
        begin(live, argument, named=True)


def begin(live: "Live", argument: str, *, named: bool) -> None:
    """Find out what is meant, and do it; `named`: what is no session becomes this one's name."""
    if live.opening.under_way:
        live.app.do("session" if named else "resume", argument)
    elif live.running:
        live.worker(_beside(live, argument, named=named), "session")
    else:
        live.opening.go_to(_opened(live, argument, named=named), "session")


async def _beside(live: "Live", argument: str, *, named: bool) -> None:
    """While a turn runs only a name can be given."""
    wanted, why = await found(live, argument)
    if wanted and wanted != live.app.session_id:
        live.app.say("A turn is running. /session can open another after it; Esc stops it.", "warning")
    else:
        _not_another(live, argument, wanted, why, named=named)


async def _opened(live: "Live", argument: str, *, named: bool) -> None:
    try:
        wanted, why = await found(live, argument)
    except BaseException:
        live.opening.stay()
        raise
    if wanted and wanted != live.app.session_id:
        await live.opening.open(live.opening.options_of(wanted))
        return
    live.opening.stay()
    _not_another(live, argument, wanted, why, named=named)


def _not_another(live: "Live", argument: str, wanted: str, why: str, *, named: bool) -> None:
    if wanted:
        live.app.say("This session is open already.")
    elif why:
        live.app.say(why, "warning")
    elif not named or (argument.startswith(ID) and len(argument.split()) == 1):
        live.app.say(
            f"There is no session {clean_line(argument)[:60]}. /sessions shows them all; /new starts one.",
            "warning",
        )
    elif live.session is None:
        live.app.say("No session is open that could get this name. /sessions shows all.", "warning")
    elif len(argument.split()) > 1:
        _rename(live, argument)
    else:
        _ask(live, argument)


def _ask(live: "Live", name: str) -> None:
    """One word may have been meant as another session's id."""
    shown = clean_line(name)[:60]
    question = Confirm(
        lambda: live.app.looks,
        f"Call this session {shown}?",
        [f"There is no session {shown} to open; /sessions shows them all."],
        yes=("enter", "call it so"),
        no="leave its name",
        level="info",
    )
    live.app.push_screen(question, lambda yes: _rename(live, name) if yes else None)


def _rename(live: "Live", name: str) -> None:
    live.submit(Rename(title=name))
    live.app.say(f"This session is called {clean_line(name)[:60]} now.", "done")


async def found(live: "Live", argument: str) -> tuple[str, str]:
    """The id of the session that is meant, or an empty one, with the reason where it is not clear which."""
    if len(argument.split()) != 1:
        return "", ""
    status_code, said = await live.ask("sessions", "list", "--all", f"--id={argument}", "--json")
    ids = [text_of(row, "id") for row in json_rows(said)]
    if status_code:
        return "", clean_line(" ".join(said.split())) or "The sessions could not be looked through."
    if len(ids) > 1:
        return (
            "",
            f"{len(ids)} sessions begin with {clean_line(argument)}: {', '.join(ids[:3])}. Give more of the id.",
        )
    return (ids[0] if ids else ""), ""
