"""The part of the rows that is on the screen, and how it moves when rows come, go or turn out higher than guessed.

Invariant: while `anchored` the last row is at the bottom; else the row at the top stays the same row of the same entry.
Pure: no Textual, no clock.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tui_agent.folds.transcript.entries import Entry
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.rows import Row
from tui_agent.tui.transcript.style import Look

_ROUNDS: Final = 12
"""Drawing may show that guesses were wrong, which may bring other entries into view; that settles in two or three."""


class Spot(NamedTuple):
    """A row of an entry, by id."""

    entry_id: str
    row: int


class Line(NamedTuple):
    """One row on the screen: its slot, the row's number in it (-1 for the gap), and what stands there."""

    slot: int
    number: int
    row: Row | None


class Viewport:
    """A window of `height` rows on a layout, from row `y` on."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.height = 0
        self.y = 0
        self.anchored = True
        self._seen = (0, 0)
        """The last slot, and its height, when the view was scrolled up."""

    @property
    def end(self) -> int:
        """The largest `y`."""
        return max(self.layout.total - self.height, 0)

    @property
    def new_rows(self) -> int:
        """Rows that came below since the view was scrolled up and were not seen yet."""
        if self.anchored or not len(self.layout):
            return 0
        index, height = self._seen
        grown = self.layout.total - self.layout.heights.top(index) - height
        return max(min(grown, self.layout.total - self.y - self.height), 0)

    def change(self, what: Callable[[], object]) -> None:
        """Do something that may change heights, and keep what the reader holds."""
        spot = self.held
        what()
        self._settle(spot)

    def change_at(self, index: int, what: Callable[[], object]) -> None:
        """Do something to a slot that the reader points at: its first row keeps its place on the screen."""
        offset = self.layout.top(index) - self.y
        if not 0 <= offset < self.height:
            self.change(what)
            return
        what()
        for _ in range(_ROUNDS):
            target = self.layout.top(index) - offset
            self._move(target)
            if not self.layout.draw_between(self.y - self.height, self.y + 2 * self.height):
                break
        self._move(self.layout.top(index) - offset)

    def set_entries(self, entries: Sequence[Entry], changed: Iterable[int]) -> None:
        """Take a newer view in. What is read now is not folded away, though its turn may be over."""
        shown = [] if self.anchored else [line.slot for line in self.lines()]
        self.change(lambda: self.layout.set_entries(entries, changed, shown))

    def resize(self, look: Look, height: int) -> None:
        """Draw under this look in this height."""
        spot = self.held
        self.height = height
        if look != self.layout.look:
            self.layout.set_look(look)
        self._settle(spot)

    def take_layout(self, layout: Layout) -> None:
        """Go on with another layout that holds more entries before those of this one; what the reader holds stays."""
        spot, added = self.held, len(layout) - len(self.layout)
        self._seen = (self._seen[0] + added, self._seen[1])
        for slot in self.layout.slots:  # what the user opened or folded stays so
            if slot.opened is not None and (index := layout.index_of(slot.id)) is not None:
                layout.set_opened(index, slot.opened)
        if layout.look != self.layout.look:
            layout.set_look(self.layout.look)
        self.layout = layout
        self._settle(spot)

    def scroll_to(self, y: int) -> None:
        """Put row `y` (as counted now) at the top, as far as there are rows; at the end the view follows again."""
        self._move(y)
        if self.anchored:
            self.layout.ages.fold_held()
        self._settle(self.held)

    def show(self, index: int, row: int = 0) -> None:
        """Bring a row of a slot into view, moving as little as needed."""
        self.change(lambda: self.layout.rows(index))
        top = self.layout.top(index) + row
        if top < self.y:
            self.scroll_to(top - 1)
        elif top >= self.y + self.height:
            self.scroll_to(top - self.height + 1)

    def show_at_top(self, index: int) -> None:
        """Put the first row of a slot near the top of the view."""
        self.scroll_to(self.layout.top(index) - 1)

    def lines(self) -> list[Line]:
        """What is on the screen, at most `height` rows."""
        made: list[Line] = []
        layout = self.layout
        if not len(layout) or not self.height:
            return made
        index, number = layout.place(self.y)
        while len(made) < self.height and index < len(layout):
            rows = layout.rows(index)
            while number < len(rows) and len(made) < self.height:
                made.append(Line(index, number, rows[number] if number >= 0 else None))
                number += 1
            index += 1
            number = -layout.slots[index].gap if index < len(layout) else 0
        return made

    def _move(self, y: int) -> None:
        was = self.anchored
        self.y = min(max(y, 0), self.end)
        self.anchored = self.y >= self.end
        if was and not self.anchored and len(self.layout):
            last = len(self.layout) - 1
            self._seen = (last, self.layout.heights[last])

    @property
    def held(self) -> Spot | None:
        """What the reader holds: the row at the top, None at the bottom."""
        if self.anchored or not len(self.layout):
            return None
        index, row = self.layout.place(self.y)
        return Spot(self.layout.slots[index].id, row)

    def _settle(self, spot: Spot | None) -> None:
        """Draw what is in view and near it until the heights hold."""
        for _ in range(_ROUNDS):
            self._put(spot)
            if not self.layout.draw_between(self.y - self.height, self.y + 2 * self.height):
                break
        self._put(spot)

    def _put(self, spot: Spot | None) -> None:
        if spot is None or self.anchored:
            self.y = self.end
            return
        index = self.layout.index_of(spot.entry_id)
        if index is None:
            self.y = min(self.y, self.end)
        else:
            slot = self.layout.slots[index]
            row = min(spot.row, max(slot.count - 1, 0)) if slot.exact else spot.row
            self.y = min(max(self.layout.heights.top(index) + slot.gap + row, 0), self.end)
        self.anchored = self.y >= self.end and self.layout.total > 0
