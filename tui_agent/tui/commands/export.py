"""The session as a file for others. Invariant: written on this command only, to a new file beside the work."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_agent.tui.cli_client import json_rows, place, text_of
from tui_agent.tui.commands.doctor import model_words, terminal
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live
    from tui_agent.tui.panes.note import Level

FORMATS: Final = ("html", "markdown", "jsonl", "bundle", "archive")
"""What can be written, the usual one first."""


def folder_of(live: "Live") -> str:
    """Where files are written: the folder that the session works in; without a session the app's own."""
    return live.state.workspace or str(live.app.options.cwd)


def export(live: "Live", argument: str) -> None:
    """Write the open session to a new file in the folder that is worked in, and say where it is."""
    form = argument.strip().lower() or FORMATS[0]
    if form not in FORMATS:
        live.app.say(f"/export takes one of {', '.join(FORMATS)}.", "warning")
        return
    if not live.views.seq:
        live.app.say("Nothing was said yet that could be exported.", "warning")
        return

    folder = folder_of(live)
    wanted = "sessions", "export", live.app.session_id, "--format", form, "--json", "--cwd", folder

    async def write() -> None:
        said, level = await written(live, *wanted)
        live.app.say(said, level, stays=True)

    live.app.say(f"Writing the session as {form} to {clean_line(folder)} …")
    live.worker(write(), "export")


async def written(live: "Live", *wanted: str) -> tuple[str, "Level"]:
    """Ask the command line for an export; what there is to say of it."""
    status, said = await live.ask(*wanted)
    path = text_of(next(iter(json_rows(said)), {}), "path")
    if status == 0 and path:
        return f"Exported to {clean_line(path)}", "done"
    return clean_line(" ".join(said.split())) or "The session could not be exported.", "error"


def bug(live: "Live", argument: str) -> None:
    """Write a report of what went wrong to a new file of the user's, and say where it is."""

    async def write() -> None:
        state, found = terminal(live.app)
        here = *place(live.app.options), *model_words(live), "--terminal", f"{state}: terminal: {found}"
        status, said = await live.ask("bug", *filter(None, [live.app.session_id]), "--json", *here)
        path = text_of(next(iter(json_rows(said)), {}), "path")
        if status == 0 and path:
            told = f"Written to {clean_line(path)}. Read it before you pass it on; nothing was sent."
            live.app.say(told, "done", stays=True)
        else:
            live.app.say(clean_line(" ".join(said.split())) or "The report could not be written.", "error")

    live.worker(write(), "bug")


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"export": export, "bug": bug}
