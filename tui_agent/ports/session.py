"""The session protocol, which every client uses: submit commands, follow events."""

from collections.abc import Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.snapshot import SnapshotOutline
from tui_agent.ports.log import Follower
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.ids import CommandId, SessionId


class Session(Protocol):
    """A session whose engine runs in this process (headless, tests) or in another one (the app).

    Both implementations pass the same contract test.
    """

    @property
    def id(self) -> SessionId: ...

    def submit(self, command: Command) -> CommandId:
        """Queue a command and return its id. Never blocks, and never raises while the session runs."""
        ...

    def follow(self, after: int = -1) -> Follower:
        """Follow the log: history after event `after`, then new records.

        History may lack the streamed pieces of finished answers, but has the complete answers. An empty batch means
        that the session has ended.
        """
        ...

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes. Raises `BlobNotFound`."""
        ...

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        """Return completions of a slash command's `arguments`: whole texts that could replace them.

        For the command `@` they are resources of MCP servers that a prompt can mention.
        """
        ...

    async def aclose(self) -> None:
        """Close the session: interrupt the turn, commit the log, and release the lock."""
        ...


@dataclass(frozen=True, slots=True)
class LockedNote:
    """A note to the app that the engine has locked the session and begins to compute its state.

    From then on, the log file can be read up to `last_seq`.
    """

    session: str
    folder: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note to the app that the engine has opened the session, whose last event is `last_seq`.

    The log file has the events up to `stored_seq` (-1 if it does not exist yet); the rest comes through the pipe.
    """

    session: str
    folder: str
    last_seq: int
    stored_seq: int
    pid: int
    new: bool


@dataclass(frozen=True, slots=True)
class StorageFaultNote:
    """A note to the app about a storage error of the engine. The log may lack it, because storing failed."""

    message: str
    hint: str


class AppSession(Session, Protocol):
    """A session as the app uses it: opened once, served in the background."""

    @property
    def is_closed(self) -> bool:
        """True if the engine has exited and no new records will come."""
        ...

    @property
    def storage_fault(self) -> StorageFaultNote | None:
        """The newest storage error of the engine."""
        ...

    async def wait_until_open(self) -> OpenedNote:
        """Wait until the session is open. Raises the error if it cannot be opened."""
        ...

    async def wait_until_readable(self) -> LockedNote | None:
        """Wait until the log can be read, and return the end of the log.

        Return None if the session cannot be opened.
        """
        ...

    async def read_newest(self, count: int) -> Sequence[Record]:
        """Return at least `count` of the newest records.

        Records that are made whenever a process opens the session do not count.
        """
        ...

    async def load_outline(self) -> tuple[int, SnapshotOutline] | None:
        """Return the outline of the cached state of the session, with the seq of its last event.

        Return None if there is no cached state.
        """
        ...

    async def serve(self) -> None:
        """Send commands to the engine and receive its records until it ends."""
        ...
