"""The command /diff: the files changed by the session, each compared with its content before the session.

Invariant: the counts are those of the diffs shown; undone changes are left out.
"""

from textual.strip import Strip

from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import FileComparison, compare_contents, diff_strips
from tui_agent.tui.modals.viewer import Viewer, newest_only_rows
from tui_agent.tui.widgets.rows import Part, part
from tui_agent.units import format_line_changes


def show_diff(context: AppContext, argument: str) -> None:
    """Show the changed files; `argument` is a path or part of one."""
    comparisons: dict[str, FileComparison] = {}
    files = _matching_files(context, argument)

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows = newest_only_rows(context, viewer, width)
        if not files and rows:
            return rows
        if not files:
            text = f"No changed file matches {argument}." if argument else "No files changed in this session."
            return viewer.say(width, text, "t3")
        for index, file in enumerate(files):
            rows += [viewer.gap(width)] if index else []
            rows += _file_rows(viewer, file, comparisons.get(file.path), width)
        return rows

    viewer = Viewer(lambda: context.app.looks, "Changes", draw, right=_count(files))
    context.app.push_screen(viewer)

    async def read() -> None:
        right = viewer.right = _count(files)
        comparisons.clear()
        for file in files:
            comparisons[file.path] = await compare_contents(context, file.before, file.after)
            viewer.plain = "\n".join(
                f"--- {path}\n{comparison.text or comparison.note}"
                for path, comparison in comparisons.items()
            )
            if len(comparisons) == len(files):
                viewer.right = f"{right} {_totals(context, comparisons)}".rstrip()
            if viewer.is_attached:
                viewer.redraw()

    async def read_all() -> None:
        nonlocal files
        await read()
        if context.sessions.load_progress:
            await context.sessions.wait_until_whole()
            files = _matching_files(context, argument)
            await read()
            if viewer.is_attached:
                viewer.redraw()

    if files or context.sessions.load_progress:
        context.worker(read_all(), "diff")


def _matching_files(context: AppContext, argument: str) -> list[ChangedFile]:
    return [file for file in context.views.files.view().files if argument in file.path]


def _count(files: list[ChangedFile]) -> str:
    return format_count(len(files), "file") if files else ""


def _totals(context: AppContext, comparisons: dict[str, FileComparison]) -> str:
    added = sum(comparison.added for comparison in comparisons.values())
    removed = sum(comparison.removed for comparison in comparisons.values())
    return " ".join(
        words for words, _ in format_line_changes(added, removed, context.app.looks.symbols.minus)
    )


def _file_rows(
    viewer: Viewer, file: ChangedFile, comparison: FileComparison | None, width: int
) -> list[Strip]:
    left: list[Part] = [part(file.path, viewer.style(bold=True)), ("  ", viewer.style())]
    if comparison is not None:
        for words, role in format_line_changes(
            comparison.added, comparison.removed, viewer.looks.symbols.minus
        ):
            left.append((f" {words}", viewer.style(role)))
    kind = "  created" if file.before is None else "  removed" if file.after is None else ""
    left.append((kind, viewer.style("t3")))
    head = viewer.line(width, left)
    if comparison is None:
        return [head, *viewer.say(width, "reading …", "t3")]
    if comparison.note:
        note = "Only its permissions changed." if file.only_mode_changed else comparison.note
        return [head, *viewer.say(width, note, "t3")]
    return [head, *diff_strips(file.path, comparison.text, viewer.looks, width)]
