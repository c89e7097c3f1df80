"""What the app knows of a session and its engine, whatever they run in.

Invariant: protocols only; a test's session and the remote one fit them alike.
"""

from collections.abc import Sequence
from typing import Protocol

from tui_agent.folds.session.snapshot import Outline
from tui_agent.ports.session import Session
from tui_agent.protocol.envelope import Record


class OpenedSession(Protocol):
    """What an engine says when it holds the session."""

    session: str
    folder: str
    last_seq: int
    new: bool


class Trouble(Protocol):
    """What could not be stored, told beside the log."""

    message: str
    hint: str


class HeldSession(Protocol):
    """What an engine says when it has the session's lock."""

    last_seq: int


class AppSession(Session, Protocol):
    """A session as the app drives it: opened once, served in the background."""

    @property
    def closed(self) -> bool:
        """Its engine is gone; nothing new comes."""
        ...

    @property
    def trouble(self) -> Trouble | None:
        """The newest thing that the engine could not store."""
        ...

    async def opened(self) -> OpenedSession:
        """Wait until it is open. Raises what kept it from that."""
        ...

    async def held(self) -> HeldSession | None:
        """Wait until its log can be read; None when it cannot be opened."""
        ...

    async def tail(self, count: int) -> Sequence[Record]:
        """The newest records as it was opened, at most `count`."""
        ...

    async def kept(self) -> tuple[int, Outline] | None:
        """What was kept of an earlier fold, with the event after which it stands; None where nothing was."""
        ...

    async def serve(self) -> None:
        """Move commands and records until it ends."""
        ...
