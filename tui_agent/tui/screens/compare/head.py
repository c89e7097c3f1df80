"""The upper part of a comparison: its header, the names of both sides, the figures with their bars, both timelines.

Invariant: drawn from plain data; it has the same rows whatever the figures are; only what was counted has a bar, and
what one column has never runs into the next.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rich.style import Style
from textual.strip import Strip

from tui_agent.folds.comparison.fold import Comparison
from tui_agent.folds.comparison.side import OutcomeState, Side
from tui_agent.tui.layout import AIRY, LOW, MIDDLE, SIDE, WIDE
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.marks import ROLES, loudest, mark_symbol
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.screens.compare.figures import Cell, Figure, Sums, at_end, at_time, beginning, figures, who
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, blank, cells, cut, doing, part, row
from tui_agent.units import format_line_changes

MARGIN = 2
TINY = 30
"""Below so many columns there is no room for labels."""


class Columns(NamedTuple):
    """Columns of labels and of both sides' figures; `both` False: only the chosen side has one, at `left`.

    `beside` is where the right one of two texts beside each other begins, 0 where they stand below each other.
    """

    width: int
    labels: int
    left: int
    right: int
    beside: int

    @property
    def both(self) -> bool:
        """Whether both sides are shown at once."""
        return self.right > 0

    @property
    def texts(self) -> int:
        """Cells of a text that stands alone, or left of another."""
        return (self.beside or self.width) - MARGIN - self.labels

    def room(self, right: bool) -> int:
        """Cells that a side's figures have."""
        end = self.width if right or not self.both else self.right
        return end - MARGIN - (self.right if right and self.both else self.left)


