"""The one-line strip shown in place of the side panes on a narrow screen."""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.todo import progress
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part
from tui_agent.units import format_line_changes

if TYPE_CHECKING:  # the views are loaded after the first paint
    from tui_agent.folds.session.changed_files import FilesChangedView
    from tui_agent.folds.session.todo_list import TodoView


class PaneStrip(LinePane):
    """A row that replaces the side panes: todos, changed files, and keys to open the panes."""

    surface = "s1"
    todo: "TodoView | None" = None
    """The todo list; None while the session is being opened."""
    files: "FilesChangedView | None" = None
    line_counts: tuple[int, int] | None = None
    """Numbers of added and removed lines in all files; None until the lines are counted."""

    def set_views(
        self, todo: "TodoView", files: "FilesChangedView", line_counts: tuple[int, int] | None
    ) -> None:
        """Show the numbers of todos, changed files and changed lines."""
        self.todo, self.files, self.line_counts = todo, files, line_counts
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        pen, is_wide = self.pen, self.shape.width >= 70
        todo = pen._replace(intent="todo")
        left = [pen.part("  "), todo.part("Todo", bold=True)]
        if self.todo is not None and self.todo.items:
            done = progress(self.todo)
            left.append(todo.part(f" {done if is_wide else done.removesuffix(' done')}", "t2"))
        elif self.todo is not None:
            left.append(pen.part(" none", "t3"))
        files = self.files
        if files and files.count:
            left.append(pen.part("   " if is_wide else "  "))
            left.append(pen.part(format_count(files.count, "file"), "t2", intent="diff"))
            counts = self.line_counts or (0, 0)
            changes = format_line_changes(*counts, self.looks.symbols.minus)
            left += [pen.part(f" {words}", role) for words, role in changes]
        right: list[Part] = []
        panes = ("todo", "trace") if is_wide else ("todo",)
        for pane in panes if self.screen.is_active else ():
            right += [pen.part("  ")] if right else []
            right.append(pen.part(key_map_of(self.app).key_of(pane), "t2", bold=True, intent=pane))
            right.append(pen.part(f" {pane}", "t3", intent=pane))
        return [pen.line(width, left, right)]
