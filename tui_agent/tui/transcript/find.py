"""Text search in the transcript, and movement from match to match.

Invariant: the whole entry is searched, even if it is folded. At most one match is the current match.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from tui_agent.tui.transcript.blocks import Reader
from tui_agent.tui.transcript.draw import search_text
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.rows import Row


class Hit(NamedTuple):
    """A match of the search in the transcript.

    `slot` is the index of the entry, and `row` is the row in the entry. `number` counts the matches in the entry from
    0. `span` has the start and end of the match in the row, in characters.
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
        """Maps an entry's index to the number of matches in the entry.

        Matches are first counted in the entry's text. When the search reaches the entry, they are counted again in the
        drawn rows. The rows can show a text twice, or break a match.
        """
        self._pattern: re.Pattern[str] | None = None

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

    def search(self, text: str, layout: Layout, read: Reader) -> None:
        """Search for a text in all entries. If a text is long, search only the part that `read` returns."""
        for _ in self.search_entries(text, layout, read):
            pass

    def search_entries(self, text: str, layout: Layout, read: Reader) -> Iterator[None]:
        """Search for a text in all entries, and yield after each entry."""
        self.text, self.current = text, None
        self._pattern = pattern_of(text) if text else None
        self._counts = {}
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

    def step(self, layout: Layout, start: int, direction: int) -> Hit | None:
        """Go to the next (`direction` 1) or previous (-1) match, wrapping around.

        Without a current match, begin at the entry with the index `start`. Return None if there is no match.
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
        matches = [
            (row_index, span)
            for row_index, row in enumerate(self._open(layout, slot))
            for span in self.hits(row)
        ]
        matches = matches or [(0, (0, 0))]
        self._counts[slot] = len(matches)
        number = len(matches) - 1 if number < 0 else min(number, len(matches) - 1)
        self.current = Hit(slot, number, *matches[number])
        return self.current

    def _open(self, layout: Layout, index: int) -> list[Row]:
        """Return the rows of an entry; unfold the entry first if some of its matches are in the folded part."""
        slot = layout.slots[index]
        if slot.group >= 0:
            layout.auto_fold.open_group(slot.group)
        rows = layout.rows(index)
        if sum(len(self.hits(row)) for row in rows) < self._counts[index] and slot.opened is not True:
            layout.set_opened(index, True)
            rows = layout.rows(index)
        return rows


def pattern_of(text: str) -> re.Pattern[str]:
    """Return the regular expression for a search text; it ignores case unless the text contains upper case."""
    return re.compile(re.escape(text), re.IGNORECASE if text == text.lower() else 0)