def columns(width: int) -> Columns:
    """Where things stand at this width."""
    if width >= WIDE:
        return Columns(width, 4, 22, width // 2 + 2, width // 2 + 2)
    if width >= SIDE:
        middle = width // 2 + 2
        return Columns(width, 4, 22, middle, middle)
    if width >= MIDDLE:
        left = 14
        return Columns(width, 2, left, left + (width - left) // 2, 0)
    return Columns(width, 2, 14, 0, 0) if width >= TINY else Columns(width, 0, 2, 0, 0)


def across(
    width: int, pieces: Iterable[tuple[int, int, Sequence[Part]]], fill: Style, ellipsis: str
) -> Strip:
    """One row of pieces: each from its column on, cut at its room."""
    parts: list[Part] = []
    at = 0
    for column, room, piece in pieces:
        parts += [(" " * (column - at), fill), *cut(piece, room, ellipsis)]
        at = max(at, column) + min(cells(piece), room)
    return row(width, parts, fill=fill)


SIDES: Final[tuple[Role, Role]] = ("accent", "number")
"""The colour of each side; the names and the places of the columns say the same without it."""
NUMBERS: Final = 13
"""Cells of a figure in front of its bar."""
NOTES: Final = 14
LEAST_BAR, LONGEST = 6, 30
_STATES: Final[dict[OutcomeState, Role]] = {
    "done": "success",
    "failed": "error",
    "denied": "warning",
    "stopped": "warning",
    "open": "accent",
    "none": "t3",
}
_SHORT: Final = {"Tokens in / out": "Tokens"}


class Moment(NamedTuple):
    """Where the head stands on both lines; None is the end of both. `said` tells speed and time."""

    ms: float | None = None
    playing: bool = False
    said: str = ""


class CompareHead(LinePane):
    """What stands above the files and answers. `chosen` is the side that K keeps: 0 left, 1 right."""

    surface = "s0"
    compared: Comparison | None = None
    chosen: int = 0
    moment: Moment = Moment()
    said: str = ""
    """In place of everything, while there is nothing to compare yet."""

    def set_state(self, compared: Comparison | None, chosen: int, moment: Moment) -> None:
        """Show these."""
        self.compared, self.chosen, self.moment = compared, chosen, moment
        self.show()

    def rows_for(self, height: int) -> int:
        """How many rows it takes on a terminal of this height."""
        if height < LOW:
            return 9
        changes = self.compared is not None and any(one.change_text for one in self.sides)
        return 11 + changes + (5 if height >= AIRY else 0)

    @property
    def sides(self) -> tuple[Side, Side]:
        """Left and right."""
        assert self.compared is not None
        return self.compared.left, self.compared.right

    def draw(self, width: int, height: int) -> list[Strip]:
        place = columns(width)
        if self.compared is None:
            said = part(self.said, self.style("t2"))
            return [blank(width, self.style()), self._across(place, [(place.labels, width, [said])])]
        empty = [blank(width, self.style())] if self.app.size.height >= AIRY else []
        now = self._now()
        title, band = self._title(place), self._band(place)
        low = self.app.size.height < LOW
        rows = [band[0]] if low else [*empty, title, *empty, *band, *empty]
        rows.append(self._outcome(place))
        rows += [self._figure(one, place) for one in figures(*self.sides, now)]
        return [*rows, *empty, self._timeline(place), *empty]

    def _now(self) -> tuple[Sums, Sums]:
        at = self.moment.ms
        left, right = self.sides
        return (at_end(left), at_end(right)) if at is None else (at_time(left, at), at_time(right, at))

    def _across(self, place: Columns, pieces: Sequence[tuple[int, int, Sequence[Part]]]) -> Strip:
        return across(place.width, pieces, self.style(), self.looks.symbols.ellipsis)

    def _shown(self, place: Columns) -> list[tuple[int, int, int]]:
        """The sides that have a column, each with where it begins and its room."""
        if not place.both:
            return [(self.chosen, place.left, place.room(False))]
        return [(0, place.left, place.room(False)), (1, place.right, place.room(True))]

    # -- whose the columns are -------------------------------------------------------------------------------------

    def _title(self, place: Columns) -> Strip:
        symbols = self.looks.symbols
        left: list[Part] = [(" " * place.labels, self.style()), ("What if", self.style(bold=True))]
        if self.moment.said:
            mark = symbols.folded if self.moment.playing else symbols.stopped
            role: Role = "accent" if self.moment.playing else "t2"
            right = [(f"{mark} ", self.style(role)), part(self.moment.said, self.style(role))]
        else:
            ours, theirs = beginning(self.compared.fork_point if self.compared else None)
            room = place.width - cells(left) - 2 * 2 - 2
            words = clean_line(theirs)
            right = [part(ours, self.style("t2"))]
            if words:
                shown = cut([(words.strip('"'), self.style())], room - len(ours) - 2, symbols.ellipsis)
                right += [('"', self.style()), *shown, ('"', self.style())]
            right = right if cells(right) <= room else cut(right, room, symbols.ellipsis)
        return row(place.width, left, right, fill=self.style())

    def _band(self, place: Columns) -> list[Strip]:
        palette, symbols = self.looks.palette, self.looks.symbols
        fill = palette.rich("t1", "s1")
        names: list[tuple[int, int, Sequence[Part]]] = []
        models: list[tuple[int, int, Sequence[Part]]] = []
        changes: list[tuple[int, int, Sequence[Part]]] = []
        whole = all(cells(self._who(self.sides[at])) <= room for at, _, room in self._shown(place))
        for at, column, wide in self._shown(place):
            side, room = self.sides[at], wide - 2 * (place.both and at == 0)
            bar = (symbols.bar, palette.rich(SIDES[at], "s1"))
            mark = self._mark(at, place)
            name = cut(
                [part(side.name, doing(palette.rich("t1", "s1", bold=True), f"side {at}"))],
                room - len(mark) - 2,
                symbols.ellipsis,
            )
            gap = " " * max(2, room - cells(name) - len(mark))
            names.append(
                (
                    column - 2,
                    room + 2,
                    [bar, (" ", fill), *name, (gap, fill), (mark, palette.rich("t3", "s1"))],
                )
            )
            models.append((column, room, self._who(side) if whole else self._who(side)[:1]))
            changes.append((column, room, [part(side.change_text, palette.rich("t1", "s1"))]))
        rows = [names, models, *([changes] if any(one.change_text for one in self.sides) else [])]
        return [across(place.width, pieces, fill, symbols.ellipsis) for pieces in rows]

    def _mark(self, at: int, place: Columns) -> str:
        """What says which side is the chosen one."""
        if not place.both:
            return f"{at + 1} of 2" if place.width >= TINY else ""
        return "this branch" if at == self.chosen else ""

    def _who(self, side: Side) -> list[Part]:
        """Model and effort, then the policy; what the fork changed of them stands out."""
        palette = self.looks.palette
        loud, quiet = palette.rich("t1", "s1"), palette.rich("t2", "s1")
        model, comma, rest = who(side).partition(",")
        new = "model" in side.changed or "reasoning_effort" in side.changed
        return [part(model, loud if new else quiet), (comma, quiet), part(rest, quiet)]

    # -- figures ---------------------------------------------------------------------------------------------------

    def _outcome(self, place: Columns) -> Strip:
        symbols = self.looks.symbols
        pieces = [self._label("Outcome", place)]
        for at, column, room in self._shown(place):
            side = self.sides[at]
            runs = self.moment.ms is not None and self.moment.ms < side.duration_ms
            state: OutcomeState = "open" if runs else side.outcome.state
            words = "running" if runs else side.outcome.label
            signs = {
                "done": symbols.done,
                "failed": symbols.failed,
                "open": symbols.running,
                "none": symbols.queued,
            }
            sign = signs.get(state, symbols.stopped)
            pieces.append(
                (column, room, [(f"{sign} ", self.style(_STATES[state])), part(words, self.style())])
            )
        return self._across(place, pieces)

    def _label(self, label: str, place: Columns) -> tuple[int, int, Sequence[Part]]:
        said = label if place.width >= SIDE else _SHORT.get(label, label)
        room = place.left - place.labels - 1
        return place.labels, room, [(said, self.style("t2"))] if len(said) <= room else []

    def _figure(self, figure: Figure, place: Columns) -> Strip:
        pieces = [self._label(figure.label, place)]
        shown = self._shown(place)
        # The bars of both sides have one scale, or they would say nothing.
        bars = min(LONGEST, *(room - NUMBERS - NOTES for _, _, room in shown))
        for at, column, room in shown:
            cell = (figure.left, figure.right)[at]
            pieces.append((column, room, self._cell(cell, figure.most, bars)))
        return self._across(place, pieces)

    def _cell(self, cell: Cell, most: float, bars: int) -> list[Part]:
        if not most:
            return self._plain(cell)
        text = cell.text.ljust(NUMBERS)
        if bars < LEAST_BAR:
            noted = [("  ", self.style()), (cell.note, self.style("t2"))] if cell.note else []
            return [(cell.text, self.style()), *noted]
        bar = self.looks.symbols.meter_full * (max(1, round(cell.amount / most * bars)) if cell.amount else 0)
        gap = "   " if bar and cell.note else ""
        return [
            (text, self.style()),
            (bar, self.style("border-strong")),
            (gap, self.style()),
            (cell.note, self.style("t2")),
        ]

    def _plain(self, cell: Cell) -> list[Part]:
        said, _, rest = cell.text.partition(", ")
        parts: list[Part] = [(said, self.style())]
        if rest:
            parts.append((f", {rest}", self.style("t2")))
        changed = format_line_changes(cell.added, cell.removed, self.looks.symbols.minus)
        for number, (words, role) in enumerate(changed):
            parts += [(" " if number else "   ", self.style()), (words, self.style(role))]
        return parts

    # -- lines of time ---------------------------------------------------------------------------------------------

    def _timeline(self, place: Columns) -> Strip:
        shown = self._shown(place)
        # One scale for both: a cell stands for as many seconds on the left as on the right.
        rooms = [room for _, _, room in shown] if place.both else [shown[0][2]] * 2
        scale = min(room / max(1.0, one.duration_ms) for room, one in zip(rooms, self.sides, strict=True))
        pieces = [self._label("Timeline", place)]
        pieces += [(column, room, self._line(at, scale, room)) for at, column, room in shown]
        return self._across(place, pieces)

    def _line(self, at: int, scale: float, room: int) -> list[Part]:
        side, symbols = self.sides[at], self.looks.symbols
        if not side.timeline:
            return [("nothing came after", self.style("t3"))]
        length = max(1, min(room, round(side.duration_ms * scale)))

        def column(ms: float) -> int:
            return max(0, min(length - 1, int(ms * scale)))

        marks = loudest((column(one.at_ms), one.kind) for one in side.timeline if one.kind in ROLES)
        ms = self.moment.ms
        head = length if ms is None or ms > side.duration_ms else column(ms)
        lit, rest = self.style(SIDES[at]), self.style("border-strong")
        parts: list[Part] = []
        for x in range(length):
            if x == head:
                parts.append((symbols.running, lit))
            elif x in marks:
                parts.append((mark_symbol(marks[x], symbols), self.style(ROLES[marks[x]])))
            else:
                parts.append((symbols.meter_full, lit) if x < head else (symbols.meter_rest, rest))
        return parts


class CompareHeader(Header):
    """Names the session that is compared, and no policy: nothing can happen here."""

    compared: Comparison | None = None
    opened: str = ""
    """The title of the open session, while nothing else is known."""

    def set_comparison(self, compared: Comparison) -> None:
        """What is compared is known."""
        self.compared = compared
        self.set_status(StatusView("stopped", "compare", self.title))
        self.show()

    @property
    def title(self) -> str:
        """What both are called; two names where they are strangers."""
        if self.compared is None:
            return clean_line(self.opened) or super().title
        left, right = self.compared.left, self.compared.right
        names = dict.fromkeys(clean_line(one.title or one.session) for one in (left, right))
        return " and ".join(names)

    def _right(self, width: int) -> list[Part]:
        parts: list[Part] = [(" COMPARE ", self.looks.palette.rich("on-accent", "accent", bold=True))]
        if width >= 70:
            parts += [("   ", self.style()), ("read only", self.style("t2"))]
        if self.compared is not None and width >= 50:
            what = "branches" if self.compared.fork_point is not None else "sessions"
            parts += [("   ", self.style()), (f"2 {what}", self.style())]
        return parts
