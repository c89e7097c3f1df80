"""Check of an MCP server's folder by `plugins check`. The server need not be in the configuration."""

import math
import sys
from pathlib import Path

import anyio

from tui_agent.cli.mcp import start_servers
from tui_agent.mcp.server_runner import OFF
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.server_tool import name_tools
from tui_agent.plugin_host.check import CheckReport
from tui_agent.plugin_host.discover import FOLDS, MANIFEST
from tui_agent.workspace.local.environment import LocalEnvironment

SERVER_FILE = "server.py"
_PLUGIN_FILES = ("__init__.py", MANIFEST, FOLDS)


def is_mcp_server(path: Path) -> bool:
    """Return True if the folder contains an MCP server (`server.py`) and no plugin."""
    return (path / SERVER_FILE).is_file() and not any((path / name).exists() for name in _PLUGIN_FILES)


def check_mcp_server(path: Path) -> CheckReport:
    """Start the server in the folder `path`, list its tools, and stop the server."""
    folder = path.absolute()
    file, name = folder / SERVER_FILE, folder.name
    settings = ServerSettings(name, sys.executable, (str(file),), source=str(file))
    [runner] = anyio.run(start_servers, LocalEnvironment(folder), [settings], math.inf)
    fault = runner.fault.removesuffix(OFF)
    how_to_use = (
        f"To use the server: add it to config.toml (docs/mcp.md), then run: tui-agent mcp check {name}"
    )
    return CheckReport(
        name,
        runner.version,
        tuple(f"tool:{tool}" for tool in name_tools(name, runner.tools)),
        (f"The MCP server does not work: {fault}.",) if fault else (),
        (*runner.left_out, *(() if fault else (how_to_use,))),
    )
