"""The interface to a machine of a provider that runs commands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class RemoteMachine(Protocol):
    """A machine that exists from `start` to `aclose`. Every method raises `EnvironmentFault` if the provider fails."""

    @property
    def description(self) -> str:
        """A phrase that says where commands run."""
        ...

    async def start(self) -> None:
        """Create the machine. Raises `ConfigError`, which says what to do, if that fails."""
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
        """Run a program to its end and return its exit code. A cancelled call may leave the program running."""
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
