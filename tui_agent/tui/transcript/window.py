"""The newest part of a very long transcript. It is laid out first.

Invariant: a window begins at the start of a turn, and ends at the transcript's end.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, overload

from tui_agent.folds.transcript.entries import Entry, UserEntry

MAX_UNWINDOWED_ENTRIES: Final = 20_000
"""If a transcript has more entries than this, only its newest part is laid out at first."""
REACH: Final = 5_000
"""Number of entries added to a window when the user scrolls near its beginning."""


class Window(Sequence[Entry]):
    """The entries of a transcript from index `first` on."""

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
    """Return the index of the first entry of the window to lay out.

    - With `index`: the window begins at least `REACH` entries before this entry.
    - Without `index`: the window has at least the newest `REACH` entries. A transcript with at most
      `MAX_UNWINDOWED_ENTRIES` entries is laid out as a whole.
    """
    if index is None and len(entries) <= MAX_UNWINDOWED_ENTRIES:
        return 0
    start = (len(entries) if index is None else index) - REACH
    for first in range(start, 0, -1):
        entry = entries[first]
        if isinstance(entry, UserEntry) and entry.state == "sent":
            return first
    return 0


def index_of_event(entries: Sequence[Entry], seq: int) -> int:
    """Return the index of the last entry that began at or before event `seq`, or -1."""
    return bisect_right(entries, seq, key=lambda entry: entry.seq) - 1
