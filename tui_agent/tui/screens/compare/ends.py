"""The lower part of the comparison screen: a file that differs, the failing tests, the answers and the tools.

Invariant: no diff and no answer is cut off: long lines wrap, and the rows scroll.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from rich.style import Style
from textual.strip import Strip

from tui_agent.folds.comparison.fold import Comparison, FileDifference
from tui_agent.tui.modals.block_rows import diff_strips
from tui_agent.tui.screens.compare.figures import describe_missing, describe_tools
from tui_agent.tui.screens.compare.head import MARGIN, Columns
from tui_agent.tui.text import clean, clean_line, width
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.widgets.rows import Part, blank_strip, row, wrap


class Ends:
    """Draws the lower part of a comparison: both sessions, or only the session `chosen`."""

    def __init__(self, comparison: Comparison, looks: Looks, columns: Columns, chosen: int) -> None:
        self._comparison = comparison
        self._sides = comparison.left, comparison.right
        self._looks = looks
        self._columns = columns
        self._chosen = chosen
        self.fill = self._style()

    def rows(self, file: int) -> list[Strip]:
        """Draw all rows of the lower part; `file` is the index of the differing file to show."""
        empty = blank_strip(self._columns.width, self.fill)
        answers = self._title("Answers" if self._columns.beside else "Answer")
        return [
            *self._draw_file(file),
            *(empty, answers, *self._draw_sides(self._draw_answer)),
            *(empty, self._title("Tools"), *self._draw_sides(self._draw_tools)),
        ]

    def _style(self, role: Role = "t1", *, bold: bool = False) -> Style:
        return self._looks.palette.style(role, "s0", bold=bold)

    def _title(self, title: str, right: Sequence[Part] = ()) -> Strip:
        left: list[Part] = [(" " * self._columns.labels, self.fill), (title, self._style(bold=True))]
        return row(self._columns.width, left, right, fill=self.fill)

    def _draw_sides(self, draw: Callable[[int], Sequence[Strip]]) -> list[Strip]:
        columns = self._columns
        indent = blank_strip(columns.labels, self.fill)
        if not columns.beside:
            return [self._join(indent, strip) for strip in draw(self._chosen)]
        empty = [blank_strip(self._room(side), self.fill) for side in (0, 1)]
        gap = blank_strip(columns.beside - columns.labels - columns.texts, self.fill)
        return [
            self._join(indent, left or empty[0], gap, right or empty[1])
            for left, right in zip_longest(draw(0), draw(1))
        ]

    def _join(self, *strips: Strip) -> Strip:
        return Strip.join(strips).adjust_cell_length(self._columns.width, self.fill)

    def _room(self, side: int) -> int:
        columns = self._columns
        return columns.width - MARGIN - columns.beside if side and columns.beside else columns.texts

    def _wrap(self, text: str, role: Role, side: int) -> list[Strip]:
        room = self._room(side)
        lines = wrap(clean(text), room)
        return [row(room, [(line, self._style(role))], fill=self.fill, margin=0) for line in lines]

    # -- files -----------------------------------------------------------------------------------------------------

    def _draw_file(self, number: int) -> list[Strip]:
        files, columns = self._comparison.differences, self._columns
        if not files:
            words = " " * columns.labels + "Both sessions end with the same files."
            none = row(columns.width, [(words, self._style("t3"))], fill=self.fill)
            return [self._title("Where they differ"), none]
        file = files[number]
        count = f"{number + 1} of {len(files)}" + (" files" if columns.beside else "")
        room = columns.width - columns.labels - len("Where they differ") - len(count) - 9
        path = self._shorten_path(file.path, room)
        name = [(f"{path}   ", self._style("t2"))] if width(path) <= room else []
        title = self._title("Where they differ", [*name, (count, self._style("t3"))])
        return [
            title,
            *self._draw_sides(lambda side: [*self._draw_diff(file, side), *self._draw_failures(side)]),
        ]

    def _shorten_path(self, path: str, room: int) -> str:
        """Shorten a path at its start, because its end contains the file's name."""
        path, ellipsis = clean_line(path), self._looks.symbols.ellipsis
        while width(path) > max(8, room) and "/" in path.removeprefix(ellipsis + "/"):
            path = f"{ellipsis}/{path.removeprefix(ellipsis + '/').partition('/')[2]}"
        return path

    def _draw_diff(self, file: FileDifference, side: int) -> list[Strip]:
        hunks, note = ((file.left, file.left_note), (file.right, file.right_note))[side]
        if not hunks:
            return self._wrap(note or describe_missing(file, self._sides[side]), "t3", side)
        return diff_strips(file.path, hunks, self._looks, self._room(side))

    # -- tests, answers, tools -------------------------------------------------------------------------------------

    def _draw_failures(self, side: int) -> list[Strip]:
        """Return an empty row and a row for each failing test; an empty list if no test fails."""
        room, failures = self._room(side), self._sides[side].failures
        rows = [blank_strip(room, self.fill)] if failures else []
        for name in failures:
            for number, line in enumerate(wrap(f"{clean_line(name)} fails", room - 2)):
                sign = self._looks.symbols.warning if not number else " "
                parts: list[Part] = [(f"{sign} ", self._style("error", bold=True)), (line, self._style("t2"))]
                rows.append(row(room, parts, fill=self.fill, margin=0))
        return rows

    def _draw_answer(self, side: int) -> list[Strip]:
        text = self._sides[side].answer.strip("\n")
        if not text:
            return self._wrap("No answer.", "t3", side)
        return markdown_strips(text, self._looks, self._room(side), "s0")

    def _draw_tools(self, side: int) -> list[Strip]:
        return self._wrap(describe_tools(self._sides[side]), "t2", side)
