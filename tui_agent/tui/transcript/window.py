"""The newest part of a very long transcript, which is what is laid out at first.

Invariant: a window begins where a turn begins, so that it looks as the whole does there; it ends where the whole ends.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, overload

from tui_agent.folds.transcript.entries import Entry, UserEntry

LONG: Final = 20_000
"""Entries from which on not all are laid out at once."""
REACH: Final = 5_000
"""Entries by which a window grows when its beginning comes into sight."""


class Window(Sequence[Entry]):
    """The entries from `first` on."""

    def __init__(self, entries: Sequence[Entry], first: int) -> None:
        self._entries = entries
        self.first = first

    def __len__(self) -> int:
        return max(0, len(self._entries) - self.first)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        if index < 0:
            return self._entries[index]
        return self._entries[self.first + index]

    def __iter__(self) -> Iterator[Entry]:
        for index in range(self.first, len(self._entries)):
            yield self._entries[index]


def beginning(entries: Sequence[Entry], at: int | None = None) -> int:
    """Where a window begins that holds the entry `at` and `REACH` before it; of a whole that is not long all is held.

    Without `at` it holds the newest entries.
    """
    if at is None:
        if len(entries) <= LONG:
            return 0
        at = len(entries)
    index = at - REACH
    while index > 0:
        entry = entries[index]
        if isinstance(entry, UserEntry) and entry.state == "sent":
            return index
        index -= 1
    return 0


def index_at(entries: Sequence[Entry], seq: int) -> int:
    """Which entry this event opened, or the one before it; -1 before the first."""
    return bisect_right(entries, seq, key=lambda entry: entry.seq) - 1
