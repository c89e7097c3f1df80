"""The newest records of a log that is being written, for whoever follows it closely.

Invariant: they come without gaps and end with the newest; of older ones at most as many stay again as are new.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.envelope import Record

KEPT: Final = 1_000
KEPT_BYTES: Final = 2_000_000
"""Of the newest records so many, or records of so many bytes, stay in memory, and at most twice as much; older ones are
read from the file by whoever lags behind."""


class Recent:
    """The records, oldest first."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._older = self._new_bytes = 0
        """How many of the records are those that are let go of next; bytes of the others."""

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record, size: int) -> None:
        """Take the newest one in, which has a line of so many bytes."""
        self._records.append(record)
        self._new_bytes += size

    def let_go(self) -> None:
        """Once there is enough of what is new, forget what was there before it."""
        if len(self._records) - self._older >= KEPT or self._new_bytes >= KEPT_BYTES:
            del self._records[: self._older]
            self._older, self._new_bytes = len(self._records), 0

    @property
    def first_seq(self) -> int | None:
        """The oldest one's; None where there is none."""
        return self._records[0].seq if self._records else None

    def holds(self, seq: int) -> bool:
        """Whether the one with this number is here."""
        place = self._place(seq - 1)
        return place < len(self._records) and self._records[place].seq == seq

    def after(self, seq: int, limit: int | None = None) -> Sequence[Record]:
        """Those behind a number, at most `limit`."""
        start = self._place(seq)
        return self._records[start : None if limit is None else start + limit]

    def _place(self, seq: int) -> int:
        held = self._records
        if not held or seq >= held[-1].seq:  # a follower that keeps up asks this for every event
            return len(held)
        return bisect_right(held, seq, key=_seq)


def _seq(record: Record) -> int:
    return record.seq
