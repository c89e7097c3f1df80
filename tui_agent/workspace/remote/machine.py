"""The interface to a provider's machine that runs commands, and the conversion of providers' errors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from tui_agent.errors import EnvironmentFault, EnvironmentLost

SERVER_ERROR = 500
"""HTTP status codes from this one on are errors of the provider's server."""


def provider_fault(message: str, error: Exception, interruptions: Collection[str]) -> EnvironmentFault:
    """Convert an error of a provider's SDK to an `EnvironmentFault`.

    The result is an `EnvironmentLost` for a server error, and for an error whose class or base class is in
    `interruptions`.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    is_lost = not names.isdisjoint(interruptions) or (isinstance(status, int) and status >= SERVER_ERROR)
    return (EnvironmentLost if is_lost else EnvironmentFault)(f"{message}: {error or type(error).__name__}")


class RemoteMachine(Protocol):
    """A machine of a provider, which exists from `start` to `aclose`.

    Every method raises `EnvironmentFault` if the provider fails.
    """

    @property
    def description(self) -> str:
        """A phrase about where commands run."""
        ...

    async def start(self) -> None:
        """Create the machine; raise `ConfigError` with advice if it cannot be created."""
        ...

    async def run(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
    ) -> int:
        """Run a program to its end and return its exit code. After a cancellation, the program can still be running."""
        ...

    async def write_file(self, data: bytes, path: str) -> None:
        """Write a file."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Read a file."""
        ...

    async def aclose(self) -> None:
        """Remove the machine with everything on it."""
        ...
