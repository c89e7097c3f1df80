"""The command /diff: the files changed by the session, each compared with its content before the session.

Invariant: the counts are those of the diffs shown; undone changes are left out.
"""

from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import FileComparison, compare_contents, diff_strips
from tui_agent.tui.modals.viewer import show, warn_newest_only
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, part
from tui_agent.units import format_line_changes


def show_diff(context: AppContext, argument: str) -> None:
    """Show the changed files in a sheet; `argument` selects a file by its path or a part of its path."""
    comparisons: dict[str, FileComparison] = {}
    files = _matching_files(context, argument)

    def draw(facts: Facts) -> None:
        warn_newest_only(context, facts)
        if not files and not facts.rows:
            text = f"No changed file matches {argument}." if argument else "No files changed in this session."
            facts.text(text, "t3")
        for index, file in enumerate(files):
            if index:
                facts.gap()
            _draw_file(facts, file, comparisons.get(file.path))

    viewer = show(context, "Changes", draw, right=_count(files))

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
            viewer.redraw()

    async def read_all() -> None:
        nonlocal files
        await read()
        if context.sessions.load_progress:
            await context.sessions.wait_until_whole()
            files = _matching_files(context, argument)
            await read()
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


def _draw_file(facts: Facts, file: ChangedFile, comparison: FileComparison | None) -> None:
    kind = "  created" if file.before is None else "  removed" if file.after is None else ""
    head: list[Part] = [part(file.path, facts.style(bold=True)), ("  ", facts.style())]
    if comparison is None:
        facts.line([*head, (kind, facts.style("t3"))])
        facts.text("reading …", "t3")
        return
    changes = format_line_changes(comparison.added, comparison.removed, facts.looks.symbols.minus)
    head += [(f" {words}", facts.style(role)) for words, role in changes]
    facts.line([*head, (kind, facts.style("t3"))])
    if comparison.note:
        facts.text("Only its permissions changed." if file.only_mode_changed else comparison.note, "t3")
    else:
        facts.rows += diff_strips(file.path, comparison.text, facts.looks, facts.width)
