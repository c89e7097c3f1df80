"""The session protocol, which every client uses: submit commands, follow events."""

from typing import Protocol

from tui_agent.ports.log import Follower
from tui_agent.protocol.commands import Command
from tui_agent.protocol.ids import CommandId, SessionId


class Session(Protocol):
    """A session, in this process (headless, tests) or in another (the app). Both pass one contract test."""

    @property
    def id(self) -> SessionId: ...

    def submit(self, command: Command) -> CommandId:
        """Queue a command and return its id at once. Never blocks, never raises for a running session."""
        ...

    def follow(self, after: int = -1) -> Follower:
        """Follow the log: history after `after`, then new records. An empty batch means that the session has ended.

        History may lack the deltas of finished requests; their complete answers are in it.
        """
        ...

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes. Raises `BlobMissing`."""
        ...

    async def aclose(self) -> None:
        """Interrupt the turn, commit the log, and release the lock."""
        ...
