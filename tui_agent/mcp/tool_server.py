"""An MCP server that offers functions as tools to other agents, over standard input and output or by HTTP.

Invariant: only messages of the protocol are written to standard output, and an HTTP request without the token fails.
"""

import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from tui_agent import __version__
from tui_agent.errors import TuiAgentError, UsageError, os_errors_as

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
SHUTDOWN_S = 3
"""Time for open requests to end when the HTTP server is stopped, in seconds."""
ToolFunction: TypeAlias = Callable[..., Awaitable[str]]
"""Function that becomes a tool. The tool gets its name, docstring and parameters."""


async def serve_tools(name: str, tools: Sequence[ToolFunction]) -> None:
    """Serve `tools` as the MCP server `name` over standard input and output, until standard input ends."""
    await _make_server(name, tools).run_stdio_async()


async def serve_tools_by_http(
    name: str,
    tools: Sequence[ToolFunction],
    host: str,
    port: int,
    announce: Callable[[str, str], None],
) -> None:
    """Serve `tools` as the MCP server `name` by streamable HTTP, until cancelled.

    `announce`: called with the address and the token.

    Raise `UsageError` if the port cannot be used.
    """
    import uvicorn  # noqa: PLC0415 - slow, and only needed here

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # the caller handles signals

    listening = _listen(host, port)
    token = secrets.token_urlsafe(32)
    app = _require_token(_make_server(name, tools).streamable_http_app(host=host), token)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=SHUTDOWN_S)
    with listening:
        shown_host = f"[{host}]" if ":" in host else host
        announce(f"http://{shown_host}:{listening.getsockname()[1]}{PATH}", token)
        server = Server(config)

        async def serve() -> None:
            with anyio.CancelScope(shield=True):  # a cancelled server would print a traceback
                await server.serve([listening])

        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            try:
                await anyio.sleep_forever()
            finally:
                server.should_exit = True


def _make_server(name: str, tools: Sequence[ToolFunction]) -> MCPServer:
    server = MCPServer(name, version=__version__, log_level="WARNING")
    for tool in tools:
        server.add_tool(_with_message(tool), structured_output=False)
    return server


def _listen(host: str, port: int) -> socket.socket:
    with os_errors_as(UsageError, f"Cannot listen on {host}:{port}", hint="Choose another port with --port."):
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def _require_token(app: "ASGIApp", token: str) -> "ASGIApp":
    """Wrap an app so that requests without the token get status 401."""
    expected_header = f"Bearer {token}".encode()

    async def check(scope: "Scope", receive: "Receive", send: "Send") -> None:
        header = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(header, expected_header):
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send(
            {"type": "http.response.body", "body": b"Unauthorized: send the token that was printed.\n"}
        )

    return check


def _with_message(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """Wrap `tool` so that an error of tui-agent is raised as an error of the SDK."""

    @wraps(tool)
    async def run(*args: object, **kwargs: object) -> str:
        try:
            return await tool(*args, **kwargs)
        except TuiAgentError as error:
            raise ToolError(str(error)) from error

    return run
