"""An MCP server of our own: functions as tools of other agents, over standard input and output.

Invariant: nothing but the protocol is written to standard output.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from tui_agent import __version__
from tui_agent.errors import TuiAgentError


async def serve_tools(name: str, tools: Sequence[Callable[..., Awaitable[str]]]) -> None:
    """Serve until standard input ends. A tool has its function's name, docstring and parameters."""
    server = MCPServer(name, version=__version__, log_level="WARNING")
    for tool in tools:
        server.add_tool(_with_message(tool), structured_output=False)
    await server.run_stdio_async()


def _with_message(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """Return the tool so that the other agent gets the message of an error of tui-agent."""

    @wraps(tool)
    async def run(*args: object, **kwargs: object) -> str:
        try:
            return await tool(*args, **kwargs)
        except TuiAgentError as error:
            raise ToolError(str(error)) from error

    return run
