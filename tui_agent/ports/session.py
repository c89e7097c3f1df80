"""The facade that every client drives a session by: submit commands, follow events."""

from typing import Protocol

from tui_agent.ports.log import Follower
from tui_agent.protocol.commands import Command
from tui_agent.protocol.ids import CommandId, SessionId


class Session(Protocol):
    """In-process (headless, tests, evals) or remote (the app): one contract test holds both."""

    @property
    def id(self) -> SessionId: ...

    def submit(self, command: Command) -> CommandId:
        """Enqueue a command and return its id at once; never blocks, never raises for a running session."""
        ...

    def follow(self, after: int = -1) -> Follower:
        """History from `after`, then live. An empty batch means that the session has ended.

        History may come without the deltas of requests that have ended: their answers are in it whole.
        """
        ...

    async def read_blob(self, blob_sha256: str) -> bytes:
        """A blob's bytes. Raises `BlobMissing`."""
        ...

    async def aclose(self) -> None:
        """Close in order: the turn is interrupted, the log is committed, the lock is free afterwards."""
        ...
