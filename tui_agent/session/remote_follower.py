"""A cursor into a remote session: history from the log's file, then what came through the pipe.

Invariant: records come in order and once; history is read in batches, in a thread, and is not kept.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from anyio import to_thread

from tui_agent.protocol.envelope import Record
from tui_agent.store.reader import iterate_records

BATCH = 1_000
"""Records that one `next` gives at most."""


class Live(Protocol):
    """What a follower reads from once it has caught up with the file."""

    @property
    def closed(self) -> bool: ...
    @property
    def kept_from(self) -> int:
        """The seq from which on records are in memory; before it they are in the file."""
        ...

    async def folder(self) -> Path | None:
        """Where the log lies; None when the session could not be opened."""
        ...

    def next_after(self, seq: int, limit: int) -> Sequence[Record]: ...
    def drop(self, follower: "RemoteFollower") -> None: ...


class RemoteFollower:
    """Follows from behind `after`; for one task at a time.

    History comes without the deltas of requests that have ended: their answers are in it whole.
    """

    def __init__(self, source: Live, after: int) -> None:
        self._source = source
        self.cursor = after
        self._history: Iterator[Record] | None = None
        self._until = -1
        self._wake: anyio.Event | None = None
        self._closed = False

    async def next(self) -> Sequence[Record]:
        """The records since the last call, at least one; empty once the session has ended or this is closed."""
        folder = await self._source.folder()
        while not self._closed:
            batch = await self._old(folder) or self._source.next_after(self.cursor, BATCH)
            if batch:
                self.cursor = batch[-1].seq
                return batch
            if self._source.closed:
                break
            self._wake = anyio.Event()  # no await lies between the look above and this line
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        return ()

    async def _old(self, folder: Path | None) -> Sequence[Record]:
        """The next records of the file, as long as the cursor is behind what is in memory."""
        if folder is None or self.cursor >= self._source.kept_from - 1:
            self._history = None
            return ()
        if self._history is None:
            self._until = self._source.kept_from
            self._history = await to_thread.run_sync(iterate_records, folder, self.cursor)
        batch = await to_thread.run_sync(_some, self._history, self._until)
        if not batch:
            self.cursor = max(self.cursor, self._until - 1)
            self._history = None
        return batch

    def close(self) -> None:
        """Stop; a waiting `next` returns empty."""
        self._closed = True
        self._source.drop(self)
        self.wake()

    def wake(self) -> None:
        """There may be something new."""
        if self._wake is not None:
            self._wake.set()


def _some(history: Iterator[Record], until: int) -> list[Record]:
    """The next records with a `seq` below `until`."""
    found: list[Record] = []
    for record in history:
        if record.seq >= until:
            break
        found.append(record)
        if len(found) >= BATCH:
            break
    return found
