"""The servers in which a session's tools run, as used by the engine."""

from collections.abc import Collection, Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """The content of a server's resource: cleaned text, or the bytes of content that is not text."""

    text: str = ""
    data: bytes = b""
    media_type: str = ""
    """The media type that the server states, cleaned."""


class ToolServers(Protocol):
    """The servers of a session. The names of a server's tools begin with the server's name."""

    @property
    def names(self) -> Collection[str]:
        """The names of all servers."""
        ...

    async def wait_for_tools(self, tools: Collection[str]) -> None:
        """Wait until the servers of these tools run or have failed. The waiting time is limited."""
        ...

    def explain_absence(self, tool: str) -> str:
        """Return the reason why the server of a tool cannot be used now.

        Empty if the server runs, or if no server has such a tool.
        """
        ...

    def resource_tool(self, server: str) -> str:
        """Return the name of a server's resources in rules that allow or deny reading them."""
        ...

    async def read_resource(self, server: str, uri: str) -> ResourceContent:
        """Read a resource of a server. Raises `ToolError`."""
        ...

    async def complete_mention(self, query: str) -> Sequence[str]:
        """Return mentions of resources (`SERVER:URI`) that fit the user's typed text, without the `@`.

        A mention with `{NAME}` in it is a template, for which the user must type more than a name.
        """
        ...
