"""The commands /doctor, /export and /bug.

Invariant: a file is written only on request, and never over an existing file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import json_rows, text_of, words_of
from tui_agent.tui.commands.status import session_pairs
from tui_agent.tui.main_screen import SessionApp
from tui_agent.tui.modals.export_form import export_to_chosen_place
from tui_agent.tui.modals.viewer import show
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.facts import Facts

COLOURS = {"full": "true colour", "16": "16 colours", "none": "no colours"}
FORMATS: Final = ("html", "markdown", "jsonl", "atif", "otel", "bundle", "archive", "trajectory")
"""Formats for /export; the first one is the default."""
FILE_FORMATS: Final = ("bundle", "archive", "trajectory")
"""Formats that contain the workspace's files."""
_NAME_CELLS: Final = 18


def show_doctor(context: AppContext, argument: str) -> None:
    """Show the checks of this installation, failed ones first, then facts about the open session."""
    checks: list[tuple[str, str, str, str]] = []
    answer = "checking …"

    def draw(facts: Facts) -> None:
        if not checks:
            facts.text(answer)
            facts.gap()
        for state, title, role, symbol in _groups(context):
            rows = [check for check in checks if check[0] == state]
            if rows:
                facts.text(title, bold=True)
            for _, name, message, advice in rows:
                facts.pair(f"{symbol} {name}", message, "t1" if state == "ok" else role, names=_NAME_CELLS)
                facts.fact("", advice, names=_NAME_CELLS)
            if rows:
                facts.gap()
        session = _session_rows(context)
        if session:
            facts.text("This session", bold=True)
        for name, value in session:
            facts.pair(f"  {name}", value, names=_NAME_CELLS)

    viewer = show(context, "Doctor", draw)

    async def ask() -> None:
        nonlocal answer
        _, answer = await context.ask("doctor", "--json", *context.place, *model_words(context))
        for row in json_rows(answer):
            state, name, message, advice = (
                text_of(row, key) for key in ("state", "check", "message", "advice")
            )
            if name == "terminal":  # The child process has no terminal, but this app does.
                (state, message), advice = check_terminal(context.app), ""
            checks.append((state, name, clean_line(message), clean_line(advice)))
        problems = sum(check[0] == "bad" for check in checks)
        viewer.right = f"{problems} to fix" if problems else "nothing to fix" if checks else ""
        viewer.plain = _plain_report(context, checks)
        viewer.redraw()

    context.worker(ask(), "Doctor")


def _groups(context: AppContext) -> list[tuple[str, str, Role, str]]:
    symbols = context.app.looks.symbols
    return [
        ("bad", "To fix", "error", symbols.failed),
        ("note", "Worth knowing", "warning", symbols.warning),
        ("ok", "Working", "success", symbols.done),
    ]


def _session_rows(context: AppContext) -> list[tuple[str, str]]:
    return [(name, clean_line(value)) for name, value in session_pairs(context)] if context.views.seq else []


def _plain_report(context: AppContext, checks: Sequence[tuple[str, str, str, str]]) -> str:
    sections: list[tuple[str, list[tuple[str, str]]]] = [
        (
            title,
            [
                (name, f"{message} {advice}")
                for check_state, name, message, advice in checks
                if check_state == state
            ],
        )
        for state, title, _, _ in _groups(context)
    ]
    sections.append(("This session", _session_rows(context)))
    return "\n\n".join(
        "\n".join([title, *(f"  {name:<15} {value}".rstrip() for name, value in rows)])
        for title, rows in sections
        if rows
    )


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
        return "bad", f"{finding}. Too small: tui-agent needs at least 40×8."
    return "ok", finding


def export(context: AppContext, argument: str) -> None:
    """Ask where to save the open session, and export it.

    `argument`: the format and the place to suggest, e.g. `markdown notes.md`. Both can be left out.
    """
    export_format, _, place = argument.strip().partition(" ")
    export_format = export_format.lower() or FORMATS[0]
    if export_format not in FORMATS:
        example = "Example: /export markdown notes.md"
        context.app.say(f"The format can be {', '.join(FORMATS)}. {example}", "warning")
        return
    if not context.views.seq:
        context.app.say("Nothing to export yet: send a message first.", "warning")
        return

    remark = ""
    if export_format in FILE_FORMATS:
        command = f"tui-agent sessions export {context.app.session_id} --format {export_format} --redact"
        remark = f". It contains your files and any API keys in them. To remove API keys: {command}"
    form = export_to_chosen_place(
        context.app,
        context.ask,
        f"Export this session as {export_format}",
        Path(context.work_folder),
        ("sessions", "export", context.app.session_id, "--format", export_format),
        lambda text, level: context.app.say(text, level, stays=level != "info"),
        place=place.strip(),
        remark=remark,
    )
    context.worker(form, "export")


def report_bug(context: AppContext, argument: str) -> None:
    """Write a report of recent errors to a new file, and show the file's path."""

    async def write() -> None:
        terminal = "--terminal", ": terminal: ".join(check_terminal(context.app))
        options = *context.place, *model_words(context), *terminal
        status, output = await context.ask("bug", *filter(None, [context.app.session_id]), "--json", *options)
        path = text_of(next(iter(json_rows(output)), {}), "path")
        if status == 0 and path:
            notice = f"Report saved to {clean_line(path)}. Nothing was sent. Read it before you share it."
            context.app.say(notice, "done", stays=True)
        else:
            notice = clean_line(" ".join(output.split())) or "The report could not be written."
            context.app.say(notice, "error")

    context.worker(write(), "bug")
