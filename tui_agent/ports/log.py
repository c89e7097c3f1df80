"""The session log and its blobs, as the engine and every client see them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.session import LogRepaired
from tui_agent.protocol.ids import AgentId, CommandId, SessionId


class Follower(Protocol):
    """A cursor into a log: history first, then live."""

    async def next(self) -> Sequence[Record]:
        """The records since the last call, at least one, in order of `seq`; empty once the log is closed."""
        ...

    def close(self) -> None:
        """Stop; a waiting `next` returns empty."""
        ...


class Log(Protocol):
    """One session's append-only log. One writer; any number of followers."""

    @property
    def session(self) -> SessionId: ...

    @property
    def last_seq(self) -> int:
        """-1 while empty."""
        ...

    def append(self, payload: Payload, *, agent: AgentId = ..., cause: CommandId | None = None) -> Envelope:
        """Store one event and return it exactly as it will be read back (long texts as `BlobText`).

        Synchronous on purpose: no cancellation can come between a fact and its record.
        Raises `StoreFull` when it could not be stored; the log then ends where it ended before.
        """
        ...

    def mend(self) -> LogRepaired | None:
        """Write the log anew where its file was taken away; then what is to be recorded. Raises `StoreError`."""
        ...

    async def commit(self) -> None:
        """Return once everything appended so far is on stable storage (blobs first)."""
        ...

    def branch(self, on: Sequence[Stretch] | None = None, after: int = -1) -> Iterable[Record]:
        """The records on the current branch, in order, but for the deltas of requests that have ended.

        `on`: of the branch with these stretches; `after`: only those behind this event. May be read in a thread, as long
        as what is appended meanwhile is not on it.
        """
        ...

    def holds(self, seq: int) -> bool:
        """Whether there is an event with this number, on the branch or not: a fork's history may have gaps."""
        ...

    def read(self, after: int = -1) -> Sequence[Record]:
        """All records with `seq` > `after`."""
        ...

    def follow(self, after: int = -1) -> Follower: ...


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file's content that was stored: `blob` names what is kept of it, `sha256` is of its own bytes."""

    blob: str
    sha256: str

    @property
    def other_sha256(self) -> str | None:
        """The file's own SHA-256 where something else is kept of it, as events tell it."""
        return self.sha256 if self.sha256 != self.blob else None


class BlobReader(Protocol):
    """Reads content-addressed blobs. Raises `BlobMissing` where one is absent or damaged."""

    def read(self, blob_sha256: str) -> bytes: ...

    def text(self, text: LongText) -> str:
        """The whole of a text, wherever it is kept."""
        ...

    def resolve(self, data: JsonMap) -> JsonMap:
        """JSON with every blob marker replaced by its string."""
        ...


class Blobs(BlobReader, Protocol):
    """Keeps blobs too."""

    def put(self, data: bytes) -> str:
        """Store bytes (as they are: redact text before) and return their hex SHA-256."""
        ...

    def put_file(self, data: bytes) -> StoredFile:
        """Store what a file holds, without its secrets."""
        ...

    def keep(self, text: str) -> LongText:
        """The text itself when it is short, else a `BlobText` of it, stored."""
        ...
