"""What the session changed in files, file by file, from the contents before and after.

Invariant: every count is one of the lines that are shown: what was changed and changed back counts for nothing.
"""

from textual.strip import Strip

from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import Compared, compared, diff_strips
from tui_agent.tui.modals.viewer import Viewer, newest_only
from tui_agent.tui.widgets.rows import Part, part
from tui_agent.units import format_line_changes


def diff(context: AppContext, argument: str) -> None:
    """Open it; `argument` names a path, or a part of one."""
    found: dict[str, Compared] = {}
    files = _named(context, argument)

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows = newest_only(context, viewer, width)
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

    viewer = Viewer(lambda: context.app.looks, "Changes", draw, right=_count(files))
    context.app.push_screen(viewer)

    async def read() -> None:
        right = viewer.right = _count(files)
        found.clear()
        for one in files:
            found[one.path] = await compared(context, one.before, one.after)
            viewer.plain = "\n".join(f"--- {path}\n{each.text or each.said}" for path, each in found.items())
            if len(found) == len(files):
                viewer.right = f"{right} {_totals(context, found)}".rstrip()
            if viewer.is_attached:
                viewer.redraw()

    async def read_all() -> None:
        nonlocal files
        await read()
        if context.sessions.older:
            await context.sessions.known()
            files = _named(context, argument)
            await read()
            if viewer.is_attached:
                viewer.redraw()

    if files or context.sessions.older:
        context.worker(read_all(), "diff")


def _named(context: AppContext, argument: str) -> list[ChangedFile]:
    return [one for one in context.views.files.view().files if argument in one.path]


def _count(files: list[ChangedFile]) -> str:
    return counted(len(files), "file") if files else ""


def _totals(context: AppContext, found: dict[str, Compared]) -> str:
    added, removed = sum(one.added for one in found.values()), sum(one.removed for one in found.values())
    return " ".join(
        words for words, _ in format_line_changes(added, removed, context.app.looks.symbols.minus)
    )


def _file(viewer: Viewer, one: ChangedFile, found: Compared | None, width: int) -> list[Strip]:
    left: list[Part] = [part(one.path, viewer.style(bold=True)), ("  ", viewer.style())]
    if found is not None:
        for words, role in format_line_changes(found.added, found.removed, viewer.looks.symbols.minus):
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
