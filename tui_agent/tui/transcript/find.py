"""Text search in the transcript, and movement from match to match.

Invariant: a match is a row of an entry; the whole entry is searched, even if it is folded.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from tui_agent.tui.transcript.blocks import Reader
from tui_agent.tui.transcript.draw import search_text
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.rows import Row


class Finder:
    """The matches of one search text."""

    def __init__(self) -> None:
        self.text = ""
        self.entries: list[int] = []
        self._pattern: re.Pattern[str] | None = None
        self._current = (-1, -1)

    def search(self, text: str, layout: Layout, read: Reader) -> None:
        """Search for a text. Only the part of a long text that `read` returns is searched."""
        for _ in self.search_entries(text, layout, read):
            pass

    def search_entries(self, text: str, layout: Layout, read: Reader) -> Iterator[None]:
        """Search as `search` does, yielding after each entry."""
        self.text = text
        self._current = (-1, -1)
        self._pattern = pattern_of(text) if text else None
        self.entries = []
        entries, pattern, index = self.entries, self._pattern, 0
        while pattern is not None and index < len(layout):
            if pattern.search(search_text(layout.entry(index), read)):
                entries.append(index)
            index += 1
            yield

    def hits(self, row: Row) -> list[tuple[int, int]]:
        """Return the (start, end) bounds of the matches in a row."""
        if self._pattern is None:
            return []
        return [match.span() for match in self._pattern.finditer(row.text())]

    def next_hit(self, layout: Layout, start: int) -> tuple[int, int] | None:
        """Return the next match as (slot, row), wrapping around at the end. The search begins at slot `start`."""
        if not self.entries:
            return None
        index, row = self._current if self._current[0] >= 0 else (start, -1)
        first = bisect_left(self.entries, index)
        order = [*self.entries[first:], *self.entries[:first]]
        for candidate in (*order, order[0]):
            rows = self._open(layout, candidate)
            hits = [number for number, hit_row in enumerate(rows) if self.hits(hit_row)] or [0]
            if candidate == index:
                hits, index = [hit for hit in hits if hit > row], -1
            if hits:
                self._current = (candidate, hits[0])
                return self._current
        return None

    def _open(self, layout: Layout, index: int) -> list[Row]:
        """Return the rows of an entry, unfolding it if its match is in the folded part."""
        slot = layout.slots[index]
        if slot.group >= 0:
            layout.auto_fold.open_group(slot.group)
        rows = layout.rows(index)
        if not any(self.hits(row) for row in rows) and slot.opened is not True:
            layout.set_opened(index, True)
            rows = layout.rows(index)
        return rows


def pattern_of(text: str) -> re.Pattern[str]:
    """Return the regular expression for a search text; it ignores case unless the text contains upper case."""
    return re.compile(re.escape(text), re.IGNORECASE if text == text.lower() else 0)
