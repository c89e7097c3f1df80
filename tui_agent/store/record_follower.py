"""The base class of followers. A follower waits for new records of its source, and returns them in batches.

Invariant: no wake-up is missed.
"""
# There is no await between the last look for records and the start of waiting.

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import anyio

from tui_agent.protocol.envelope import Record


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
