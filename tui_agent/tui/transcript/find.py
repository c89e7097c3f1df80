"""Finding text in the transcript, and stepping from hit to hit.

Invariant: a hit is a row of an entry; entries are looked through whole, also where they are folded.
"""

import re
from collections.abc import Iterator, Sequence

from tui_agent.tui.transcript.blocks import Reader
from tui_agent.tui.transcript.draw import search_text
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.rows import Row


class Finder:
    """The hits of one text."""

    def __init__(self) -> None:
        self.text = ""
        self.entries: list[int] = []
        self._pattern: re.Pattern[str] | None = None
        self._at = (-1, -1)

    def search(self, text: str, layout: Layout, read: Reader) -> int:
        """Look for a text; the number of entries that hold it. Of long texts what `read` gives is looked through."""
        for _ in self.searching(text, layout, read):
            pass
        return len(self.entries)

    def searching(self, text: str, layout: Layout, read: Reader) -> Iterator[None]:
        """The same, entry by entry."""
        self.text = text
        self._at = (-1, -1)
        self._pattern = pattern_of(text) if text else None
        self.entries = []
        found, pattern, index = self.entries, self._pattern, 0
        while pattern is not None and index < len(layout):
            if pattern.search(search_text(layout.entry(index), read)):
                found.append(index)
            index += 1
            yield

    def hits(self, row: Row) -> list[tuple[int, int]]:
        """The bounds of the hits on a row."""
        if self._pattern is None:
            return []
        return [match.span() for match in self._pattern.finditer(row.text())]

    def following(self, layout: Layout, forward: bool, start: int) -> tuple[int, int] | None:
        """The next hit as (slot, row), going round at the ends; `start` is the slot to begin near."""
        if not self.entries:
            return None
        index, row = self._at if self._at[0] >= 0 else (start, -1 if forward else 10**9)
        order = self._order(index, forward)
        for number, candidate in enumerate(order):
            rows = self._open(layout, candidate)
            hits = [at for at, shown in enumerate(rows) if self.hits(shown)] or [0]
            if number == 0 and candidate == index:
                hits = [at for at in hits if (at > row if forward else at < row)]
            if hits:
                self._at = (candidate, hits[0] if forward else hits[-1])
                return self._at
        return None

    def _order(self, index: int, forward: bool) -> Sequence[int]:
        after = [entry for entry in self.entries if (entry >= index if forward else entry <= index)]
        before = [entry for entry in self.entries if entry not in set(after)]
        order = [*after, *before] if forward else [*reversed(after), *reversed(before)]
        return [*order, order[0]]

    def _open(self, layout: Layout, index: int) -> list[Row]:
        """The rows of an entry, opened where its hit is folded away."""
        slot = layout.slots[index]
        if slot.group >= 0:
            layout.ages.open_group(slot.group)
        rows = layout.rows(index)
        if not any(self.hits(row) for row in rows) and slot.opened is not True:
            layout.set_opened(index, True)
            rows = layout.rows(index)
        return rows


def pattern_of(text: str) -> re.Pattern[str]:
    """What a search for a text matches. Upper case in it makes the search mind the case."""
    return re.compile(re.escape(text), re.IGNORECASE if text == text.lower() else 0)
