"""The commands /doctor, /export and /bug.

Invariant: files are written only on request, and existing files are never overwritten. The process that runs the checks
of /doctor has no terminal, so the app checks the terminal itself.
"""

from pathlib import Path
from typing import Final

from tui_agent.tui.cli_client import json_rows, place, text_of, words_of
from tui_agent.tui.commands.sheets import show_answer
from tui_agent.tui.commands.stats import session_pairs
from tui_agent.tui.context import AppContext
from tui_agent.tui.main_screen import SessionApp
from tui_agent.tui.modals.export_form import export_to_chosen_place
from tui_agent.tui.text import clean_line

MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}
COLOURS = {"full": "true colour", "16": "16 colours", "none": "no colours"}


def show_doctor(context: AppContext, argument: str) -> None:
    """Show the state of this installation: what works, what does not, and how to fix it."""

    async def ask() -> str:
        _, answer = await context.ask("doctor", "--json", *place(context.app.options), *model_words(context))
        lines: list[str] = []
        for row in json_rows(answer):
            name, finding = text_of(row, "check"), f"{text_of(row, 'message')} {text_of(row, 'advice')}"
            check = check_terminal(context.app) if name == "terminal" else (text_of(row, "state"), finding)
            state, finding = check
            lines.append(f"{MARKS.get(state, state)}  {name:<14} {finding}".rstrip())
        if not context.views.seq:
            return "\n".join(lines) or answer
        session = [f"{name:<20} {clean_line(value)}" for name, value in session_pairs(context)]
        return "\n".join([*(lines or [answer]), "", "This session", *session])

    show_answer(context, "Doctor", ask)


def model_words(context: AppContext) -> list[str]:
    """Return the command-line options that select this session's model."""
    settings = context.state.settings
    if settings is None:
        return []
    model = settings.model
    return words_of([("--model", model.profile or model.model), ("--base-url", model.base_url)])


def check_terminal(app: SessionApp) -> tuple[str, str]:
    """Return `ok` or `bad` for the app's terminal, and a description of the terminal."""
    columns, lines = app.size
    mouse = "mouse" if app.first.mouse else "no mouse"
    name = app.environ.get("TERM") or "unknown"
    finding = f"{columns}×{lines}, {COLOURS[app.first.mode]}, TERM {name}, {mouse}"
    if columns < 40 or lines < 8:
        return "bad", f"{finding}. Too small: make it at least 40×8."
    return "ok", finding


FORMATS: Final = ("html", "markdown", "jsonl", "bundle", "archive")
"""Formats in which /export writes a session; the first format is the default."""
FILE_FORMATS: Final = ("bundle", "archive")
"""Formats that contain the workspace's files."""


def export(context: AppContext, argument: str) -> None:
    """Ask where to save the open session, and write it to a new file there, in the format `argument`."""
    export_format = argument.strip().lower() or FORMATS[0]
    if export_format not in FORMATS:
        context.app.say(f"The format can be {', '.join(FORMATS)}.", "warning")
        return
    if not context.views.seq:
        context.app.say("Nothing to export yet: send a message first.", "warning")
        return

    remark = ""
    if export_format in FILE_FORMATS:
        remark = ". It contains your files, with any keys in them; to remove these: tui-agent sessions export --redact"
    form = export_to_chosen_place(
        context.app,
        context.ask,
        f"Export this session as {export_format}",
        Path(context.work_folder),
        ("sessions", "export", context.app.session_id, "--format", export_format),
        lambda text, level: context.app.say(text, level, stays=level != "info"),
        remark=remark,
    )
    context.worker(form, "export")


def report_bug(context: AppContext, argument: str) -> None:
    """Write a report of recent errors to a new file, and show the file's path."""

    async def write() -> None:
        terminal = "--terminal", ": terminal: ".join(check_terminal(context.app))
        options = *place(context.app.options), *model_words(context), *terminal
        status, output = await context.ask("bug", *filter(None, [context.app.session_id]), "--json", *options)
        path = text_of(next(iter(json_rows(output)), {}), "path")
        if status == 0 and path:
            notice = f"Report saved to {clean_line(path)}. Nothing was sent. Read it before you share it."
            context.app.say(notice, "done", stays=True)
        else:
            notice = clean_line(" ".join(output.split())) or "The report could not be written."
            context.app.say(notice, "error")

    context.worker(write(), "bug")
