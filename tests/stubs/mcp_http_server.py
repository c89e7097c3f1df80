"""An MCP server over HTTP, made with the SDK: `python mcp_http_server.py PORT`."""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("web", version="2.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


server.run("streamable-http", port=int(sys.argv[1]))
