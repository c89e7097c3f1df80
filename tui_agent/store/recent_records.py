"""The newest records of a log that is being written, for its followers.

Invariant: the records have no gaps and end with the newest one.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.envelope import Record

MAX_RECORDS: Final = 1_000
MAX_BYTES: Final = 2_000_000
"""Size of the newest records, in bytes, at which `drop_older` removes all older records from memory."""


class RecentRecords:
    """The newest records of a session's log, oldest first."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._older = self._new_bytes = 0
        """`_older`: number of records that the next `drop_older` removes. `_new_bytes`: total size of the records after
        them."""

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record, size: int) -> None:
        """Add the newest record.

        `size`: the length of its line in bytes.
        """
        self._records.append(record)
        self._new_bytes += size

    def drop_older(self) -> None:
        """Remove the records that were already in memory at the last removal. Do nothing if few records are newer."""
        if len(self._records) - self._older >= MAX_RECORDS or self._new_bytes >= MAX_BYTES:
            del self._records[: self._older]
            self._older, self._new_bytes = len(self._records), 0

    @property
    def first_seq(self) -> int | None:
        """The `seq` of the oldest record in memory; None if there are no records."""
        return self._records[0].seq if self._records else None

    def has(self, seq: int) -> bool:
        """Return True if the record with this `seq` is in memory."""
        index = self._find_index(seq - 1)
        return index < len(self._records) and self._records[index].seq == seq

    def records_after(self, seq: int, limit: int | None = None) -> Sequence[Record]:
        """Return the first `limit` records in memory (None: all) with a number greater than `seq`."""
        start = self._find_index(seq)
        return self._records[start : None if limit is None else start + limit]

    def _find_index(self, seq: int) -> int:
        records = self._records
        if not records or seq >= records[-1].seq:  # the common case: a follower that keeps up
            return len(records)
        return bisect_right(records, seq, key=_seq)


def _seq(record: Record) -> int:
    return record.seq
