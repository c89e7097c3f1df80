"""The MCP servers of the user's configuration and of a trusted project's `.mcp.json`.

Invariant: a project's server needs trust, and never replaces a user's server.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from pydantic import ValidationError

from tui_agent.config.settings.settings import Config, McpServerTable
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json

PROJECT_FILE = ".mcp.json"
MAX_SERVERS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,99})(?::-([^{}]{0,999}))?\}")
_FOREIGN_FIELDS = frozenset({"type", "transport", "description", "disabled", "alwaysAllow", "autoApprove"})
"""Fields of `.mcp.json` that other programs use. tui-agent ignores all of them except `disabled`."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """A configured server.

    `source`: where the server is configured.
    `fault`: the reason why the server cannot be used, or empty.
    """

    name: str
    source: str
    table: McpServerTable | None = None
    fault: str = ""


def load_mcp_servers(
    config: Config, variables: Mapping[str, str], of_client: Iterable[tuple[str, str]] = ()
) -> tuple[McpServer, ...]:
    """Return all servers, including disabled ones, with `${VARIABLE}` replaced.

    For equal names, the order of precedence is: user, client (`SessionOptions.mcp_servers`), project.
    """
    mine = [McpServer(name, config.origin(f"mcp.{name}"), table) for name, table in config.mcp.items()]
    known = {server.name: server for server in mine}
    clients = (_read_entry(name, "the editor", parse_json(settings)) for name, settings in of_client)
    for server in (*clients, *_project_servers(config)):
        known.setdefault(server.name, server)
    return tuple(_check_server(server, variables) for server in list(known.values())[:MAX_SERVERS])


def _project_servers(config: Config) -> Iterator[McpServer]:
    project = config.project
    if project is None:
        return
    source = str(project.folder / PROJECT_FILE)
    try:
        text = project.read_text(PROJECT_FILE)
        tree = None if text is None else parse_json(text)
    except ConfigError as error:
        yield McpServer(PROJECT_FILE, source, fault=error.message)
        return
    except ValueError as error:
        yield McpServer(PROJECT_FILE, source, fault=f"it is not valid JSON: {error}")
        return
    servers = tree.get("mcpServers", {}) if isinstance(tree, dict) else None
    if tree is not None and not isinstance(servers, dict):
        yield McpServer(PROJECT_FILE, source, fault="it has no `mcpServers` object")
        return
    for name, fields in (servers or {}).items():
        yield _read_entry(str(name), source, fields)


def _read_entry(name: str, source: str, fields: object) -> McpServer:
    if not isinstance(fields, dict):
        return McpServer(name, source, fault="its entry is not an object")
    known = {key: value for key, value in fields.items() if key not in _FOREIGN_FIELDS}
    if fields.get("disabled") is True:
        known["enabled"] = False
    try:
        return McpServer(name, source, McpServerTable.model_validate(known))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        return McpServer(name, source, fault=f"{place}: {message}" if place else message)


def _check_server(server: McpServer, variables: Mapping[str, str]) -> McpServer:
    """Return the server with its variables replaced, or with a `fault` if it cannot be used."""
    table = server.table
    if not _NAME.fullmatch(server.name) and not server.fault:
        return replace(server, fault="its name must consist of at most 40 letters, digits, - and _")
    if table is None or not table.enabled:
        return server
    missing: list[str] = []

    def fill(text: str) -> str:
        return _VARIABLE.sub(_value(variables, missing), text)

    filled = table.model_copy(
        update={
            "command": fill(table.command),
            "args": tuple(map(fill, table.args)),
            "env": {name: fill(value) for name, value in table.env.items()},
            "cwd": fill(table.cwd),
            "url": fill(table.url),
            "headers": {name: fill(value) for name, value in table.headers.items()},
        }
    )
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        return replace(server, table=table, fault=f"the variable {names} is not set")
    return replace(server, table=filled)


def _value(variables: Mapping[str, str], missing: list[str]) -> Callable[[re.Match[str]], str]:
    def value(match: re.Match[str]) -> str:
        text = variables.get(match[1], "") or match[2]
        if text is None:
            missing.append(match[1])
        return text or ""

    return value
