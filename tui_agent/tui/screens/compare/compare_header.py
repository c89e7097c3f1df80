"""The upper part of the comparison screen: header, names of both sessions, figures with bars, and both timelines.

Invariant: every figure has a row, even if it is 0.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from rich.style import Style
from textual.strip import Strip

from tui_agent.folds.comparison.compared_branch import OutcomeState, Side
from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.status_line import StatusView
from tui_agent.tui.panes.timeline_marks import ROLES, mark_symbol, most_important
from tui_agent.tui.screen_layout import AIRY, LOW, MIDDLE, SIDE
from tui_agent.tui.screens.compare.figures import (
    Cell,
    build_figures,
    describe_fork_point,
    describe_model,
    final_sums,
    sums_at,
)
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, blank_strip, cells, cut_parts, part, row, state_mark, with_intent
from tui_agent.units import format_line_changes

MARGIN = 2
TINY = 30
"""On screens narrower than this, in cells, there is no room for labels."""


class CompareColumns(NamedTuple):
    """The columns of the comparison, in cells.

    - `labels`: the column where the labels begin
    - `left`, `right`: the columns where the sessions' values begin; `right` is 0 if only one session is visible
    - `second_column`: the column for a second text in the same row; 0 if the second text goes in the next row
    """

    width: int
    labels: int
    left: int
    right: int
    second_column: int

    @property
    def both(self) -> bool:
        """True if both compared sessions are shown at once."""
        return self.right > 0

    @property
    def texts(self) -> int:
        """The width in cells of the first text in a row. If `second_column` is 0, the row has no other text."""
        return (self.second_column or self.width) - MARGIN - self.labels

    def room(self, right: bool) -> int:
        """Return the width in cells of the numbers in the right or left column."""
        end = self.width if right or not self.both else self.right
        return end - MARGIN - (self.right if right and self.both else self.left)


def columns_for(width: int) -> CompareColumns:
    """Return the columns for a screen of this width in cells."""
    middle = width // 2 + 2
    if width >= SIDE:
        return CompareColumns(width, 4, 22, middle, middle)
    if width >= MIDDLE:
        return CompareColumns(width, 2, 14, 14 + (width - 14) // 2, 0)
    return CompareColumns(width, 2, 14, 0, 0) if width >= TINY else CompareColumns(width, 0, 2, 0, 0)


Piece: TypeAlias = tuple[int, int, Sequence[Part]]
"""A piece of a row: its first column, its width in cells, and its parts."""


def join_pieces(width: int, pieces: Iterable[Piece], fill: Style, ellipsis: str) -> Strip:
    """Return one row with these pieces, each cut to its width."""
    parts: list[Part] = []
    end = 0
    for column, room, piece in pieces:
        parts += [(" " * (column - end), fill), *cut_parts(piece, room, ellipsis)]
        end = max(end, column) + min(cells(piece), room)
    return row(width, parts, fill=fill)


SIDE_ROLES: Final[tuple[Role, Role]] = ("accent", "number")
"""The colour roles of the left and the right session."""
FIGURE_CELLS: Final = 13
"""Width in cells of a figure that is followed by a bar."""
NOTE_CELLS: Final = 14
MIN_BAR, MAX_BAR = 6, 30
_SHORT: Final = {"Tokens in / out": "Tokens"}


class Moment(NamedTuple):
    """The playhead's place on both timelines.

    - `ms`: time since the fork point in milliseconds; None at the end of the timelines
    - `text`: the speed and the time
    """

    ms: float | None = None
    playing: bool = False
    text: str = ""


class CompareHead(LinePane):
    """The rows above the files and answers of a comparison.

    `chosen`: the branch to keep: 0 left, 1 right.
    """

    comparison: Comparison | None = None
    chosen: int = 0
    moment: Moment = Moment()

    def set_state(self, comparison: Comparison | None, chosen: int, moment: Moment) -> None:
        """Show the comparison, with `chosen` as the branch to keep and the numbers at `moment`."""
        self.comparison, self.chosen, self.moment = comparison, chosen, moment
        self.show()

    def rows_for(self, height: int) -> int:
        """Return the height of this part of the screen in a terminal of `height` rows."""
        if self.comparison is None:
            return 2
        return 9 if height < LOW else 11 + self._has_changes + (5 if height >= AIRY else 0)

    @property
    def sides(self) -> tuple[Side, Side]:
        assert self.comparison is not None
        return self.comparison.left, self.comparison.right

    @property
    def _has_changes(self) -> bool:
        return any(side.change_text for side in self.sides)

    def draw(self, width: int, height: int) -> list[Strip]:
        columns = columns_for(width)
        empty = blank_strip(width, self.style())
        if self.comparison is None:
            words = (" " * columns.labels + "reading both …", self.style("t2"))
            return [empty, row(width, [words], fill=self.style())]
        gap = [empty] if self.app.size.height >= AIRY else []
        band = self._draw_band(columns)
        is_low = self.app.size.height < LOW
        rows = band[:1] if is_low else [*gap, self._draw_title(columns), *gap, *band, *gap]
        rows.append(self._draw_sides("Outcome", columns, [self._draw_outcome(side) for side in self.sides]))
        rows += self._draw_figures(columns)
        return [*rows, *gap, self._draw_timelines(columns), *gap]

    def _visible_sides(self, columns: CompareColumns) -> list[tuple[int, int, int]]:
        """Return (side, first column, width) of each visible side; side 0 is the left session, 1 the right one."""
        if not columns.both:
            return [(self.chosen, columns.left, columns.room(False))]
        return [(0, columns.left, columns.room(False)), (1, columns.right, columns.room(True))]

    def _draw_sides(self, label: str, columns: CompareColumns, parts: Sequence[Sequence[Part]]) -> Strip:
        label = label if columns.width >= SIDE else _SHORT.get(label, label)
        room = columns.left - columns.labels - 1
        pieces: list[Piece] = [
            (columns.labels, room, [(label, self.style("t2"))] if len(label) <= room else [])
        ]
        pieces += [(column, room, parts[side]) for side, column, room in self._visible_sides(columns)]
        return join_pieces(columns.width, pieces, self.style(), self.looks.symbols.ellipsis)

    # -- names -----------------------------------------------------------------------------------------------------

    def _draw_title(self, columns: CompareColumns) -> Strip:
        symbols = self.looks.symbols
        left: list[Part] = [(" " * columns.labels, self.style()), ("What if", self.style(bold=True))]
        if self.moment.text:
            mark = symbols.folded if self.moment.playing else symbols.stopped
            role: Role = "accent" if self.moment.playing else "t2"
            right = [part(f"{mark} {self.moment.text}", self.style(role))]
        else:
            words, quotation = describe_fork_point(self.comparison.fork_point if self.comparison else None)
            quotation = clean_line(quotation).strip('"')
            room = columns.width - cells(left) - 2 * 2 - 2
            right = [part(words, self.style("t2"))]
            if quotation:
                shown = cut_parts([(quotation, self.style())], room - len(words) - 2, symbols.ellipsis)
                right += [('"', self.style()), *shown, ('"', self.style())]
            if cells(right) > room:
                right = cut_parts(right, room, symbols.ellipsis)
        return row(columns.width, left, right, fill=self.style())

    def _draw_band(self, columns: CompareColumns) -> list[Strip]:
        rich, ellipsis = self.looks.palette.style, self.looks.symbols.ellipsis
        fill = rich("t1", "s1")
        names: list[Piece] = []
        models: list[Piece] = []
        changes: list[Piece] = []
        shown = self._visible_sides(columns)
        has_room = all(cells(self._model_parts(self.sides[number])) <= room for number, _, room in shown)
        for number, column, wide in shown:
            side, room = self.sides[number], wide - 2 * (columns.both and number == 0)
            mark = self._mark(number, columns)
            title = part(side.name, with_intent(rich("t1", "s1", bold=True), f"side {number}"))
            name = cut_parts([title], room - len(mark) - 2, ellipsis)
            gap = " " * max(2, room - cells(name) - len(mark))
            bar = (self.looks.symbols.bar, rich(SIDE_ROLES[number], "s1"))
            parts = [bar, (" ", fill), *name, (gap, fill), (mark, rich("t3", "s1"))]
            names.append((column - 2, room + 2, parts))
            models.append((column, room, self._model_parts(side)[: None if has_room else 1]))
            changes.append((column, room, [part(side.change_text, fill)]))
        rows = [names, models, *([changes] if self._has_changes else [])]
        return [join_pieces(columns.width, pieces, fill, ellipsis) for pieces in rows]

    def _mark(self, side: int, columns: CompareColumns) -> str:
        if not columns.both:
            return f"{side + 1} of 2" if columns.width >= TINY else ""
        return "this branch" if side == self.chosen else ""

    def _model_parts(self, side: Side) -> list[Part]:
        """Return the model, effort and policy of a session. Emphasise model and effort if the fork changed either."""
        rich = self.looks.palette.style
        model, comma, rest = describe_model(side).partition(",")
        is_changed = "model" in side.changed or "reasoning_effort" in side.changed
        quiet = rich("t2", "s1")
        return [part(model, rich("t1", "s1") if is_changed else quiet), (comma, quiet), part(rest, quiet)]

    # -- figures ---------------------------------------------------------------------------------------------------

    def _draw_outcome(self, side: Side) -> list[Part]:
        is_running = self.moment.ms is not None and self.moment.ms < side.duration_ms
        state: OutcomeState = "open" if is_running else side.outcome.state
        symbol, role = state_mark(state, self.looks.symbols)
        return [
            (f"{symbol} ", self.style(role)),
            part("running" if is_running else side.outcome.label, self.style()),
        ]

    def _draw_figures(self, columns: CompareColumns) -> list[Strip]:
        left, right = self.sides
        ms = self.moment.ms
        now = (final_sums(left), final_sums(right)) if ms is None else (sums_at(left, ms), sums_at(right, ms))
        # The bars of both sides have one scale, so that they can be compared.
        bars = min(
            MAX_BAR, *(room - FIGURE_CELLS - NOTE_CELLS for _, _, room in self._visible_sides(columns))
        )
        rows = []
        for figure in build_figures(left, right, now):
            drawn = [self._draw_cell(cell, figure.full_amount, bars) for cell in (figure.left, figure.right)]
            rows.append(self._draw_sides(figure.label, columns, drawn))
        return rows

    def _draw_cell(self, cell: Cell, full_amount: float, bars: int) -> list[Part]:
        plain, quiet = self.style(), self.style("t2")
        if not full_amount:
            return self._draw_plain_cell(cell)
        if bars < MIN_BAR:
            return [(cell.text, plain), (f"  {cell.note}" if cell.note else "", quiet)]
        length = max(1, round(cell.amount / full_amount * bars)) if cell.amount else 0
        gap = "   " if length and cell.note else ""
        return [
            (cell.text.ljust(FIGURE_CELLS), plain),
            (self.looks.symbols.meter_full * length, self.style("border-strong")),
            (gap + cell.note, quiet),
        ]

    def _draw_plain_cell(self, cell: Cell) -> list[Part]:
        text, comma, rest = cell.text.partition(", ")
        parts: list[Part] = [(text, self.style()), (comma + rest, self.style("t2"))]
        changes = format_line_changes(cell.added, cell.removed, self.looks.symbols.minus)
        for number, (words, role) in enumerate(changes):
            parts.append(((" " if number else "   ") + words, self.style(role)))
        return parts

    # -- time ------------------------------------------------------------------------------------------------------

    def _draw_timelines(self, columns: CompareColumns) -> Strip:
        rooms = [room for _, _, room in self._visible_sides(columns)]
        rooms = rooms if columns.both else rooms * 2
        # One scale for both: a cell is the same number of seconds on the left as on the right.
        scale = min(room / max(1.0, side.duration_ms) for room, side in zip(rooms, self.sides, strict=True))
        drawn = [self._draw_timeline(number, scale, room) for number, room in enumerate(rooms)]
        return self._draw_sides("Timeline", columns, drawn)

    def _draw_timeline(self, number: int, scale: float, room: int) -> list[Part]:
        side, symbols = self.sides[number], self.looks.symbols
        if not side.timeline:
            return [("no events after the fork", self.style("t3"))]
        length = max(1, min(room, round(side.duration_ms * scale)))

        def column(ms: float) -> int:
            return max(0, min(length - 1, int(ms * scale)))

        marks = most_important(
            (column(beat.at_ms), beat.kind) for beat in side.timeline if beat.kind in ROLES
        )
        ms = self.moment.ms
        head = length if ms is None or ms > side.duration_ms else column(ms)
        played, rest = self.style(SIDE_ROLES[number]), self.style("border-strong")
        parts: list[Part] = []
        for x in range(length):
            if x == head:
                parts.append((symbols.running, played))
            elif x in marks:
                parts.append((mark_symbol(marks[x], symbols), self.style(ROLES[marks[x]])))
            else:
                parts.append((symbols.meter_full, played) if x < head else (symbols.meter_rest, rest))
        return parts


class CompareHeader(Header):
    """The header with the names of the compared sessions."""

    comparison: Comparison | None = None
    opened: str = ""
    """The title of the open session, shown until the comparison is loaded."""

    def set_comparison(self, comparison: Comparison) -> None:
        """Show the names of the sessions in a comparison."""
        self.comparison = comparison
        self.set_status(StatusView("stopped", "compare", self.title))
        self.show()

    @property
    def title(self) -> str:
        """The title of the compared session, or both titles if the sides are different sessions."""
        if self.comparison is None:
            return clean_line(self.opened) or super().title
        sides = (self.comparison.left, self.comparison.right)
        return " and ".join(dict.fromkeys(clean_line(side.title or side.session) for side in sides))

    def _right(self, width: int) -> list[Part]:
        gap: Part = ("   ", self.style())
        parts: list[Part] = [(" COMPARE ", self.looks.palette.style("on-accent", "accent", bold=True))]
        if width >= 70:
            parts += [gap, ("read only", self.style("t2"))]
        if self.comparison is not None and width >= 50:
            kind = "branches" if self.comparison.fork_point is not None else "sessions"
            parts += [gap, (f"2 {kind}", self.style())]
        return parts
