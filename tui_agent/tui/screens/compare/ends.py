"""The lower part of a comparison: one file that ends otherwise, the tests that fail, the answers and the tools.

Invariant: nothing of a diff or an answer is cut off: it wraps, and the rows scroll.
"""

from collections.abc import Sequence
from itertools import zip_longest

from rich.style import Style
from textual.strip import Strip

from tui_agent.folds.comparison.fold import Comparison, FileDifference
from tui_agent.tui.modals.block_rows import diff_strips
from tui_agent.tui.screens.compare.figures import missing, tools
from tui_agent.tui.screens.compare.head import MARGIN, Columns
from tui_agent.tui.text import clean, clean_line, width
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.widgets.rows import Part, blank, row, wrap


class Ends:
    """Draws the rows for one place of the columns. `chosen` is the side that stands alone where only one has room."""

    def __init__(self, compared: Comparison, looks: Looks, place: Columns, chosen: int) -> None:
        self._compared = compared
        self._sides = compared.left, compared.right
        self._looks = looks
        self._place = place
        self._chosen = chosen
        self.fill = self._style()

    def rows(self, file: int) -> list[Strip]:
        """Everything, with this file of those that differ."""
        empty = [blank(self._place.width, self.fill)]
        return [*self._file(file), *empty, *self._answers(), *empty, *self._tools()]

    def _style(self, role: Role = "t1", *, bold: bool = False) -> Style:
        return self._looks.palette.rich(role, "s0", bold=bold)

    def _title(self, title: str, right: Sequence[Part] = ()) -> Strip:
        left: list[Part] = [(" " * self._place.labels, self.fill), (title, self._style(bold=True))]
        return row(self._place.width, left, right, fill=self.fill)

    def _beside(self, drawn: Sequence[Sequence[Strip]]) -> list[Strip]:
        """The rows of both sides beside each other, or those of the chosen one."""
        place = self._place
        ahead = blank(place.labels, self.fill)
        if not place.beside:
            return [_joined([ahead, one], place.width, self.fill) for one in drawn[self._chosen]]
        wide = (place.texts, place.width - MARGIN - place.beside)
        holes = [blank(each, self.fill) for each in wide]
        gap = blank(place.beside - place.labels - place.texts, self.fill)
        return [
            _joined([ahead, left or holes[0], gap, right or holes[1]], place.width, self.fill)
            for left, right in zip_longest(*drawn)
        ]

    def _wide(self, at: int) -> int:
        place = self._place
        return place.width - MARGIN - place.beside if at and place.beside else place.texts

    def _lines(self, text: str, role: Role, at: int) -> list[Strip]:
        wide = self._wide(at)
        return [
            row(wide, [(line, self._style(role))], fill=self.fill, margin=0)
            for line in wrap(clean(text), wide)
        ]

    # -- files -----------------------------------------------------------------------------------------------------

    def _file(self, file: int) -> list[Strip]:
        differ = self._compared.differences
        if not differ:
            said = "No file ends otherwise."
            ahead = " " * self._place.labels
            return [
                self._title("Where they differ"),
                row(self._place.width, [(ahead + said, self._style("t3"))], fill=self.fill),
            ]
        one = differ[file]
        count = f"{file + 1} of {len(differ)}" + (" files" if self._place.beside else "")
        room = self._place.width - self._place.labels - len("Where they differ") - len(count) - 9
        path = self._tail(one.path, room)
        named = [(f"{path}   ", self._style("t2"))] if width(path) <= room else []
        title = self._title("Where they differ", [*named, (count, self._style("t3"))])
        return [title, *self._beside([[*self._diff(one, at), *self._failing(at)] for at in (0, 1)])]

    def _tail(self, path: str, room: int) -> str:
        """The end of a path, which names the file."""
        path, ellipsis = clean_line(path), self._looks.symbols.ellipsis
        while width(path) > max(8, room) and "/" in path.removeprefix(ellipsis + "/"):
            path = f"{ellipsis}/{path.removeprefix(ellipsis + '/').partition('/')[2]}"
        return path

    def _diff(self, one: FileDifference, at: int) -> list[Strip]:
        hunks, note = ((one.left, one.left_note), (one.right, one.right_note))[at]
        if not hunks:
            return self._lines(note or missing(one, self._sides[at]), "t3", at)
        return diff_strips(one.path, hunks, "", self._looks, self._wide(at))

    # -- tests, answers, tools -------------------------------------------------------------------------------------

    def _failing(self, at: int) -> list[Strip]:
        """The tests that fail at the end of a branch."""
        wide = self._wide(at)
        found = [blank(wide, self.fill)] if self._sides[at].failures else []
        for name in self._sides[at].failures:
            for number, line in enumerate(wrap(f"{clean_line(name)} fails", wide - 2)):
                sign = self._looks.symbols.warning if not number else " "
                parts: list[Part] = [(f"{sign} ", self._style("error", bold=True)), (line, self._style("t2"))]
                found.append(row(wide, parts, fill=self.fill, margin=0))
        return found

    def _answers(self) -> list[Strip]:
        return [
            self._title("Answers" if self._place.beside else "Answer"),
            *self._beside([self._answer(at) for at in (0, 1)]),
        ]

    def _answer(self, at: int) -> list[Strip]:
        text = self._sides[at].answer.strip("\n")
        if not text:
            return self._lines("No answer.", "t3", at)
        return markdown_strips(text, self._looks, self._wide(at), "s0")

    def _tools(self) -> list[Strip]:
        return [
            self._title("Tools"),
            *self._beside([self._lines(tools(self._sides[at]), "t2", at) for at in (0, 1)]),
        ]


def _joined(strips: Sequence[Strip], cells_wide: int, fill: Style) -> Strip:
    return Strip.join(strips).adjust_cell_length(cells_wide, fill)
