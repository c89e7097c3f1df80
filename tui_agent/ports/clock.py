"""The clock and the source of identifiers. Tests and replays can replace both."""

from typing import Protocol

from tui_agent.protocol.ids import CallId, CommandId, RequestId, RunId, SessionId


class Clock(Protocol):
    """Wall time for timestamps of records, monotonic time for durations, and sleep for waits."""

    def now(self) -> float:
        """Return seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""
        ...


class Ids(Protocol):
    """A source of identifiers; each call returns a new one."""

    def session(self) -> SessionId: ...
    def run(self) -> RunId: ...
    def command(self) -> CommandId: ...
    def request(self) -> RequestId: ...
    def call(self) -> CallId: ...
