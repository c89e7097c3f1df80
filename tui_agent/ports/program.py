"""Programs that keep running between the calls of a plugin's tools."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from tui_agent.ports.environment import ExecSpec, PipedProcess

ConnectionT = TypeVar("ConnectionT")


class Programs(Protocol):
    """The programs that one plugin's tools have started."""

    async def use(
        self,
        name: str,
        spec: ExecSpec,
        connect: Callable[[PipedProcess], AbstractAsyncContextManager[ConnectionT]],
    ) -> ConnectionT:
        """Return the connection to the program `name`. Start the program if it is not running.

        The program has the permissions of the tool call that starts it. A later tool call with other permissions
        restarts the program.

        `connect`: opens the connection. It gets the program's pipes and returns an async context manager. The
        connection is closed when the program ends.

        Raise any error of `connect`, and `EnvironmentFault` if the program cannot be started.
        """
        ...

    async def end(self, name: str) -> None:
        """End the program `name` with all its processes, if it is running."""
        ...
