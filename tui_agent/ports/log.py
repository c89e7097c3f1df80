"""The session log and its blobs, as the engine and all clients use them."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import LogRepaired
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CommandId, SessionId
from tui_agent.protocol.stored_text import JsonMap, LongText


@dataclass(frozen=True, slots=True)
class OtherChange:
    """A file change that another session of the same workspace recorded.

    `session` is the title of that session, or its id. `time` is in seconds since the epoch.
    """

    session: str
    time: float
    change: FileChanged


class Follower(Protocol):
    """A cursor over a log."""

    async def next_batch(self) -> Sequence[Record]:
        """Wait for records and return all records since the last call. Returns no records once the log is closed."""
        ...

    def close(self) -> None:
        """End this cursor: `next_batch` returns no more records."""
        ...


class Log(Protocol):
    """The append-only log of one session, with one writer and any number of followers."""

    @property
    def session(self) -> SessionId: ...

    @property
    def last_seq(self) -> int:
        """The number of the newest event (-1: the log is empty)."""
        ...

    def append(self, payload: Payload, *, agent: AgentId = ..., cause: CommandId | None = None) -> Envelope:
        """Store one event. Return the event in its stored form: long texts are a `BlobText`.

        Raise `StoreFull` if the event cannot be stored. The log then stays unchanged.
        """
        # Not async: a cancellation must not separate an action from its record.
        ...

    def repair_file(self) -> LogRepaired | None:
        """Write the log file again if it was deleted.

        Returns an event that the caller must record, or None if the file is intact. Raise `StoreError` if the file
        cannot be written.
        """
        ...

    async def commit(self) -> None:
        """Wait until all appended events are on stable storage."""
        ...

    def read_branch(self, stretches: Sequence[Stretch] | None = None, after: int = -1) -> Iterable[Record]:
        """Return the records of the current branch in order. If an answer is complete, its streamed pieces are left
        out.

        - `stretches`: ranges of event numbers that select another branch.
        - `after`: only records after this event are returned.

        Do not append to the branch while another thread iterates the result.
        """
        ...

    def has_event(self, seq: int) -> bool:
        """Return True if the log has an event with this number, on any branch."""
        ...

    def read(self, after: int = -1) -> Sequence[Record]:
        """Return all records whose `seq` is greater than `after`."""
        ...

    def follow(self, after: int = -1) -> Follower: ...


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The stored content of a file.

    - `blob`: digest of the stored (redacted) bytes.
    - `sha256`: digest of the original bytes.
    - `placeholder_lines`: for each redacted line, the secret values that its placeholders replace. They are kept only in
      memory.
    """

    blob: str
    sha256: str
    placeholder_lines: tuple[tuple[str, tuple[bytes, ...]], ...] = field(default=(), repr=False)

    @property
    def original_sha256(self) -> str | None:
        """The SHA-256 of the original file, or None if redaction changed nothing."""
        return self.sha256 if self.sha256 != self.blob else None


class BlobReader(Protocol):
    """Reads blobs by their digest. Raises `BlobNotFound` if a blob is missing or damaged."""

    def read(self, blob_sha256: str) -> bytes: ...

    def read_text(self, text: LongText) -> str:
        """Return the full text. The text of a `BlobText` is read from its blob."""
        ...

    def resolve(self, data: JsonMap) -> JsonMap:
        """Return JSON data with each reference to a blob (an object like `BlobText`) replaced by its full text."""
        ...


class Blobs(BlobReader, Protocol):
    """Reads and stores the blobs of a session."""

    def put_bytes(self, data: bytes) -> str:
        """Store bytes unchanged and return their hex SHA-256. The caller must redact text first."""
        ...

    def put_file(self, path: str, data: bytes) -> StoredFile:
        """Store a file's content with secrets redacted. For a file that may hold secrets, store a placeholder instead.

        `path`: relative to the workspace.
        """
        ...

    def put_text(self, text: str) -> LongText:
        """Return a short text unchanged. For a long text, store a blob and return its `BlobText`."""
        ...
