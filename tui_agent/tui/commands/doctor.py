"""The command /doctor: the checks of `tui-agent doctor` for this session, and the app's own check of its terminal.

Invariant: the checks run in a program that has no terminal, so its report on the terminal is replaced.
"""

from tui_agent.tui.cli_client import json_rows, place, text_of, words_of
from tui_agent.tui.commands.sheets import show_answer
from tui_agent.tui.context import AppContext, ScreenPort

MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}
COLOURS = {"full": "true colour", "16": "16 colours", "none": "no colours"}


def show_doctor(context: AppContext, argument: str) -> None:
    """Show what works here, what does not, and what to do about it."""

    async def ask() -> str:
        _, answer = await context.ask("doctor", "--json", *place(context.app.options), *model_words(context))
        lines: list[str] = []
        for row in json_rows(answer):
            name, finding = text_of(row, "check"), f"{text_of(row, 'message')} {text_of(row, 'advice')}"
            check = check_terminal(context.app) if name == "terminal" else (text_of(row, "state"), finding)
            lines.append(_line(name, *check))
        return "\n".join(lines) or answer

    show_answer(context, "Doctor", ask)


def model_words(context: AppContext) -> list[str]:
    """Return command-line options that name the model of this session."""
    settings = context.state.settings
    if settings is None:
        return []
    now = settings.model
    return words_of([("--model", now.profile or now.model), ("--base-url", now.base_url)])


def _line(name: str, state: str, finding: str) -> str:
    return f"{MARKS.get(state, state)}  {name:<14} {finding}".rstrip()


def check_terminal(app: ScreenPort) -> tuple[str, str]:
    """Return `ok` or `bad` for the terminal of the app, and a description of it."""
    columns, lines = app.size
    mouse = "mouse" if app.first.mouse else "no mouse"
    name = app.environ.get("TERM") or "unknown"
    finding = f"{columns}×{lines}, {COLOURS[app.first.mode]}, TERM {name}, {mouse}"
    if columns < 40 or lines < 8:
        return "bad", f"{finding}. Too small: make it at least 40×8."
    return "ok", finding
