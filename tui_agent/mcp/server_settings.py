"""The settings of one MCP server, from the configuration."""

from collections.abc import Mapping
from dataclasses import field

from tui_agent.config.settings.mcp_logins import LoginFile
from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """An MCP server: a program to start (`command`), or an address (`url`).

    - `timeout`: time limit of the start and of each call, in seconds.
    - `source`: the file that configures the server.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    login: LoginFile | None = None
    """The file with the server's login; None for a server without an address."""
    timeout: float = 60.0
    source: str = ""
