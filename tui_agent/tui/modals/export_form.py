"""The form that asks where to save an export.

Invariant: nothing is written before the user has confirmed the place.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from textual.strip import Strip

from tui_agent.config.settings import layers
from tui_agent.config.settings.export_folder import default_export_folder
from tui_agent.errors import TuiAgentError
from tui_agent.tui.cli_client import Ask, json_rows, non_json_text, text_of
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.panes.notice import Level
from tui_agent.tui.untrusted_text import clean_line, shorten_home
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.form import Form
from tui_agent.tui.widgets.rows import Pen
from tui_agent.units import format_elapsed

BEAT_S: Final = 5.0
"""Seconds between two notices about an export that is being written."""


class ExportForm(Form[str | None]):
    """Asks for a folder or a file; the result is the typed text, or None if the user cancelled."""

    scope = "field"
    lines = ("place",)

    def __init__(self, title: str, place: str) -> None:
        super().__init__()
        self.title_text, self.field = title, Field(place)

    def line_rows(self, line: str, pen: Pen, width: int) -> list[Strip]:
        hint = "A folder or a new file name. Existing files are never overwritten."
        return [self.field_row("Save in", self.field, pen, width), *self.note_rows(hint, width)]

    def key_hints(self) -> Sequence[KeyHint]:
        return [self.key_map.hint("field_use", "export"), self.key_map.hint("field_leave", "cancel")]

    @property
    def open_field(self) -> Field:
        return self.field

    def end_typing(self, keep: bool) -> None:
        """Close the form with the typed place, if there is one.

        `keep`: False to close the form with None.
        """
        if not keep or self.field.text.strip():
            self.dismiss(self.field.text.strip() if keep else None)


def _resolve(place: str, workspace: Path) -> Path:
    return workspace / Path(place).expanduser()


async def export_to_chosen_place(
    app: Frame,
    ask: Ask,
    title: str,
    workspace: Path,
    words: tuple[str, ...],
    say: Callable[[str, Level], object],
    *,
    place: str = "",
    remark: str = "",
    beat_s: float = BEAT_S,
) -> None:
    """Ask for a place, export by running `tui-agent` with `words`, and show the result.

    - `place`: the place to suggest; empty for the default folder
    - `remark`: text to show after the path of the export
    - `beat_s`: seconds between updates of the elapsed time
    """

    def find_folder() -> Path:
        return default_export_folder(layers.load_config(app.options, app.environ).data_dir, workspace)

    try:
        place = place or shorten_home(await asyncio.to_thread(find_folder))
    except (TuiAgentError, OSError) as fault:
        say(str(fault), "error")
        return
    answer = await app.push_screen_wait(ExportForm(title, place))
    if answer is None:
        return
    dest = _resolve(answer, workspace)
    shown = clean_line(shorten_home(dest))
    say(f"Exporting to {shown} …", "info")
    started = time.monotonic()

    def say_elapsed() -> None:
        elapsed = format_elapsed(time.monotonic() - started)
        say(f"Exporting to {shown} … {elapsed} so far. You can keep working.", "info")

    beat = app.set_interval(beat_s, say_elapsed)
    try:
        status, output = await ask(*words, "--json", "--output", str(dest))
    finally:
        beat.stop()
    path = text_of(next(iter(json_rows(output)), {}), "path")
    if status == 0 and path:
        say(f"Exported to {clean_line(shorten_home(Path(path)))}{remark}", "done")
    else:
        say(clean_line(non_json_text(output)) or "The export failed.", "error")
