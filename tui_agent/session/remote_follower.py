"""A cursor into a remote session: history from the log file, then records from the pipe.

Invariant: records come in order and once; history is read in batches, in a thread, and is not kept in memory.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from anyio import to_thread

from tui_agent.protocol.envelope import Record
from tui_agent.store.reader import iterate_records

BATCH = 1_000
"""Maximum number of records that one `next` returns."""


class Live(Protocol):
    """The source of a follower's records once it has read the log file."""

    @property
    def closed(self) -> bool: ...
    @property
    def kept_from(self) -> int:
        """The `seq` of the first record in memory; earlier ones are in the log file."""
        ...

    async def folder(self) -> Path | None:
        """Return the log's folder; None if the session could not be opened."""
        ...

    def next_after(self, seq: int, limit: int) -> Sequence[Record]: ...
    def drop(self, follower: "RemoteFollower") -> None: ...


class RemoteFollower:
    """A cursor that starts after `after`; used by one task at a time.

    History lacks the deltas of finished requests; their complete answers are in it.
    """

    def __init__(self, source: Live, after: int) -> None:
        self._source = source
        self.cursor = after
        self._history: Iterator[Record] | None = None
        self._until = -1
        self._wake: anyio.Event | None = None
        self._closed = False

    async def next(self) -> Sequence[Record]:
        """Wait for and return the records since the last call; empty once the session has ended or this is closed."""
        folder = await self._source.folder()
        while not self._closed:
            batch = await self._read_history(folder) or self._source.next_after(self.cursor, BATCH)
            if batch:
                self.cursor = batch[-1].seq
                return batch
            if self._source.closed:
                break
            self._wake = anyio.Event()  # no await since the check above, so no wake-up is missed
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        return ()

    async def _read_history(self, folder: Path | None) -> Sequence[Record]:
        """Return the next records of the log file while the cursor is before the first record in memory."""
        if folder is None or self.cursor >= self._source.kept_from - 1:
            self._history = None
            return ()
        if self._history is None:
            self._until = self._source.kept_from
            self._history = await to_thread.run_sync(iterate_records, folder, self.cursor)
        batch = await to_thread.run_sync(_next_batch, self._history, self._until)
        if not batch:
            self.cursor = max(self.cursor, self._until - 1)
            self._history = None
        return batch

    def close(self) -> None:
        """Stop following; a waiting `next` returns empty."""
        self._closed = True
        self._source.drop(self)
        self.wake()

    def wake(self) -> None:
        """Wake a waiting `next`, because there may be new records."""
        if self._wake is not None:
            self._wake.set()


def _next_batch(history: Iterator[Record], until: int) -> list[Record]:
    """Return the next records with a `seq` below `until`, at most `BATCH`."""
    batch: list[Record] = []
    for record in history:
        if record.seq >= until:
            break
        batch.append(record)
        if len(batch) >= BATCH:
            break
    return batch
