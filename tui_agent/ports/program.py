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

        It runs where commands run, with the permissions of this call. `connect` gets its pipes and yields what the tools
        talk to; it may run tasks, and is closed with the program: by `end`, when the plugin changes, and at the end of the
        session. If a later call has other permissions, the program is ended and started again. Raises what `connect`
        raises, and `EnvironmentFault` if the program cannot be started.
        """
        ...

    async def end(self, name: str) -> None:
        """End the program `name` with all its processes. Does nothing if it does not run."""
        ...
