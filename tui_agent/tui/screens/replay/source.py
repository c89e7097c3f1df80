"""The interfaces of a replay: the session that it reads, and what can be started from one of its moments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Record
from tui_agent.tui.cli_client import Ask

if TYPE_CHECKING:
    from tui_agent.tui.screens.tree.fork import StartFork


class ReplaySource(Protocol):
    """A session that is only read."""

    @property
    def id(self) -> str: ...

    async def read_all(self) -> Sequence[Record]:
        """Return every event, in order."""
        ...

    async def read_text(self, text: LongText) -> str:
        """Return the whole of a text, wherever it is stored."""
        ...


class LiveSource(ReplaySource, Protocol):
    """A session that is only read, while another process may write."""

    async def read_new(self, after: int) -> Sequence[Record]:
        """Return the events after this one that are new since the last call."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayHost:
    """Services for a replay, None if not available. `opens` are the words that open another session, before its id."""

    ask: Ask
    copy: Callable[[str], bool]
    opens: str
    revert: "Callable[[int, Callable[[], object]], None] | None" = None
    """Reverts the open session to an event, and calls the function when the replay is to be left for that."""
    fork: "StartFork | None" = None
    """Makes a fork at an event and opens it; without it the fork is made and named."""
    what_if: "StartFork | None" = None
    leave: Callable[[], None] | None = None
    """Leaves the replay; None returns to the screen below."""
