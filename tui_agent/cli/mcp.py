"""List, check and log in to the MCP servers of the configuration."""

import argparse
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import anyio

from tui_agent.cli.console.output import say, say_json, table, warn
from tui_agent.cli.console.shared_options import Parser, Verbs, add_option, ignored_file_notices, load_context
from tui_agent.config.extensions.mcp_servers import PROJECT_FILE, McpServer
from tui_agent.config.settings.mcp_logins import LoginFile
from tui_agent.errors import UsageError
from tui_agent.mcp.offered_tools import name_tools
from tui_agent.mcp.server_runner import OFF, ServerRunner
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.wiring.mcp import configured_servers, server_settings, start_times
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment

EXAMPLES = """\
examples:
  tui-agent mcp list                 list the servers without starting their programs
  tui-agent mcp check time           start a server, and list its tools
  tui-agent mcp login tracker        log in to an HTTP server, in your browser
  tui-agent mcp logout tracker       delete the saved login of a server
"""
ANSWER_LIMIT_S = 5.0
"""Maximum wait for the tool lists of all servers with an address, in seconds."""
LOGIN_LIMIT_S = 300.0
"""Time limit for the user's login, in seconds."""
NEEDS_LOGIN = "needs login"

NO_SERVERS = "No MCP servers are configured."
HOW_TO_ADD = "Add a server to your config.toml (tui-agent config edit); docs/mcp.md has examples."


def configure(parser: Parser) -> None:
    """Add the subcommands of `mcp`."""
    verbs = Verbs(parser, EXAMPLES)
    groups = ("folders", "project")
    verbs.add("list", list_servers, "list the servers without starting their programs", groups=groups)
    check = verbs.add("check", check_server, "start a server, and list its tools", groups=groups)
    login = verbs.add("login", log_in, "log in to an HTTP server, in your browser", groups=groups)
    add_option(
        login,
        "--timeout-seconds N",
        f"give up after N seconds (default: {LOGIN_LIMIT_S:g})",
        type=float,
        default=LOGIN_LIMIT_S,
    )
    logout = verbs.add("logout", log_out, "delete the saved login of a server", groups=groups)
    for verb in (check, login, logout):
        verb.add_argument("name", metavar="NAME", help="a name from mcp list")


def list_servers(arguments: argparse.Namespace) -> None:
    """Print a line for each server of the user and of a trusted project."""
    base = load_context(arguments)
    servers, rows = configured_servers(base), []
    faults = _ask_addresses(base, servers)
    for server in servers:
        tables = server.table
        state = "faulty" if server.fault else "on" if tables is not None and tables.enabled else "off"
        fault = server.fault or faults.get(server.name, "")
        state = NEEDS_LOGIN if fault.startswith(NEEDS_LOGIN) else state
        started = "" if tables is None else tables.url or " ".join([tables.command, *tables.args])
        fields = {"name": server.name, "state": state, "starts": started, "source": server.source}
        if arguments.json:
            say_json({**fields, "fault": fault})
        rows.append([server.name, state, fault or started, server.source])
    if not arguments.json:
        table(rows, ["name", "state", "starts", "from"])
        if not rows:
            say(f"{NO_SERVERS} {HOW_TO_ADD}")
    _warn_of_untrusted(base)


def _ask_addresses(base: StartupContext, servers: Sequence[McpServer]) -> Mapping[str, str]:
    """Connect to each server with an address. Return a message for each server that requires a login.

    The keys of the result are the servers' names.
    """
    known = [server_settings(base, server) for server in servers]
    asked = [settings for settings in known if settings is not None and settings.login is not None]
    if not asked:
        return {}
    runners = anyio.run(start_servers, _environment(base), asked, ANSWER_LIMIT_S)
    faults = {runner.settings.name: runner.fault for runner in runners}
    return {name: fault for name, fault in faults.items() if fault.startswith(NEEDS_LOGIN)}


def _warn_of_untrusted(base: StartupContext) -> None:
    """Warn if the project's file of MCP servers is not trusted."""
    for notice in ignored_file_notices(base.config, lambda path: path.name == PROJECT_FILE):
        warn(notice)


