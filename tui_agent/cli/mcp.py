"""List the MCP servers of the configuration, or start one and show its tools."""

import argparse

import anyio

from tui_agent.cli.context import ignored_file_notices, load_context
from tui_agent.cli.options import Parser, Verbs
from tui_agent.cli.output import say, say_json, table, warn
from tui_agent.config.mcp_servers import PROJECT_FILE
from tui_agent.errors import UsageError
from tui_agent.mcp.server_runner import ServerRunner
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.tool_names import tool_name
from tui_agent.wiring.mcp import configured_servers, server_settings
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment

EXAMPLES = """\
examples:
  tui-agent mcp list                 the servers, without starting any
  tui-agent mcp check time           start one, and list its tools
"""

NO_SERVERS = "No MCP servers are configured."
HOW_TO_ADD = "Add one to your config.toml (tui-agent config edit); docs/mcp.md has examples."


def configure(parser: Parser) -> None:
    """Add the subcommands of `mcp`."""
    verbs = Verbs(parser, EXAMPLES)
    groups = ("folders", "project")
    verbs.add("list", list_servers, "list the servers without starting any", groups=groups)
    check = verbs.add("check", check_server, "start a server, and list its tools", groups=groups)
    check.add_argument("name", metavar="NAME", help="a name from mcp list")


def list_servers(arguments: argparse.Namespace) -> int:
    """Print a line for each server of the user and of a trusted project."""
    base = load_context(arguments)
    rows = []
    for server in configured_servers(base):
        tables = server.table
        state = "faulty" if server.fault else "on" if tables is not None and tables.enabled else "off"
        started = "" if tables is None else tables.url or " ".join([tables.command, *tables.args])
        fields = {"name": server.name, "state": state, "starts": started, "source": server.source}
        if arguments.json:
            say_json({**fields, "fault": server.fault})
        rows.append([server.name, state, server.fault or started, server.source])
    if not arguments.json:
        table(rows, ["name", "state", "starts", "from"])
        if not rows:
            say(f"{NO_SERVERS} {HOW_TO_ADD}")
    _warn_of_untrusted(base)
    return 0


def _warn_of_untrusted(base: StartupContext) -> None:
    """Warn if the project's file of MCP servers is not trusted."""
    for notice in ignored_file_notices(base.config, lambda path: path.name == PROJECT_FILE):
        warn(notice)


def check_server(arguments: argparse.Namespace) -> int:
    """Start a server and print its tools; return 1 if it fails."""
    base = load_context(arguments)
    known = {server.name: server for server in configured_servers(base)}
    server = known.get(arguments.name)
    if server is None:
        _warn_of_untrusted(base)
        if not known:
            raise UsageError(NO_SERVERS, hint=HOW_TO_ADD)
        raise UsageError(
            f"There is no MCP server {arguments.name!r}.", hint=f"The servers are: {', '.join(known)}."
        )
    settings = server_settings(server)
    if settings is None:
        raise UsageError(f"The MCP server {server.name} is not used: {server.fault or 'it is off'}.")
    env = LocalEnvironment(base.options.cwd, hidden=base.keys.collect_secrets().keys())
    runner = anyio.run(_try_to_start, settings, env)
    tools = [
        {
            "name": tool_name(server.name, tool.name),
            "read_only": tool.read_only,
            "description": tool.description,
        }
        for tool in runner.tools
    ]
    if arguments.json:
        say_json({"name": server.name, "ok": not runner.fault, "fault": runner.fault, "tools": tools})
    else:
        say(f"{server.name} {runner.version}: {runner.fault or 'ok'}")
        for tool in tools:
            first = str(tool["description"]).partition("\n")[0]
            say(f"  {tool['name']}: {first}")
    return 1 if runner.fault else 0


async def _try_to_start(settings: ServerSettings, env: LocalEnvironment) -> ServerRunner:
    """Start a server, stop it when it has listed its tools or failed, and return its runner."""
    runner = ServerRunner(settings, env, env.root, lambda: None, delays=())
    async with anyio.create_task_group() as group:
        group.start_soon(runner.run)
        await runner.settled.wait()
        runner.close()
    await env.aclose()
    return runner
