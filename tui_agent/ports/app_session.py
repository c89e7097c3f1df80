"""The session protocol of the app, independent of the process in which the engine runs.

Invariant: protocols only; the remote session and the sessions of tests implement them.
"""

from collections.abc import Sequence
from typing import Protocol

from tui_agent.folds.session.snapshot import Outline
from tui_agent.ports.session import Session
from tui_agent.protocol.envelope import Record


class OpenedSession(Protocol):
    """The engine's note that it has opened the session."""

    session: str
    folder: str
    last_seq: int
    new: bool


class Trouble(Protocol):
    """A storage error of the engine, which therefore cannot be in the log."""

    message: str
    hint: str


class HeldSession(Protocol):
    """The engine's note that it has locked the session."""

    last_seq: int


class AppSession(Session, Protocol):
    """A session of the app: opened once, served in the background."""

    @property
    def closed(self) -> bool:
        """True if the engine is gone, so that no new records come."""
        ...

    @property
    def trouble(self) -> Trouble | None:
        """The newest storage error of the engine."""
        ...

    async def opened(self) -> OpenedSession:
        """Wait until the session is open. Raises the error if it cannot be opened."""
        ...

    async def held(self) -> HeldSession | None:
        """Wait until the log can be read; None if the session cannot be opened."""
        ...

    async def tail(self, count: int) -> Sequence[Record]:
        """Return the newest records for a first screen, with `count` besides those of an opening."""
        ...

    async def kept(self) -> tuple[int, Outline] | None:
        """Return the cached fold's outline with its last event; None if there is no cached fold."""
        ...

    async def serve(self) -> None:
        """Send commands to the engine and receive its records until it ends."""
        ...
