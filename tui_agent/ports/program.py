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
        """Return the connection to the program `name`; start the program if it does not run.

            It runs where commands run, with the permissions of this call. `connect` gets the program's pipes and yields the connection. It may run tasks; it is closed when the program ends: by
        `end`, when the plugin changes, or with the session. If a later call has other permissions, the program is ended and started again. Raises what `connect`
            raises, and `EnvironmentFault` if the program cannot be started.
        """
        ...

    async def end(self, name: str) -> None:
        """End the program `name` with all its processes. Does nothing if it does not run."""
        ...
