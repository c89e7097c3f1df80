"""Interfaces of the replay screen: the session to read, and the actions at an event."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.cli_client import Ask
from tui_agent.tui.screens.tree.fork import StartFork


class ReplaySource(Protocol):
    """A session that the replay screen reads."""

    @property
    def id(self) -> str: ...
    @property
    def folder(self) -> Path | None:
        """The folder of the session's log, if it is stored."""

    async def read_all(self) -> Sequence[Record]:
        """Return every event of the session, in order."""
        ...

    async def read_text(self, text: LongText) -> str:
        """Return the full content of a text, even if it is stored outside the log."""
        ...


class LiveSource(ReplaySource, Protocol):
    """A session that another process can write during the replay."""

    async def read_new(self, after: int) -> Sequence[Record]:
        """Return the events after `after`, the caller's newest event."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayHost:
    """Services for the replay screen. An unavailable service is None.

    `opens`: the command that opens a session, without the session's id.
    """

    ask: Ask
    opens: str
    revert: "Callable[[int, Callable[[], object]], None] | None" = None
    """Function that reverts the open session. It takes an event's number and a function that closes the replay."""
    fork: StartFork | None = None
    """Function that creates a fork at an event and opens it. If None, a fork is only created and its id shown."""
    what_if: StartFork | None = None
    leave: Callable[[], None] | None = None
    """Function that closes the replay. If None, the screen below is shown again."""
