"""Rows of facts: names with values, paragraphs and headings, for details panes and sheets.

Invariant: only cleaned text is drawn, and every row has exactly the requested width.
"""

from collections.abc import Iterable, Sequence

from rich.style import Style
from textual.strip import Strip

from tui_agent.folds.text.line_diff import FileCounts
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import clean, clean_line, fit
from tui_agent.tui.widgets.rows import Part, part, row, wrap


class Facts:
    """Collects rows of facts in `rows`.

    `indent`, `margin`: widths of the left and right edge in cells.
    """

    def __init__(
        self, looks: Looks, width: int, *, ground: Role = "s1", indent: int = 2, margin: int = 1
    ) -> None:
        self.looks, self.width = looks, width
        self._ground, self._indent, self._margin = ground, indent, margin
        self.room = width - indent - margin - 1
        """Width of a paragraph, in cells."""
        self.rows: list[Strip] = []

    def style(self, text: Role = "t1", *, bold: bool = False) -> Style:
        """Return the style for text in the colour role `text`."""
        return self.looks.palette.style(text, self._ground, bold=bold)

    def line(self, parts: Sequence[Part], right: Sequence[Part] = ()) -> None:
        """Add one row with these parts on the left and on the right."""
        left = [(" " * self._indent, self.style()), *parts]
        ellipsis = self.looks.symbols.ellipsis
        self.rows.append(
            row(self.width, left, right, fill=self.style(), margin=self._margin, ellipsis=ellipsis)
        )

    def gap(self) -> None:
        self.line([])

    def text(self, text: str, role: Role = "t1", *, bold: bool = False, max_rows: int = 0) -> None:
        """Add a paragraph, cut off after `max_rows` rows (0: no limit)."""
        lines = wrap(clean(text).strip("\n"), self.room)
        for line in lines[: max_rows or None]:
            self.line([(line, self.style(role, bold=bold))])
        self._count_hidden(len(lines) - (max_rows or len(lines)))

    def add_strips(self, strips: Sequence[Strip], *, max_rows: int = 0) -> None:
        """Add the first `max_rows` strips (0: all strips). Each given strip must be 3 cells narrower than a row."""
        fill = self.style()
        left, right = Strip.blank(2, fill), Strip.blank(1, fill)
        self.rows += [Strip.join([left, strip, right]) for strip in strips[: max_rows or None]]
        self._count_hidden(len(strips) - (max_rows or len(strips)))

    def _count_hidden(self, count: int) -> None:
        if count > 0:
            self.line([(format_count(count, "more line"), self.style("t3"))])

    def section(self, text: str) -> None:
        """Add the heading of a section, after an empty row."""
        self.gap()
        self.line([(text, self.style("t2"))])

    def fact(self, name: str, value: str, role: Role = "t1", *, names: int = 12) -> None:
        """Add a row for `name value` if the value is not empty.

        `names`: width of the name's column in cells.
        """
        if value:
            self.pair(name, value, role, names=names)

    def pair(self, name: str, value: str, role: Role = "t1", *, names: int = 12) -> None:
        """Add the row `name value`. A long value takes several rows.

        `names`: width of the name's column in cells.
        """
        for number, line in enumerate(wrap(clean(value), max(8, self.room - names))):
            label = "" if number else name
            self.line([(label.ljust(names), self.style("t2")), (line, self.style(role))])

    def figures(self, name: str, role: Role, *figures: tuple[str, int, Role]) -> None:
        """Add a table row: a name on the left, and right-aligned figures.

        `figures`: each figure's text, column width in cells, and colour role.
        """
        room = max(12, self.width - sum(cells for _, cells, _ in figures))
        shown = fit(clean_line(name), room - 1, self.looks.symbols.ellipsis).ljust(room)
        columns = [(text.rjust(cells), self.style(text_role)) for text, cells, text_role in figures]
        self.line([(shown, self.style(role)), *columns])

    def line_counts(self, files: Iterable[FileCounts]) -> None:
        """Add a row ` +4 −1 path` for each file, aligned in columns; zeros are left out."""
        files = list(files)
        widest = max((len(str(max(file.added, file.removed))) for file in files), default=0) + 1
        minus = self.looks.symbols.minus
        for file in files:
            added = f"+{file.added}" if file.added else ""
            removed = f"{minus}{file.removed}" if file.removed else ""
            self.line(
                [
                    (added.rjust(widest), self.style("success")),
                    (removed.rjust(widest + 1), self.style("error")),
                    part(f"  {file.path}", self.style()),
                ]
            )
