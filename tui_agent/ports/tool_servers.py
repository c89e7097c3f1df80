"""The servers that a session's tools run in, as the engine sees them."""

from collections.abc import Collection
from typing import Protocol


class ToolServers(Protocol):
    """The servers of a session. Each has the tools whose names begin with its own."""

    async def wait_for_tools(self, tools: Collection[str]) -> None:
        """Wait until the servers of these tools run or were given up. The wait is limited."""
        ...

    def explain_absence(self, tool: str) -> str:
        """Return why the server of a tool cannot be used now; empty if it runs, or if no server has such a tool."""
        ...
