"""The session as a file for others. Invariant: written on this command only, to a new file beside the work."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_agent.tui.cli_client import json_rows, place, run_export, text_of
from tui_agent.tui.commands.doctor import model_words, terminal
from tui_agent.tui.context import AppContext
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    pass

FORMATS: Final = ("html", "markdown", "jsonl", "bundle", "archive")
"""What can be written, the usual one first."""


def export(context: AppContext, argument: str) -> None:
    """Write the open session to a new file in the folder that is worked in, and say where it is."""
    form = argument.strip().lower() or FORMATS[0]
    if form not in FORMATS:
        context.app.say(f"/export takes one of {', '.join(FORMATS)}.", "warning")
        return
    if not context.views.seq:
        context.app.say("Nothing was said yet that could be exported.", "warning")
        return

    folder = context.work_folder
    wanted = "sessions", "export", context.app.session_id, "--format", form, "--json", "--cwd", folder

    async def write() -> None:
        said, level = await run_export(context.ask, *wanted)
        context.app.say(said, level, stays=True)

    context.app.say(f"Writing the session as {form} to {clean_line(folder)} …")
    context.worker(write(), "export")


def bug(context: AppContext, argument: str) -> None:
    """Write a report of what went wrong to a new file of the user's, and say where it is."""

    async def write() -> None:
        state, found = terminal(context.app)
        here = *place(context.app.options), *model_words(context), "--terminal", f"{state}: terminal: {found}"
        status, said = await context.ask("bug", *filter(None, [context.app.session_id]), "--json", *here)
        path = text_of(next(iter(json_rows(said)), {}), "path")
        if status == 0 and path:
            told = f"Written to {clean_line(path)}. Read it before you pass it on; nothing was sent."
            context.app.say(told, "done", stays=True)
        else:
            context.app.say(clean_line(" ".join(said.split())) or "The report could not be written.", "error")

    context.worker(write(), "bug")


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {"export": export, "bug": bug}
