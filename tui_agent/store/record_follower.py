"""Followers: they wait for new records of a session and return them in batches. The newest records are kept in memory.

Invariant: a follower never waits while there is a record that it has not returned.
"""
# There is no await between the last look for records and the start of waiting.

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import anyio

from tui_agent.protocol.envelope import Record

MAX_RECORDS: Final = 1_000
MAX_BYTES: Final = 2_000_000
"""`drop_older` removes old records from memory when this number of records, or of bytes, has been added since the last
removal."""


class RecentRecords:
    """The newest records of a session's log, oldest first."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._older = self._new_bytes = 0
        """`_older`: number of records that remained at the last removal.

        `_new_bytes`: total size of the records added since then.
        """

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record, size: int) -> None:
        """Add the newest record.

        `size`: the length of its line in bytes.
        """
        self._records.append(record)
        self._new_bytes += size

    def drop_older(self) -> None:
        """Free memory: if `MAX_RECORDS` or `MAX_BYTES` were added since the last removal, drop all older records."""
        # So at least the newest 1,000 records (or 2 MB) stay, and a follower that is a bit behind needs no file.
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


class RecordSource(Protocol):
    """The source of a follower's records."""

    @property
    def is_closed(self) -> bool: ...

    def remove_follower(self, follower: Any) -> None: ...


SourceT = TypeVar("SourceT", bound=RecordSource)


class RecordFollower(Generic[SourceT]):
    """Reads a source's records after the event `after`. Only one task may use it."""

    def __init__(self, source: SourceT, after: int) -> None:
        self._source = source
        self.cursor = after
        self._wake: anyio.Event | None = None
        self._closed = False

    @abstractmethod
    async def read_batch(self) -> Sequence[Record]:
        """Return the next records after `cursor`; empty if there are none yet.

        An implementation must not await after it has looked at the newest records.
        """

    async def next_batch(self) -> Sequence[Record]:
        """Wait for records and return them. Return no records once the source or this follower is closed."""
        while not self._closed:
            batch = await self.read_batch()
            if batch:
                self.cursor = batch[-1].seq
                return batch
            if self._source.is_closed:
                break
            self._wake = anyio.Event()
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        return ()

    def close(self) -> None:
        """Stop following; a waiting `next_batch` returns empty."""
        self._closed = True
        self._source.remove_follower(self)
        self.wake()

    def wake(self) -> None:
        """Wake a waiting `next_batch`, because new records may have arrived."""
        if self._wake is not None:
            self._wake.set()
