"""Conversion of an editor's MCP servers to entries of the configuration."""

import json
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

EditorServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
MAX_NAME_CHARS: Final = 40
_NOT_IN_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")


def server_entries(servers: Iterable[EditorServer]) -> tuple[tuple[str, str], ...]:
    """Return (name, settings) for each supported server. The settings are JSON, as in `.mcp.json`."""
    entries: dict[str, str] = {}
    for server in servers:
        settings: dict[str, object]
        match server:
            case McpServerStdio():
                variables = {variable.name: variable.value for variable in server.env}
                settings = {"command": server.command, "args": server.args, "env": variables}
            case HttpMcpServer():
                headers = {header.name: header.value for header in server.headers}
                settings = {"url": server.url, "headers": headers}
            case _:
                continue  # the protocol does not require agents to support these kinds
        name = _NOT_IN_NAME.sub("-", server.name).strip("-_")[:MAX_NAME_CHARS] or "server"
        entries[name] = json.dumps(settings)
    return tuple(entries.items())
