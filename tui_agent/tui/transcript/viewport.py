"""The visible part of the transcript, which keeps its position when rows are added or removed.

Invariant: while `anchored`, the last row is at the bottom; otherwise, the same row stays at the top.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from tui_agent.folds.transcript.entries import Entry
from tui_agent.tui.transcript.blocks import part_move, row_of_line
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import Row

_MAX_DRAW_ROUNDS: Final = 12
"""Maximum number of times that the visible entries are drawn again after wrong estimates of their heights."""


class RowPosition(NamedTuple):
    """A row of the transcript: an entry's id, and the number of the row in the entry."""

    entry_id: str
    row: int


class ScreenLine(NamedTuple):
    """One line of the screen: a row of an entry, or the empty row before an entry.

    - `slot`: index of the entry
    - `number`: index of the row in the entry; -1 for the empty row
    - `row`: the row; None for the empty row
    """

    slot: int
    number: int
    row: Row | None


class Viewport:
    """The visible window on a layout: `height` rows, beginning with row `y`."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.height = 0
        self.y = 0
        self.anchored = True
        self.has_new_part = False
        """True after a very long entry was changed to show other lines."""
        self._seen = (0, 0)
        """Index and height of the last entry at the time when the user scrolled up."""

    @property
    def end(self) -> int:
        """The largest possible value of `y`."""
        return max(self.layout.total - self.height, 0)

    @property
    def new_rows(self) -> int:
        """Number of new rows below the view since the user scrolled up."""
        if self.anchored or not len(self.layout):
            return 0
        index, height = self._seen
        grown = self.layout.total - self.layout.heights.top(index) - height
        return max(min(grown, self.layout.total - self.y - self.height), 0)

    @contextmanager
    def keep_position(self) -> Iterator[None]:
        """Keep the rows at the top of the view in place while heights change in the `with` block."""
        position = self.position
        yield
        self._settle(position)

    @contextmanager
    def keep_slot_position(self, index: int) -> Iterator[None]:
        """Keep the first row of an entry in its place while heights change in the `with` block.

        If the entry is not in view, behave like `keep_position`.
        """
        offset = self.layout.top(index) - self.y
        if not 0 <= offset < self.height:
            with self.keep_position():
                yield
            return
        yield
        for _ in range(_MAX_DRAW_ROUNDS):
            target = self.layout.top(index) - offset
            self._move(target)
            if not self.layout.draw_between(self.y - self.height, self.y + 2 * self.height):
                break
        self._move(self.layout.top(index) - offset)

    def set_entries(self, entries: Sequence[Entry], changed: Iterable[int]) -> None:
        """Use a newer view of the transcript."""
        # While the user has scrolled up, entries in view are not folded when their turn ends.
        in_view = [] if self.anchored else [line.slot for line in self.lines()]
        with self.keep_position():
            self.layout.set_entries(entries, changed, in_view)

    def resize(self, look: Look, height: int) -> None:
        """Lay out the transcript for a look (which contains the width) and a height in rows."""
        with self.keep_position():
            self.height = height
            if look != self.layout.look:
                self.layout.set_look(look)

    def replace_layout(self, layout: Layout) -> None:
        """Replace the layout by one with older entries at its beginning, without moving the visible rows."""
        position, added = self.position, len(layout) - len(self.layout)
        self._seen = (self._seen[0] + added, self._seen[1])
        for slot in self.layout.slots:  # Entries that the user opened or folded keep their state.
            if slot.opened is not None and (index := layout.index_of(slot.id)) is not None:
                layout.set_opened(index, slot.opened)
        if layout.look != self.layout.look:
            layout.set_look(self.layout.look)
        self.layout = layout
        self._settle(position)

    def scroll_to(self, y: int) -> None:
        """Scroll row `y` of the layout to the top, or as close to the top as possible.

        At the end of the transcript, follow new rows.
        """
        self._move(y)
        if self.anchored:
            self.layout.auto_fold.fold_deferred()
        self._settle(self.position)

    def show(self, index: int, row: int = 0) -> None:
        """Scroll row `row` of an entry into view, moving as little as possible."""
        with self.keep_position():
            self.layout.draw_slot(index)
        top = self.layout.top(index) + row
        if top < self.y:
            self.scroll_to(top - 1)
        elif top >= self.y + self.height:
            self.scroll_to(top - self.height + 1)

    def scroll_rows(self, rows: int) -> None:
        """Scroll by a number of rows.

        At the edge of the shown part of a very long entry, show the next part.
        """
        replaced = self._show_next_part(rows)
        # The rows that another part has just replaced were not seen yet.
        rest = min(rows + replaced, 0) if rows < 0 else max(rows - replaced, 0)
        self.scroll_to(self.y + rest)
        self._show_next_part(rows)

    def _show_next_part(self, direction: int) -> int:
        """Show the earlier (`direction` -1) or later (1) lines of a very long entry.

        Return the number of changed rows on the screen.
        """
        lines = self.lines()
        for number, line in enumerate(lines):
            move = part_move(line.row) if line.row is not None else None
            if move is not None and (move[1] - move[0]) * direction > 0:
                self.show_part(line.slot, *move)
                return number + 1 if direction < 0 else len(lines) - number
        return 0

    def show_part(self, index: int, start: int, target: int) -> None:
        """Show the lines of a very long entry from `target` on.

        `start`: the first line that is shown now.
        """
        # Both parts contain this line; it keeps its place.
        line = max(start, target)
        offset = self.layout.top(index) + row_of_line(self.layout.rows(index), line) - self.y
        self.layout.set_opened(index, True, target)
        self.has_new_part = True
        row = row_of_line(self.layout.rows(index), line)
        self.scroll_to(self.layout.top(index) + row - offset)

    def show_at_top(self, index: int) -> None:
        """Scroll so that the first row of an entry is the second row of the view."""
        self.scroll_to(self.layout.top(index) - 1)

    def lines(self) -> list[ScreenLine]:
        """Return the visible lines, at most `height`."""
        lines: list[ScreenLine] = []
        layout = self.layout
        if not len(layout) or not self.height:
            return lines
        index, number = layout.place(self.y)
        while len(lines) < self.height and index < len(layout):
            rows = layout.rows(index)
            while number < len(rows) and len(lines) < self.height:
                lines.append(ScreenLine(index, number, rows[number] if number >= 0 else None))
                number += 1
            index += 1
            number = -layout.slots[index].gap if index < len(layout) else 0
        return lines

    def _move(self, y: int) -> None:
        was_anchored = self.anchored
        self.y = min(max(y, 0), self.end)
        self.anchored = self.y >= self.end
        if was_anchored and not self.anchored and len(self.layout):
            last = len(self.layout) - 1
            self._seen = (last, self.layout.heights[last])

    @property
    def position(self) -> RowPosition | None:
        """The reading position: the row at the top; None while the view follows the end."""
        if self.anchored or not len(self.layout):
            return None
        index, row = self.layout.place(self.y)
        return RowPosition(self.layout.slots[index].id, row)

    def _settle(self, position: RowPosition | None) -> None:
        """Draw the entries in and near the view until no height changes."""
        for _ in range(_MAX_DRAW_ROUNDS):
            self._restore(position)
            if not self.layout.draw_between(self.y - self.height, self.y + 2 * self.height):
                break
        self._restore(position)

    def _restore(self, position: RowPosition | None) -> None:
        if position is None or self.anchored:
            self.y = self.end
            return
        index = self.layout.index_of(position.entry_id)
        if index is None:
            self.y = min(self.y, self.end)
        else:
            slot = self.layout.slots[index]
            if not slot.exact:  # A guess that is too small would put the row far below the entry.
                self.layout.draw_slot(index)
            row = min(position.row, max(slot.count - 1, 0))
            self.y = min(max(self.layout.heights.top(index) + slot.gap + row, 0), self.end)
        self.anchored = self.y >= self.end and self.layout.total > 0
