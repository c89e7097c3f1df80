"""An MCP server that offers functions as tools to other agents, over standard input and output.

Invariant: only messages of the protocol are written to standard output.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from tui_agent import __version__
from tui_agent.errors import TuiAgentError


async def serve_tools(name: str, tools: Sequence[Callable[..., Awaitable[str]]]) -> None:
    """Serve until standard input ends. A tool has the name, the docstring and the parameters of its function."""
    server = MCPServer(name, version=__version__, log_level="WARNING")
    for tool in tools:
        server.add_tool(_with_message(tool), structured_output=False)
    await server.run_stdio_async()


def _with_message(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """Return a function that calls `tool` and passes the messages of our errors on to the other agent."""

    @wraps(tool)
    async def run(*args: object, **kwargs: object) -> str:
        try:
            return await tool(*args, **kwargs)
        except TuiAgentError as error:
            raise ToolError(str(error)) from error

    return run
