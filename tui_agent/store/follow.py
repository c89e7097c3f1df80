"""A cursor into a log: history first, then live, in batches.

Invariant: a follower is pulled, so a slow one costs the writer nothing; it sees every record once, in order.
"""

from collections.abc import Sequence
from typing import Protocol

import anyio

from tui_agent.protocol.envelope import Record

BATCH = 2_000
"""Records that one `next` gives at most, so that a long history does not hold the loop."""


class Source(Protocol):
    """What a follower reads from."""

    def next_after(self, seq: int, limit: int) -> Sequence[Record]: ...
    def drop(self, follower: "LogFollower") -> None: ...
    @property
    def closed(self) -> bool: ...


class LogFollower:
    """Follows one log from behind `after`; to be used by one task at a time, on the writer's loop."""

    def __init__(self, source: Source, after: int) -> None:
        self._source = source
        self._cursor = after
        self._wake: anyio.Event | None = None
        self._closed = False

    async def next(self) -> Sequence[Record]:
        """The records since the last call, at least one; empty once the log or this follower is closed."""
        while not self._closed:
            batch = self._source.next_after(self._cursor, BATCH)
            if batch:
                self._cursor = batch[-1].seq
                return batch
            if self._source.closed:
                break
            self._wake = anyio.Event()  # no await lies between the look above and this line
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        return ()

    def close(self) -> None:
        """Stop; a waiting `next` returns empty."""
        self._closed = True
        self._source.drop(self)
        self.wake()

    def wake(self) -> None:
        """There may be something new."""
        if self._wake is not None:
            self._wake.set()
