"""Serve the tests of an evaluation environment over HTTP, or as an MCP server, until Ctrl+C.

The environment is a Python file, or a folder with environment.py. With --mcp, an agent can start the server itself, to
test the files in the agent's working folder.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import anyio

from tui_agent.cli.console.output import say
from tui_agent.cli.console.shared_options import Parser, add_flag, add_groups, add_option, load_context
from tui_agent.cli.serve import import_server, parse_port, say_address, serve_until_signal
from tui_agent.evals.environments.environment_file import EvalEnvironment, load_environment
from tui_agent.evals.environments.environment_tests import OpenEnvironment, open_copy, sandboxed_environments

EXAMPLES = """\
examples:
  tui-agent deploy calculator.py --port 9000
  tui-agent deploy calculator.py --mcp
  tui-agent deploy calculator.py --mcp --port 9000 -C my-calculator
"""
PORT = 8000


def configure(parser: Parser) -> None:
    """Add the arguments for the environment, the address and the folders to the parser."""
    parser.add_argument("file", metavar="ENV", type=Path, help="the environment: a Python file, or a folder")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine only)"
    )
    add_option(parser, "--port", f"the port (default: {PORT}; 0: any free port)", type=parse_port)
    add_flag(
        parser,
        "--mcp",
        "run an MCP server instead: over HTTP if --port is given, otherwise on standard input and output",
    )
    add_groups(parser, ("folders",))


def run(arguments: argparse.Namespace) -> None:
    """Serve until Ctrl+C, SIGTERM or the end of standard input.

    Raise `ConfigError` if the environment cannot be loaded.
    """
    environment = load_environment(arguments.file)
    base = load_context(arguments)
    open_env = sandboxed_environments(base)
    if arguments.mcp:
        tools = environment_tools(environment, base.options.cwd, open_env)
        server = import_module("tui_agent.mcp.tool_server")
        if arguments.port is None:
            anyio.run(server.serve_tools, environment.name, tools)
        else:
            serve = partial(server.serve_tools_by_http, environment.name, tools)
            anyio.run(
                serve_until_signal, partial(serve, arguments.host, arguments.port, _announce_mcp_server)
            )
        return
    server = import_server("environment_server")
    serve = partial(server.serve_environment, environment, open_env)
    anyio.run(
        serve_until_signal,
        partial(serve, arguments.host, PORT if arguments.port is None else arguments.port, _announce),
    )


def environment_tools(
    environment: EvalEnvironment, workspace: Path, open_env: OpenEnvironment
) -> tuple[Callable[..., Awaitable[str]], ...]:
    """Return the functions that an agent calls to test its workspace."""

    async def list_tests() -> str:
        """List tests, one per line."""
        return "\n".join(f"{test.path}: {test.description}".rstrip(": ") for test in environment.tests)

    async def run_tests(path: str = "") -> str:
        """Run the test or suite at `path`, or all tests, on a copy of the workspace."""
        async with open_copy(environment, workspace, open_env) as session:
            return (await session.test(path)).summary

    return (list_tests, run_tests)


def _announce(address: str) -> None:
    say_address(f"The environment is at {address}", address)
    say("Ctrl+C stops the server.")
    sys.stdout.flush()


def _announce_mcp_server(address: str, token: str) -> None:
    say_address(f"The environment's MCP server is at {address}", address)
    say(f"Each request needs the header: Authorization: Bearer {token}")
    say("Ctrl+C stops the server.")
    sys.stdout.flush()
