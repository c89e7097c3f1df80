"""What the session changed in files, file by file, from the contents before and after.

Invariant: every count is one of the lines that are shown: what was changed and changed back counts for nothing.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.errors import BlobMissing
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.text.line_diff import line_diff
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.commands.viewer import newest_only
from tui_agent.tui.format import changed_lines
from tui_agent.tui.modals.approval_full import diff_strips
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.widgets.rows import Part, part

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

LARGEST = 400_000


@dataclass(frozen=True, slots=True)
class Compared:
    """One file's content before and after: hunks with their counts, or a sentence in place of them."""

    text: str = ""
    added: int = 0
    removed: int = 0
    said: str = ""


def diff(live: "Live", argument: str) -> None:
    """Open it; `argument` names a path, or a part of one."""
    found: dict[str, Compared] = {}
    files = _named(live, argument)

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows = newest_only(live, viewer, width)
        if not files and rows:
            return rows
        if not files:
            said = (
                "No file was changed in this session."
                if not argument
                else f"No changed file matches {argument}."
            )
            return viewer.say(width, said, "t3")
        for at, one in enumerate(files):
            rows += [*([viewer.gap(width)] if at else []), *_file(viewer, one, found.get(one.path), width)]
        return rows

    viewer = Viewer(lambda: live.app.looks, "Changes", draw, right=_count(files))
    live.app.push_screen(viewer)

    async def read() -> None:
        right = viewer.right = _count(files)
        found.clear()
        for one in files:
            found[one.path] = await compared(live, one.before, one.after)
            viewer.plain = "\n".join(f"--- {path}\n{each.text or each.said}" for path, each in found.items())
            if len(found) == len(files):
                viewer.right = f"{right} {_totals(live, found)}".rstrip()
            if viewer.is_attached:
                viewer.redraw()

    async def read_all() -> None:
        nonlocal files
        await read()
        if live.opening.older:
            await live.opening.known()
            files = _named(live, argument)
            await read()
            if viewer.is_attached:
                viewer.redraw()

    if files or live.opening.older:
        live.worker(read_all(), "diff")


def _named(live: "Live", argument: str) -> list[ChangedFile]:
    return [one for one in live.views.files.view().files if argument in one.path]


def _count(files: list[ChangedFile]) -> str:
    return counted(len(files), "file") if files else ""


def _totals(live: "Live", found: dict[str, Compared]) -> str:
    added, removed = sum(one.added for one in found.values()), sum(one.removed for one in found.values())
    return " ".join(words for words, _ in changed_lines(added, removed, live.app.looks.symbols.minus))


def _file(viewer: Viewer, one: ChangedFile, found: Compared | None, width: int) -> list[Strip]:
    left: list[Part] = [part(one.path, viewer.style(bold=True)), ("  ", viewer.style())]
    if found is not None:
        for words, role in changed_lines(found.added, found.removed, viewer.looks.symbols.minus):
            left.append((f" {words}", viewer.style(role)))
    kind = "  created" if one.before is None else "  removed" if one.after is None else ""
    left.append((kind, viewer.style("t3")))
    head = viewer.line(width, left)
    if found is None:
        return [head, *viewer.say(width, "reading …", "t3")]
    if found.said:
        said = "Only its permissions changed." if one.bits_only else found.said
        return [head, *viewer.say(width, said, "t3")]
    return [head, *diff_strips(one.path, found.text, "", viewer.looks, width)]


async def compared(live: "Live", old: str | None, new: str | None) -> Compared:
    """What lies between two contents, by their digests in the open session; None is no file."""
    try:
        before = await _read(live, old)
        after = await _read(live, new)
    except BlobMissing:
        return Compared(said="Its content is no longer in the session's folder, so it cannot be compared.")
    if len(before) > LARGEST or len(after) > LARGEST:
        return Compared(said="Too large to compare here.")
    if "\0" in before or "\0" in after:
        return Compared(said="A binary file.")
    made = await asyncio.to_thread(line_diff, before, after)
    if not made.text:
        more = " Secrets in it are not kept: one may be another." if "[redacted: " in before else ""
        return Compared(said=f"The content is what it was.{more}")
    return Compared(made.text, made.added, made.removed)


async def _read(live: "Live", blob: str | None) -> str:
    if blob is None or live.session is None:
        return ""
    return (await live.session.read_blob(blob)).decode("utf-8", "replace")
