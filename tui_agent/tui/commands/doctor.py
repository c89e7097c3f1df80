"""What works here: the checks of `tui-agent doctor` for this session, and the app's own look at its terminal.

Invariant: the checks run in a program that has no terminal, so what they say of one is left out.
"""

from textual.strip import Strip

from tui_agent.tui.cli_client import json_rows, place, text_of, words_of
from tui_agent.tui.context import AppContext, ScreenPort
from tui_agent.tui.modals.viewer import Viewer, show

MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}
COLOURS = {"full": "true colour", "16": "16 colours", "none": "no colours"}


def doctor(context: AppContext, argument: str) -> None:
    """What works here, what does not, and what to do about it."""
    said = {"text": "looking …"}

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        return viewer.say(width, said["text"], "t1")

    viewer = show(context, "Doctor", draw)

    async def ask() -> None:
        _, answer = await context.ask("doctor", "--json", *place(context.app.options), *model_words(context))
        rows = [(text_of(row, "what"), row) for row in json_rows(answer)]
        lines = [
            _line(what, text_of(row, "state"), f"{text_of(row, 'found')} {text_of(row, 'do')}")
            if what != "terminal"
            else _line(what, *terminal(context.app))
            for what, row in rows
        ]
        said["text"] = viewer.plain = "\n".join(lines) or answer
        if viewer.is_attached:
            viewer.redraw()

    context.worker(ask(), "doctor")


def model_words(context: AppContext) -> list[str]:
    """The model that answers in this session."""
    settings = context.state.settings
    if settings is None:
        return []
    now = settings.model
    return words_of([("--model", now.profile or now.model), ("--base-url", now.base_url)])


def _line(what: str, state: str, found: str) -> str:
    return f"{MARKS.get(state, state)}  {what:<14} {found}".rstrip()


def terminal(app: ScreenPort) -> tuple[str, str]:
    """Whether the terminal that the app is drawn on serves, and what it is."""
    columns, lines = app.size
    mouse = "mouse" if app.first.mouse else "no mouse"
    name = app.environ.get("TERM") or "unknown"
    found = f"{columns}×{lines}, {COLOURS[app.first.mode]}, TERM {name}, {mouse}"
    if columns < 40 or lines < 8:
        return "bad", f"{found}. It is too small: make it at least 40×8."
    return "ok", found


HANDLERS = {"doctor": doctor}
