"""The session protocol, which every client uses: submit commands, follow events."""

import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from tui_agent.errors import BlobNotFound
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.snapshot import SnapshotOutline
from tui_agent.ports.log import Follower
from tui_agent.protocol.base import CommandId, LongText, SessionId, text_preview
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Record

STOP_SIGNAL = signal.SIGURG
"""Signal that makes an engine's process interrupt plugin code that blocks the event loop.

The default is to ignore the signal, so that a late signal does no harm.
"""
ReadText: TypeAlias = Callable[[LongText], Awaitable[str]]
"""Function that returns the full text that an event refers to."""


class Session(Protocol):
    """A session with an engine in this process (headless, tests) or in another process (the app).

    Both implementations pass the same contract test.
    """

    @property
    def id(self) -> SessionId: ...

    def submit(self, command: Command) -> CommandId:
        """Queue a command and return its id. Does not block, and does not raise while the session runs."""
        ...

    def follow(self, after: int = -1) -> Follower:
        """Follow the log: first the history after the event `after`, then new records.

        The history contains complete answers, but their streamed pieces can be missing. An empty batch means that the
        session has ended.
        """
        ...

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes. Raises `BlobNotFound`."""
        ...

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        """Return completions of a slash command's `arguments`. Each is a whole text that can replace `arguments`.

        For the command `@`, they are resources of MCP servers that a prompt can mention.
        """
        ...

    async def aclose(self) -> None:
        """Close the session: interrupt the turn, store the log, and release the lock."""
        ...


async def read_text(session: Session, text: LongText) -> str:
    """Return the full text that an event refers to. Raises `BlobNotFound` if the text is missing."""
    if isinstance(text, str):
        return text
    return (await session.read_blob(text.blob_sha256)).decode("utf-8", "replace")


async def read_text_or_preview(session: Session, text: LongText) -> str:
    """Return the full text that an event refers to, or only its beginning if the text is missing."""
    try:
        return await read_text(session, text)
    except BlobNotFound:
        return text_preview(text)


@dataclass(frozen=True, slots=True)
class LockedNote:
    """A note to the app that the engine has locked the session and begins to compute the session's state.

    From now on, the log file can be read up to `last_seq`.
    """

    session: str
    folder: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note to the app that the engine has opened the session. The session's last event is `last_seq`.

    The log file has the events up to `stored_seq` (-1 if the file does not exist yet). Later events come through the
    pipe.
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

    The error is possibly missing from the log, because storing failed.
    """

    message: str
    hint: str


class AppSession(Session, Protocol):
    """A session as the app uses it. It is opened once and served in the background."""

    @property
    def is_closed(self) -> bool:
        """True if the engine has exited, so that no new records will come."""
        ...

    @property
    def storage_fault(self) -> StorageFaultNote | None:
        """The newest storage error of the engine. None if there was none."""
        ...

    async def wait_until_open(self) -> OpenedNote:
        """Wait until the session is open. If it cannot be opened, raise the engine's error."""
        ...

    async def wait_until_readable(self) -> LockedNote | None:
        """Wait until the log can be read, and return the end of the log.

        Return None if the session cannot be opened.
        """
        ...

    async def read_newest(self, count: int) -> Sequence[Record]:
        """Return at least `count` of the newest records.

        The records that every start of a run adds are not counted.
        """
        ...

    async def load_outline(self) -> tuple[int, SnapshotOutline] | None:
        """Return the outline of the cached session state, with the seq of the state's last event.

        Returns None if no state is cached.
        """
        ...

    async def serve(self) -> None:
        """Send commands to the engine and receive its records, until the engine ends."""
        ...
