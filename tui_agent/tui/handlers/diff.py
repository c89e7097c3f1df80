"""L7: what the session changed in files, file by file, from the contents before and after."""

import asyncio
import difflib
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.errors import BlobMissing
from tui_agent.folds.files_changed import ChangedFile
from tui_agent.tui.modals.exact import diff_strips
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.rows import Part, part
from tui_agent.tui.text import clean_line
from tui_agent.tui.units import plural

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

LARGEST = 400_000


def diff(live: "Live", argument: str) -> None:
    """Open it; `argument` names a path, or a part of one."""
    view = live.views.files.view()
    files = [one for one in view.files if argument in one.path]
    texts: dict[str, str] = {}

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        if not files:
            said = (
                "No file was changed in this session."
                if not argument
                else f"No changed file matches {argument}."
            )
            return viewer.say(width, said, "t3")
        rows: list[Strip] = []
        for one in files:
            rows += [*([viewer.gap(width)] if rows else []), *_file(viewer, one, texts, width)]
        return rows

    right = f"{plural(len(files), 'file')} +{view.added} −{view.removed}" if files else ""
    viewer = Viewer(lambda: live.app.looks, "Changes", draw, right=right)
    live.app.push_screen(viewer)

    async def read() -> None:
        for one in files:
            texts[one.path] = await _diff_text(live, one)
            viewer.plain = "\n".join(f"--- {path}\n{text}" for path, text in texts.items())
            if viewer.is_attached:
                viewer.redraw()

    if files:
        live.worker(read(), "diff")


def _file(viewer: Viewer, one: ChangedFile, texts: dict[str, str], width: int) -> list[Strip]:
    left: list[Part] = [
        part(one.path, viewer.style(bold=True)),
        (f"   +{one.added}", viewer.style("success")),
        (f" {viewer.looks.symbols.minus}{one.removed}", viewer.style("error")),
        part(
            f"   {'created' if one.before is None else 'removed' if one.after is None else ''}",
            viewer.style("t3"),
        ),
    ]
    head = viewer.line(width, left)
    text = texts.get(one.path)
    if text is None:
        return [head, *viewer.say(width, "reading …", "t3")]
    if not text.startswith("@@"):
        return [head, *viewer.say(width, text, "t3")]
    return [head, *diff_strips(one.path, text, "", viewer.looks, width)]


async def _diff_text(live: "Live", one: ChangedFile) -> str:
    try:
        before = await _read(live, one.before)
        after = await _read(live, one.after)
    except BlobMissing as fault:
        return clean_line(str(fault))
    if len(before) > LARGEST or len(after) > LARGEST:
        return "Too large to compare here."
    if "\0" in before or "\0" in after:
        return "A binary file."
    return str(await asyncio.to_thread(lambda: hunks(before, after)))


async def _read(live: "Live", blob: str | None) -> str:
    if blob is None or live.session is None:
        return ""
    return (await live.session.read_blob(blob)).decode("utf-8", "replace")


def hunks(before: str, after: str) -> str:
    """A unified diff without its file lines; a sentence where nothing differs."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    found = [line for number, line in enumerate(lines) if number > 1]
    return "\n".join(found) or "The content is what it was."
