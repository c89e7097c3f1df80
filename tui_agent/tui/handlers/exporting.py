"""L7: the session as a file for others. Invariant: written on this command only, to a new file beside the work."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_agent.tui.outside import json_rows, place, text_of
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

FORMATS: Final = ("html", "markdown", "jsonl", "bundle", "archive")
"""What can be written, the usual one first."""


def export(live: "Live", argument: str) -> None:
    """Write the open session to a new file in the folder that is worked in, and say where it is."""
    form = argument.strip().lower() or FORMATS[0]
    if form not in FORMATS:
        live.app.say(f"/export takes one of {', '.join(FORMATS)}.", "warning")
        return
    if not live.views.seq:
        live.app.say("Nothing was said yet that could be exported.", "warning")
        return

    async def write() -> None:
        status, said = await live.ask("sessions", "export", live.app.session_id, "--format", form, "--json")
        row = next(iter(json_rows(said)), {})
        path = text_of(row, "path")
        if status == 0 and path:
            live.app.say(f"Exported to {clean_line(path)}")
        else:
            live.app.say(clean_line(" ".join(said.split())) or "The session could not be exported.", "error")

    live.worker(write(), "export")


def bug(live: "Live", argument: str) -> None:
    """Write a report of what went wrong to a new file of the user's, and say where it is."""

    async def write() -> None:
        status, said = await live.ask(
            "bug", *filter(None, [live.app.session_id]), "--json", *place(live.app.options)
        )
        path = text_of(next(iter(json_rows(said)), {}), "path")
        if status == 0 and path:
            live.app.say(f"Written to {clean_line(path)}. Read it before you pass it on; nothing was sent.")
        else:
            live.app.say(clean_line(" ".join(said.split())) or "The report could not be written.", "error")

    live.worker(write(), "bug")


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"export": export, "bug": bug}
