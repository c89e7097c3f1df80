"""Follower of a log: first its history, then new records, in batches.

Invariant: a follower pulls, so a slow one costs the writer nothing; it receives every record once, in order.
"""

from collections.abc import Sequence
from typing import Protocol

import anyio

from tui_agent.protocol.envelope import Record

BATCH = 2_000
"""Most records that one `next` returns, so that a long history does not block the event loop."""


class Source(Protocol):
    """The log that a follower reads."""

    def next_after(self, seq: int, limit: int) -> Sequence[Record]: ...
    def drop(self, follower: "LogFollower") -> None: ...
    @property
    def closed(self) -> bool: ...


class LogFollower:
    """Follows one log after `after`. One task at a time may use it, on the writer's event loop."""

    def __init__(self, source: Source, after: int) -> None:
        self._source = source
        self._cursor = after
        self._wake: anyio.Event | None = None
        self._closed = False

    async def next(self) -> Sequence[Record]:
        """Return the records since the last call, at least one; empty once the log or the follower is closed."""
        while not self._closed:
            batch = self._source.next_after(self._cursor, BATCH)
            if batch:
                self._cursor = batch[-1].seq
                return batch
            if self._source.closed:
                break
            self._wake = anyio.Event()  # set without an await after the check above, so no record is missed
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        return ()

    def close(self) -> None:
        """Stop following; a waiting `next` returns empty."""
        self._closed = True
        self._source.drop(self)
        self.wake()

    def wake(self) -> None:
        """Wake a waiting `next`: there may be new records."""
        if self._wake is not None:
            self._wake.set()
