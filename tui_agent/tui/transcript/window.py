"""The newest part of a very long transcript: only that is laid out at first.

Invariant: a window begins where a turn begins, so that it looks as the whole does there; it ends where the whole ends.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, overload

from tui_agent.folds.transcript.entries import Entry, UserEntry

LONG: Final = 20_000
"""Most entries that are laid out at once."""
REACH: Final = 5_000
"""Entries by which a window grows when the reader comes near its beginning."""


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
            return [self[position] for position in range(*index.indices(len(self)))]
        return self._entries[index if index < 0 else self.first + index]

    def __iter__(self) -> Iterator[Entry]:
        for index in range(self.first, len(self._entries)):
            yield self._entries[index]


def window_start(entries: Sequence[Entry], index: int | None = None) -> int:
    """Return the first index of a window that holds entry `index` and `REACH` entries before it.

    Without `index` it holds the newest entries: all of them if they are not more than `LONG`.
    """
    if index is None and len(entries) <= LONG:
        return 0
    start = (len(entries) if index is None else index) - REACH
    for first in range(start, 0, -1):
        entry = entries[first]
        if isinstance(entry, UserEntry) and entry.state == "sent":
            return first
    return 0


def index_of_event(entries: Sequence[Entry], seq: int) -> int:
    """Return the index of the entry that this event opened, or of the one before it; -1 before the first."""
    return bisect_right(entries, seq, key=lambda entry: entry.seq) - 1
