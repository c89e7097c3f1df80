"""Rows of facts: names with values, paragraphs and headings, for the detail pane of a page and for sheets.

Invariant: no text is drawn that was not cleaned; every row is as wide as it was asked to be.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import clean
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, part, row, wrap


@dataclass(frozen=True, slots=True)
class FileCounts:
    """The lines that were added to a file and removed from it."""

    path: str
    added: int = 0
    removed: int = 0


class Facts:
    """Collects `rows`. `indent` and `margin` are the empty cells at the left and right edge."""

    def __init__(
        self, looks: Looks, width: int, *, ground: Role = "s1", indent: int = 2, margin: int = 1
    ) -> None:
        self.looks, self.width = looks, width
        self._ground, self._indent, self._margin = ground, indent, margin
        self.room = width - indent - margin - 1
        """Cells of a paragraph."""
        self.rows: list[Strip] = []

    def style(self, text: Role = "t1", *, bold: bool = False) -> Style:
        """Return a style on the ground."""
        return self.looks.palette.rich(text, self._ground, bold=bold)

    def line(self, parts: Sequence[Part], right: Sequence[Part] = ()) -> None:
        """Add one row."""
        left = [(" " * self._indent, self.style()), *parts]
        ellipsis = self.looks.symbols.ellipsis
        self.rows.append(
            row(self.width, left, right, fill=self.style(), margin=self._margin, ellipsis=ellipsis)
        )

    def gap(self) -> None:
        """Add an empty row."""
        self.line([])

    def text(self, text: str, role: Role = "t1", *, bold: bool = False, most: int = 0) -> None:
        """Add a paragraph; of a longer one than `most` rows only the beginning."""
        lines = wrap(clean(text).strip("\n"), self.room)
        for line in lines[: most or None]:
            self.line([(line, self.style(role, bold=bold))])
        self._count_hidden(len(lines) - (most or len(lines)))

    def add_strips(self, strips: Sequence[Strip], *, most: int = 0) -> None:
        """Add rows that were drawn for three cells less; of more than `most` only the first."""
        fill = self.style()
        left, right = Strip.blank(2, fill), Strip.blank(1, fill)
        self.rows += [Strip.join([left, strip, right]) for strip in strips[: most or None]]
        self._count_hidden(len(strips) - (most or len(strips)))

    def _count_hidden(self, count: int) -> None:
        if count > 0:
            self.line([(format_count(count, "more line"), self.style("t3"))])

    def section(self, text: str) -> None:
        """Add a group's name, after an empty row."""
        self.gap()
        self.line([(text, self.style("t2"))])

    def fact(self, name: str, value: str, role: Role = "t1", *, names: int = 12) -> None:
        """Add `name   value` unless the value is empty. The name takes `names` cells."""
        if value:
            self.pair(name, value, role, names=names)

    def pair(self, name: str, value: str, role: Role = "t1", *, names: int = 12) -> None:
        """Add `name   value`, the value wrapped."""
        for number, line in enumerate(wrap(clean(value), max(8, self.room - names))):
            label = "" if number else name
            self.line([(label.ljust(names), self.style("t2")), (line, self.style(role))])

    def line_counts(self, files: Iterable[FileCounts]) -> None:
        """Add a row ` +4 −1  path` for each file, in columns."""
        files = list(files)
        widest = max((len(str(max(file.added, file.removed))) for file in files), default=0) + 1
        quiet, minus = self.style("t3"), self.looks.symbols.minus
        for file in files:
            added, removed = f"+{file.added}".rjust(widest), f" {minus}{file.removed}".rjust(widest + 1)
            self.line(
                [
                    (added, self.style("success") if file.added else quiet),
                    (removed, self.style("error") if file.removed else quiet),
                    part(f"  {file.path}", self.style()),
                ]
            )
