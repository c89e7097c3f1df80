"""Text search in the transcript, and movement from match to match.

Invariant: the whole entry is searched, even if it is folded.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tui_agent.tui.transcript.blocks import PART_LINES, Reader, part_move, row_of_line
from tui_agent.tui.transcript.entry_drawing import match_lines, search_text
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.styled_rows import Row


class Hit(NamedTuple):
    """A match of the search in the transcript.

    - `slot`: index of the entry
    - `number`: index of the match in the entry
    - `row`: index of the row in the entry
    - `span`: start and end of the match in the row, in characters
    """

    slot: int
    number: int
    row: int
    span: tuple[int, int]


class Finder:
    """The search in the transcript: its text and the matches."""

    def __init__(self) -> None:
        self.text = ""
        self.current: Hit | None = None
        self._counts: dict[int, int] = {}
        """Maps an entry's index to its number of matches."""
        # First counted in the entry's text. When the user moves to a match, the entry's drawn rows are counted instead,
        # because a match that is split over two rows cannot be highlighted.
        self._pattern: re.Pattern[str] | None = None
        self._read: Reader | None = None
        self._lines: dict[int, list[int | None]] = {}
        """Maps the index of each very long entry to the line numbers of its matches."""

    @property
    def count(self) -> int:
        """The number of matches in the transcript."""
        return sum(self._counts.values())

    @property
    def place(self) -> str:
        """The place of the current match, such as `3 of 13`; empty if there is no current match."""
        if self.current is None:
            return ""
        before = sum(count for slot, count in self._counts.items() if slot < self.current.slot)
        return f"{before + self.current.number + 1} of {self.count}"

    def clear(self) -> None:
        self.text, self.current, self._pattern, self._counts = "", None, None, {}
        self._lines.clear()

    def forget_row(self) -> None:
        """Forget the row of the current match, because the match's entry shows other lines now."""
        if self.current is not None:
            self.current = self.current._replace(row=-1)

    def search(self, text: str, layout: Layout, read: Reader) -> None:
        """Search for a text in all entries."""
        for _ in self.search_entries(text, layout, read):
            pass

    def search_entries(self, text: str, layout: Layout, read: Reader) -> Iterator[None]:
        """Search for a text in all entries, and yield after each entry."""
        self.text, self.current = text, None
        self._pattern = pattern_of(text) if text else None
        self._counts, self._lines, self._read = {}, {}, read
        # In local names, because a newer search replaces the attributes while this one still runs.
        counts, pattern, index = self._counts, self._pattern, 0
        while pattern is not None and index < len(layout):
            if count := sum(1 for _ in pattern.finditer(search_text(layout.entry(index), read))):
                counts[index] = count
            index += 1
            yield

    def hits(self, row: Row) -> list[tuple[int, int]]:
        """Return the (start, end) bounds of the matches in a row."""
        if self._pattern is None:
            return []
        return [match.span() for match in self._pattern.finditer(row.text())]

    def move(self, layout: Layout, start: int, direction: int) -> Hit | None:
        """Go to the next (`direction` 1) or previous (-1) match, wrapping around. Return None if nothing matches.

        `start`: index of the entry to begin with if there is no current match.
        """
        if not self._counts:
            return None
        slots = list(self._counts)
        if self.current is None:
            index, number = bisect_left(slots, start), 0
        else:
            index, number = bisect_left(slots, self.current.slot), self.current.number + direction
            if not 0 <= number < self._counts[self.current.slot]:
                index, number = index + direction, 0 if direction > 0 else -1
        slot = slots[index % len(slots)]
        rows = self._open(layout, slot)
        lines = self._lines_of(layout, slot, rows)
        if lines:
            self._counts[slot] = len(lines)
            number = len(lines) - 1 if number < 0 else min(number, len(lines) - 1)
            self.current = Hit(slot, number, *self._show_line(layout, slot, lines, number))
            return self.current
        matches = self._matches(rows) or [(0, (0, 0))]  # All matches are split: go to the first row.
        self._counts[slot] = len(matches)
        number = len(matches) - 1 if number < 0 else min(number, len(matches) - 1)
        self.current = Hit(slot, number, *matches[number])
        return self.current

    def _matches(self, rows: Sequence[Row], first: int = 0) -> list[tuple[int, tuple[int, int]]]:
        return [(index, span) for index, row in enumerate(rows, first) for span in self.hits(row)]

    def _lines_of(self, layout: Layout, slot: int, rows: Sequence[Row]) -> list[int | None]:
        """Return the line number of each match in a very long entry. For other entries, return an empty list."""
        if slot not in self._lines and self._pattern is not None and self._read is not None:
            in_parts = any(part_move(row) is not None for row in rows)
            entry = layout.entry(slot)
            self._lines[slot] = match_lines(entry, self._read, self._pattern) if in_parts else []
        return self._lines.get(slot, [])

    def _show_line(
        self, layout: Layout, slot: int, lines: Sequence[int | None], number: int
    ) -> tuple[int, tuple[int, int]]:
        """Show the lines around the match `number` in the entry `slot`.

        Return the index of the row with the match, and the match's bounds in the row.
        """
        line = lines[number]
        if line is None:
            matches = self._matches(layout.rows(slot))
            return matches[min(number, len(matches) - 1)] if matches else (0, (0, 0))
        layout.set_opened(slot, True, max(line - PART_LINES // 2, 0))
        rows = layout.rows(slot)
        first = last = row_of_line(rows, line)
        while last + 1 < len(rows) and rows[last + 1].joined:
            last += 1
        matches = self._matches(rows[first : last + 1], first)
        before = number - lines.index(line)
        return matches[min(before, len(matches) - 1)] if matches else (first, (0, 0))

    def _open(self, layout: Layout, index: int) -> list[Row]:
        """Return the rows of an entry. If folded rows contain matches, unfold the entry first."""
        slot = layout.slots[index]
        if slot.group >= 0:
            layout.auto_fold.open_group(slot.group)
        rows = layout.rows(index)
        if sum(len(self.hits(row)) for row in rows) < self._counts[index] and slot.opened is not True:
            layout.set_opened(index, True)
            rows = layout.rows(index)
        return rows


def pattern_of(text: str) -> re.Pattern[str]:
    """Return the regular expression for a search text. Upper case in the text makes the search case-sensitive."""
    return re.compile(re.escape(text), re.IGNORECASE if text == text.lower() else 0)
