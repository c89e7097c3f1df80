"""Composition of the MCP servers of a session."""

import os

from tui_agent.config.extensions.mcp_servers import McpServer, load_mcp_servers
from tui_agent.config.settings.layers import merge_environment
from tui_agent.config.settings.mcp_logins import LoginFile
from tui_agent.config.settings.settings import McpServerTable
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.servers import McpServers, StartTimes
from tui_agent.ports.environment import ProcessOpener
from tui_agent.protocol.events.plugin import MCP_OWNER, PluginFailed
from tui_agent.wiring.startup_context import StartupContext


def configured_servers(base: StartupContext) -> tuple[McpServer, ...]:
    """Return the MCP servers of the configuration, the client and a trusted project, with the stored keys."""
    variables = merge_environment(base.options, os.environ)
    secrets = base.keys.collect_secrets()
    return load_mcp_servers(base.config, {**secrets, **variables}, base.options.mcp_servers)


def server_settings(base: StartupContext, server: McpServer) -> ServerSettings | None:
    """Return the settings with which the MCP client connects to a server. None if the server is off or faulty."""
    table = server.table
    if table is None or not table.enabled or server.fault:
        return None
    return ServerSettings(
        server.name,
        **table.model_dump(exclude={"enabled"}),
        login=login_file(base, server.name, table) if table.url else None,
        source=server.source,
    )


def login_file(base: StartupContext, name: str, table: McpServerTable) -> LoginFile | None:
    """Return the `LoginFile` of a server; None if the configuration already contains the server's token."""
    if any(header.lower() == "authorization" for header in table.headers):
        return None
    return LoginFile(base.config.paths.mcp_logins, name, table.url, base.redactor.learn)


def build_servers(
    base: StartupContext, opener: ProcessOpener, root: str
) -> tuple[McpServers, list[PluginFailed]]:
    """Return the servers of a session, not started, and an event for each unusable server."""
    known = () if base.options.no_plugins else configured_servers(base)
    settings = [entry for server in known if (entry := server_settings(base, server)) is not None]
    failed = [
        PluginFailed(
            plugin=f"{MCP_OWNER}{server.name}",
            message=f"{server.fault[:1].upper()}{server.fault[1:]}.",
            where=server.source,
        )
        for server in known
        if server.fault
    ]
    return McpServers(settings, opener, root, start_times(base)), failed


def start_times(base: StartupContext) -> StartTimes:
    """Return the saved start times of MCP servers, which all sessions share."""
    return StartTimes(base.config.cache_dir / "mcp_start_times")
