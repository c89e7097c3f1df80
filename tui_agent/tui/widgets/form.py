"""The base class of forms: sheets with labelled lines, such as text fields. One line is selected.

Invariant: a fault is shown above the keys, and the line with the fault is selected.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.strip import Strip

from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.question_keys import ResultT
from tui_agent.tui.widgets.rows import Part, Pen, cells, wrap
from tui_agent.tui.widgets.sheet import ChoiceSheet


class Form(ChoiceSheet[ResultT]):
    """A sheet with lines, each with a label and a value. Subclasses name the `lines` and draw them with `line_rows`."""

    label_cells: ClassVar[int] = 12
    """Width of the selection mark and the label, in cells; the values begin after it."""

    fault = ""
    """The fault of a line; empty if there is none."""

    @property
    @abstractmethod
    def lines(self) -> Sequence[str]:
        """The names of the lines, from top to bottom."""

    @abstractmethod
    def line_rows(self, line: str, pen: Pen, width: int) -> list[Strip]:
        """Draw a line of the form, in one or more rows."""

    def gap_before(self, line: str, width: int) -> list[Strip]:
        """Return the empty rows between this line and the line above."""
        return []

    @property
    def count(self) -> int:
        return len(self.lines)

    @property
    def line_name(self) -> str:
        """The name of the selected line."""
        return self.lines[self.chosen]

    def go_to(self, line: str) -> None:
        """Select a line and redraw the form."""
        self.chosen = self.lines.index(line)
        self.redraw()

    def show_fault(self, line: str, text: str) -> None:
        """Show a fault above the keys, and select the line with the fault."""
        self.fault = text
        self.go_to(line)

    def use(self) -> None:
        """Do nothing, because a click on a line only selects the line."""

    def body(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for number, line in enumerate(self.lines):
            rows += self.gap_before(line, width) if rows else []
            if number == self.chosen:
                self.cursor_row = len(rows)
            rows += self.line_rows(line, self.choice_pen(number, "s3"), width)
        return rows

    def label(self, pen: Pen, text: str) -> list[Part]:
        """Return the first parts of a line: the selection mark and the label."""
        role: Role = "t1" if pen.chosen else "t2"
        return [pen.mark, pen.part(text.ljust(self.label_cells - 2), role, bold=pen.chosen)]

    def field_row(self, label: str, field: Field, pen: Pen, width: int, hint: str = "") -> Strip:
        """Draw a text field with its label; `hint` is shown while the field is empty."""
        well = pen._replace(ground="s0")
        room = max(4, width - self.label_cells - 1)
        typed = field.parts(room, well, hint, is_open=pen.chosen)
        rest = well.part(" " * (room + 1 - cells(typed)))
        return pen.line(width, [*self.label(pen, label), *typed, rest])

    def note_rows(self, text: str, width: int) -> list[Strip]:
        """Draw a remark below a value; no row for an empty text."""
        pieces = wrap(clean(text), max(8, width - self.label_cells)) if text else []
        return self.pen.hanging_rows(width, [self.part(" " * self.label_cells)], pieces, self.style("t3"))

    def foot(self, width: int) -> list[Strip]:
        fault = [*self.spacer(width), *self.text_rows(width, self.fault, "warning")] if self.fault else []
        return [*fault, *self.keys_rows(width)]
