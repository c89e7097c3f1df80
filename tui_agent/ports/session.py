"""The session protocol, which every client uses: submit commands, follow events."""

import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from tui_agent.errors import BlobNotFound, TuiAgentError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.snapshot import SnapshotOutline
from tui_agent.ports.log import Follower
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.ids import CommandId, SessionId
from tui_agent.protocol.stored_text import LongText, text_preview

STOP_SIGNAL = signal.SIGURG
"""Signal to an engine's process to interrupt a plugin that blocks the event loop."""
# The system ignores this signal by default, so a late signal does no harm.
ReadText: TypeAlias = Callable[[LongText], Awaitable[str]]
"""Function that returns the full text of a `LongText`."""


class Session(Protocol):
    """A session with an engine in this process (headless, tests) or in another process (the app)."""

    @property
    def id(self) -> SessionId: ...

    def submit(self, command: Command) -> CommandId:
        """Queue a command without blocking, and return its id."""
        ...

    def follow(self, after: int = -1) -> Follower:
        """Return a cursor over the log: first the recorded events after the event `after`, then new ones.

        If an answer is complete, its streamed pieces can be missing. An empty batch means that the session has ended.
        """
        ...

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes. Raise `BlobNotFound` if the blob is missing or damaged."""
        ...

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        """Return completions of a slash command's `arguments`. Each completion replaces the whole text of `arguments`.

        If the command is `@`, the completions are resources of MCP servers.
        """
        ...

    async def aclose(self) -> None:
        """Close the session: interrupt the turn, store the log, and release the lock."""
        ...


async def read_text(session: Session, text: LongText) -> str:
    """Return the full text that an event refers to. Raise `BlobNotFound` if the text is missing."""
    if isinstance(text, str):
        return text
    return (await session.read_blob(text.blob_sha256)).decode("utf-8", "replace")


async def read_text_or_preview(session: Session, text: LongText) -> str:
    """Return the full text of a `LongText`, or only its beginning if the text is missing."""
    try:
        return await read_text(session, text)
    except BlobNotFound:
        return text_preview(text)


@dataclass(frozen=True, slots=True)
class LockedNote:
    """A message to the app: the engine has locked the session, but still has to compute the session's state.

    The log file can now be read up to the event `last_seq`.
    """

    session: str
    folder: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note to the app: the engine has opened the session.

    - `last_seq`: number of the session's last event.
    - `stored_seq`: number of the last event in the log file (-1: no file yet). The engine sends later events to the
      app.
    """

    session: str
    folder: str
    last_seq: int
    stored_seq: int
    pid: int
    new: bool


@dataclass(frozen=True, slots=True)
class StorageFaultNote:
    """A note to the app about a storage error of the engine.

    The error may be missing from the log, because storing failed.
    """

    message: str
    hint: str


class AppSession(Session, Protocol):
    """A session as the app uses it."""

    @property
    def is_closed(self) -> bool:
        """True if the engine has exited."""
        ...

    @property
    def storage_fault(self) -> StorageFaultNote | None:
        """The newest storage error of the engine. None if there was no error."""
        ...

    @property
    def failure(self) -> TuiAgentError | None:
        """The error that ended the engine, or kept it from opening the session. None if there was no error."""
        ...

    async def wait_until_open(self) -> OpenedNote:
        """Wait until the session is open. If it cannot be opened, raise the engine's error."""
        ...

    async def wait_until_readable(self) -> LockedNote | None:
        """Wait until the log can be read.

        Return the note with the log's last event, or None if the session cannot be opened.
        """
        ...

    async def read_newest(self, count: int) -> Sequence[Record]:
        """Return at least `count` of the newest records, if there are so many."""
        ...

    async def load_outline(self) -> tuple[int, SnapshotOutline] | None:
        """Load the part of the cached session state that a screen shows first, without the conversation.

        Return (number of the last cached event, outline of the session state then). Return None if no state is cached.
        """
        ...

    async def serve(self) -> None:
        """Send commands to the engine and receive its records, until the engine ends."""
        ...
