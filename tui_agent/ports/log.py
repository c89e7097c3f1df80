"""The session log and its blobs, as the engine and all clients use them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.base import AgentId, CommandId, JsonMap, LongText, Payload, SessionId
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import LogRepaired


class Follower(Protocol):
    """A cursor over a log. It returns the history first, and then new records as they are appended."""

    async def next_batch(self) -> Sequence[Record]:
        """Wait for records. Return the records since the last call, in order of `seq`. Empty once the log is closed."""
        ...

    def close(self) -> None:
        """Stop following. A waiting `next_batch` returns an empty batch."""
        ...


class Log(Protocol):
    """The append-only log of one session. It has one writer, and any number of followers."""

    @property
    def session(self) -> SessionId: ...

    @property
    def last_seq(self) -> int:
        """The number of the newest event. -1 if the log is empty."""
        ...

    def append(self, payload: Payload, *, agent: AgentId = ..., cause: CommandId | None = None) -> Envelope:
        """Store one event. Return the event as it can be read from the log (long texts as `BlobText`).

        The method is synchronous, so that no cancellation can come between an action and its record. If the event
        cannot be stored, raises `StoreFull` and leaves the log unchanged.
        """
        ...

    def repair_file(self) -> LogRepaired | None:
        """Write the log file again if it was deleted.

        Returns an event about the repair, which the caller must record. Returns None if the file is intact. Raises
        `StoreError` if the file cannot be written.
        """
        ...

    async def commit(self) -> None:
        """Wait until all appended events are on stable storage. Blobs are stored first."""
        ...

    def read_branch(self, stretches: Sequence[Stretch] | None = None, after: int = -1) -> Iterable[Record]:
        """Return the records of the current branch in order, without the streamed pieces of finished answers.

        `stretches` (ranges of event numbers) selects another branch. Only records after the event `after` are returned.
        The result can be iterated in a thread as long as no record is appended to the branch.
        """
        ...

    def has_event(self, seq: int) -> bool:
        """Return True if the log has an event with this number, on any branch.

        The numbers in a fork's log can have gaps.
        """
        ...

    def read(self, after: int = -1) -> Sequence[Record]:
        """Return all records whose `seq` is greater than `after`."""
        ...

    def follow(self, after: int = -1) -> Follower: ...


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The stored content of a file.

    `blob` is the digest of the stored (redacted) bytes; `sha256` is the digest of the original bytes.
    """

    blob: str
    sha256: str

    @property
    def original_sha256(self) -> str | None:
        """The SHA-256 of the original file if redaction changed the bytes. Otherwise None."""
        return self.sha256 if self.sha256 != self.blob else None


class BlobReader(Protocol):
    """Reads blobs by their digest. Raises `BlobNotFound` if a blob is missing or damaged."""

    def read(self, blob_sha256: str) -> bytes: ...

    def read_text(self, text: LongText) -> str:
        """Return the full text. If the text is stored as a blob, the blob is read."""
        ...

    def resolve(self, data: JsonMap) -> JsonMap:
        """Return JSON data with its long texts loaded. Each object in the form of a `BlobText` is replaced by its full
        text.
        """
        ...


class Blobs(BlobReader, Protocol):
    """Reads and stores the blobs of a session. A blob is identified by its digest."""

    def put_bytes(self, data: bytes) -> str:
        """Store bytes unchanged and return their hex SHA-256. The caller must redact text first."""
        ...

    def put_file(self, data: bytes) -> StoredFile:
        """Store a file's content with secrets redacted."""
        ...

    def put_text(self, text: str) -> LongText:
        """Return a short text unchanged. Store a long text and return its `BlobText`."""
        ...
