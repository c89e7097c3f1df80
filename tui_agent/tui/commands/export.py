"""The commands /export and /bug. Invariant: a file is written on the command only, and is always a new one."""

from typing import Final

from tui_agent.tui.cli_client import json_rows, place, run_export, text_of
from tui_agent.tui.commands.doctor import check_terminal, model_words
from tui_agent.tui.context import AppContext
from tui_agent.tui.text import clean_line

FORMATS: Final = ("html", "markdown", "jsonl", "bundle", "archive")
"""The formats, the default first."""


def export(context: AppContext, argument: str) -> None:
    """Write the open session to a new file in the work folder, and say where it is."""
    export_format = argument.strip().lower() or FORMATS[0]
    if export_format not in FORMATS:
        context.app.say(f"The format can be {', '.join(FORMATS)}.", "warning")
        return
    if not context.views.seq:
        context.app.say("Nothing to export yet: send a message first.", "warning")
        return

    folder, session = context.work_folder, context.app.session_id
    words = "sessions", "export", session, "--format", export_format, "--json", "--cwd", folder

    async def write() -> None:
        notice, level = await run_export(context.ask, *words)
        context.app.say(notice, level, stays=True)

    context.app.say(f"Writing the session as {export_format} to {clean_line(folder)} …")
    context.worker(write(), "export")


def report_bug(context: AppContext, argument: str) -> None:
    """Write a report of what went wrong to a new file, and say where it is."""

    async def write() -> None:
        terminal = "--terminal", ": terminal: ".join(check_terminal(context.app))
        options = *place(context.app.options), *model_words(context), *terminal
        status, output = await context.ask("bug", *filter(None, [context.app.session_id]), "--json", *options)
        path = text_of(next(iter(json_rows(output)), {}), "path")
        if status == 0 and path:
            notice = f"Report saved to {clean_line(path)}. Nothing was sent. Read it before you share it."
            context.app.say(notice, "done", stays=True)
        else:
            context.app.say(
                clean_line(" ".join(output.split())) or "The report could not be written.", "error"
            )

    context.worker(write(), "bug")
