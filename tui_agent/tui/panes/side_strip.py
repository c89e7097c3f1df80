"""The one-line strip shown in place of the side panes on a narrow screen."""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, doing, part, row
from tui_agent.units import format_line_changes

if TYPE_CHECKING:
    from tui_agent.folds.session.changed_files import FilesChangedView
    from tui_agent.folds.session.todo import TodoView


class PaneStrip(LinePane):
    """One row: tasks and files on the left, the keys of the panes on the right."""

    surface = "s1"
    todo: "TodoView | None" = None
    files: "FilesChangedView | None" = None

    def set_views(self, todo: "TodoView", files: "FilesChangedView") -> None:
        """Show these views."""
        self.todo, self.files = todo, files
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        is_wide = self.shape.width >= 70
        left: list[Part] = [("  ", self.style()), ("Todo", doing(self.style(bold=True), "todo"))]
        items = self.todo.items if self.todo else ()
        if self.todo is not None and items:
            at = self.todo.done if self.todo.current is None else self.todo.current + 1
            done = " done" if is_wide and self.todo.current is None else ""
            left.append((f" {at}/{len(items)}{done}", doing(self.style("t2"), "todo")))
        else:
            left.append((" none", self.style("t3")))
        if self.files and self.files.files:
            left += [
                ("   " if is_wide else "  ", self.style()),
                part(format_count(len(self.files.files), "file"), doing(self.style("t2"), "diff")),
            ]
            for words, role in format_line_changes(
                self.files.added, self.files.removed, self.looks.symbols.minus
            ):
                left.append((f" {words}", self.style(role)))
        names, key_map = ("todo", "trace") if is_wide else ("todo",), key_map_of(self.app)
        right: list[Part] = []
        for word in names:
            right += [("  ", self.style())] if right else []
            right += [
                (key_map.key_of(word), doing(self.style("t2", bold=True), word)),
                (f" {word}", doing(self.style("t3"), word)),
            ]
        return [row(width, left, right, fill=self.style())]
