"""The one-line strip shown in place of the side panes on a narrow screen."""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part
from tui_agent.units import format_line_changes

if TYPE_CHECKING:
    from tui_agent.folds.session.changed_files import FilesChangedView
    from tui_agent.folds.session.todo import TodoView


class PaneStrip(LinePane):
    """Row in place of the side panes: todos and changed files on the left, keys that open the panes on the right."""

    surface = "s1"
    todo: "TodoView | None" = None
    files: "FilesChangedView | None" = None

    def set_views(self, todo: "TodoView", files: "FilesChangedView") -> None:
        """Show the numbers of todos and of changed files."""
        self.todo, self.files = todo, files
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        pen, is_wide = self.pen, self.shape.width >= 70
        todo = pen._replace(intent="todo")
        left = [pen.part("  "), todo.part("Todo", bold=True)]
        items = self.todo.items if self.todo else ()
        if self.todo is not None and items:
            number = self.todo.done if self.todo.current is None else self.todo.current + 1
            done = " done" if is_wide and self.todo.current is None else ""
            left.append(todo.part(f" {number}/{len(items)}{done}", "t2"))
        else:
            left.append(pen.part(" none", "t3"))
        files = self.files
        if files and files.files:
            left.append(pen.part("   " if is_wide else "  "))
            left.append(pen.part(format_count(len(files.files), "file"), "t2", intent="diff"))
            changes = format_line_changes(files.added, files.removed, self.looks.symbols.minus)
            left += [pen.part(f" {words}", role) for words, role in changes]
        right: list[Part] = []
        for pane in ("todo", "trace") if is_wide else ("todo",):
            right += [pen.part("  ")] if right else []
            right.append(pen.part(key_map_of(self.app).key_of(pane), "t2", bold=True, intent=pane))
            right.append(pen.part(f" {pane}", "t3", intent=pane))
        return [pen.line(width, left, right)]