def check_server(arguments: argparse.Namespace) -> int:
    """Start a server and print its tools; return 1 if the server fails."""
    base = load_context(arguments)
    settings = _find_server(base, arguments.name)
    [runner] = anyio.run(start_servers, _environment(base), [settings], math.inf)
    fault = runner.fault.removesuffix(OFF)
    if runner.start_seconds is not None:
        start_times(base).save(settings, runner.start_seconds)
    tools = [
        {
            "name": name,
            "read_only": tool.read_only,
            "description": tool.description,
        }
        for name, tool in name_tools(settings.name, runner.tools).items()
    ]
    if arguments.json:
        left_out = list(runner.left_out)
        say_json(
            {"name": settings.name, "ok": not fault, "fault": fault, "tools": tools, "left_out": left_out}
        )
    else:
        words = " ".join(filter(None, (settings.name, runner.version)))
        say(f"{words}: {fault or 'ok'}")
        for tool in tools:
            first = str(tool["description"]).partition("\n")[0]
            say(f"  {tool['name']}: {first}")
        for sentence in runner.left_out:
            warn(sentence)
    return 1 if fault else 0


def log_in(arguments: argparse.Namespace) -> int:
    """Log in to a server in the user's browser, and save the login."""
    base = load_context(arguments)
    settings = _find_server(base, arguments.name)
    if not settings.url:
        raise UsageError(
            f"The MCP server {settings.name} is a program. Only a server with a url has a login."
        )
    if settings.login is None:
        raise UsageError(
            f"The MCP server {settings.name} has an Authorization header in {settings.source}.",
            hint="To log in instead, remove the header.",
        )
    sdk: Any = import_module("tui_agent.mcp.browser_login")

    async def show(url: str) -> None:
        say(f"Log in to {settings.name} in your browser:\n\n  {url}\n")
        say("If the browser is on another machine, copy the address of the last page, and paste it here.")
        await sdk.open_browser(url)

    async def run() -> int | None:
        env = _environment(base)
        try:
            limit: float = arguments.timeout_seconds
            count: int | None = await sdk.log_in(settings, env, env.root, show, warn, limit)
            return count
        finally:
            await env.aclose()

    count = anyio.run(run)
    if count is None:
        say(f"{settings.name} needs no login.")
    else:
        say(f"Logged in to {settings.name}. Its tools: {count}.")
    return 0


def log_out(arguments: argparse.Namespace) -> int:
    """Delete the saved login of a server; return 1 if there is none."""
    base = load_context(arguments)
    # The name becomes a part of the login file's path.
    is_name = "/" not in arguments.name
    if is_name and LoginFile(base.config.paths.mcp_logins, arguments.name).delete():
        say(f"Deleted the saved login of {arguments.name}. The server may still accept it until it expires.")
        return 0
    warn(f"There is no saved login for {arguments.name}.")
    return 1


def _find_server(base: StartupContext, name: str) -> ServerSettings:
    """Return the settings of a server, or raise `UsageError`."""
    known = {server.name: server for server in configured_servers(base)}
    server = known.get(name)
    if server is None:
        _warn_of_untrusted(base)
        if not known:
            raise UsageError(NO_SERVERS, hint=HOW_TO_ADD)
        raise UsageError(f"There is no MCP server {name!r}.", hint=f"The servers are: {', '.join(known)}.")
    settings = server_settings(base, server)
    if settings is None:
        raise UsageError(f"The MCP server {name} is not used: {server.fault or 'the server is off'}.")
    return settings


def _environment(base: StartupContext) -> LocalEnvironment:
    return LocalEnvironment(base.options.cwd, hidden=base.keys.collect_secrets().keys())


async def start_servers(
    env: LocalEnvironment, servers: Sequence[ServerSettings], limit_s: float
) -> list[ServerRunner]:
    """Start the servers, and stop each server as soon as it has listed its tools or has failed.

    Stop all servers after `limit_s` seconds, then close `env`.
    """
    # No delays: a server that fails is not started again.
    runners = [ServerRunner(settings, env, env.root, lambda: None, delays=()) for settings in servers]
    with anyio.move_on_after(limit_s):
        async with anyio.create_task_group() as group:
            for runner in runners:
                group.start_soon(_run_until_settled, runner)
    # Even after the limit: programs that did not answer would stay behind.
    await env.aclose()
    return runners


async def _run_until_settled(runner: ServerRunner) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(runner.run)
        await runner.settled.wait()
        runner.close()
