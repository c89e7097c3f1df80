"""Serve the app to browsers, and an HTTP API to programs, until Ctrl+C. With --view, serve histories of simulations.

The printed address contains a token. Anyone with the token can do everything that you can do in the app.
"""

import argparse
import signal
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import anyio

from tui_agent.cli.console.output import say
from tui_agent.cli.console.shared_options import EVERYTHING, add_groups, add_option, session_options
from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import UsageError

EXAMPLES = """\
examples:
  tui-agent serve
  tui-agent serve --port 8080 --continue
  tui-agent serve --view jobs --port 8095
  curl -N -H "Authorization: Bearer TOKEN" --json '{"message": "hello"}' http://127.0.0.1:8123/api/chat
"""
PORT = 8123
MAX_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the address and every common option to the parser."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine only)"
    )
    add_option(
        parser, "--port", f"the port (default: {PORT}; 0: any free port)", type=parse_port, default=PORT
    )
    parser.add_argument(
        "--view",
        metavar="PATH",
        nargs="?",
        type=Path,
        const=Path("jobs"),
        help="show histories of simulations instead; PATH is a history file, or the folder of outputs (default: jobs)",
    )
    add_groups(parser, EVERYTHING)


def parse_port(text: str) -> int:
    """Parse a port from the command line; 0 means any free port."""
    if not text.isascii() or not text.isdigit() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {MAX_PORT}")
    return int(text)


def run(arguments: argparse.Namespace) -> None:
    """Serve until Ctrl+C or SIGTERM.

    Raise `ConfigError` if the extra `web` is not installed.
    """
    server = import_server("web_server" if arguments.view is None else "history_server")
    if arguments.view is not None:
        path = arguments.view.resolve()
        if not path.exists():
            raise UsageError(
                f"{path} was not found.",
                hint="Give the history file of a simulation, or the folder with the outputs of simulations.",
            )
        serve = partial(server.serve_histories, path)
    else:
        serve = partial(server.serve, session_options(arguments, client="web", interactive=True))
    anyio.run(serve_until_signal, partial(serve, arguments.host, arguments.port, _announce))


def import_server(name: str) -> ModuleType:
    """Return a module of `tui_agent.serve`. Raise `ConfigError` if the extra `web` is not installed."""
    load_package("aiohttp")
    return import_module(f"tui_agent.serve.{name}")


async def serve_until_signal(serve: "partial[object]") -> None:
    """Run a server until SIGINT or SIGTERM."""
    async with anyio.create_task_group() as group:
        group.start_soon(serve)  # type: ignore[arg-type]  # a coroutine function of a module that is loaded by name
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                break
        group.cancel_scope.cancel()


def _announce(address: str) -> None:
    say_address(f"Open {address}", address)
    say("Ctrl+C stops the server and closes its sessions.")
    sys.stdout.flush()


def say_address(text: str, address: str) -> None:
    """Print `text`, and a warning if other machines can reach the address."""
    say(text)
    if urlsplit(address).hostname not in ("127.0.0.1", "localhost", "::1"):
        say(
            "Other machines can reach the server, and the traffic is not encrypted. Put a proxy with TLS in front of the server."
        )
