"""The servers that a session's tools run in, as the engine sees them."""

from collections.abc import Collection, Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """The content of a server's resource: cleaned text, or the bytes of one that is not text."""

    text: str = ""
    data: bytes = b""
    media_type: str = ""
    """The type that the server states, cleaned."""


class ToolServers(Protocol):
    """The servers of a session. Each has the tools whose names begin with its own."""

    @property
    def names(self) -> Collection[str]:
        """The names of all servers."""
        ...

    async def wait_for_tools(self, tools: Collection[str]) -> None:
        """Wait until the servers of these tools run or were given up. The wait is limited."""
        ...

    def explain_absence(self, tool: str) -> str:
        """Return why the server of a tool cannot be used now; empty if it runs, or if no server has such a tool."""
        ...

    def resource_tool(self, server: str) -> str:
        """Return the name by which rules allow or deny reading a server's resources."""
        ...

    async def read_resource(self, server: str, uri: str) -> ResourceContent:
        """Read a resource of a server. Raises `ToolError`."""
        ...

    async def complete_mention(self, query: str) -> Sequence[str]:
        """Return mentions of resources (`SERVER:URI`) that fit what the user has typed, without the `@`.

        One with `{NAME}` in it is a template, which needs more than a name.
        """
        ...
