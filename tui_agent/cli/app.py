"""Open the full-screen app on a workspace, with a first message if one is given.

With --screen-reader, and on a terminal that cannot draw (TERM=dumb), the same session as lines: nothing is redrawn,
and a number answers a question.

Invariant: refuses before anything is loaded where there is no terminal to draw on.
"""

import argparse
import gc
import os
import sys
from dataclasses import replace
from importlib import import_module

from tui_agent.cli.options import EVERYTHING, GROUPS, session_options
from tui_agent.config.options import SessionOptions
from tui_agent.errors import UsageError

CHOOSE = ""

EXAMPLES = """\
examples:
  tui-agent
  tui-agent --continue
  tui-agent --resume
  tui-agent --screen-reader
  tui-agent -C ~/code/shop -m anthropic/MODEL "why does test_cart fail?"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The app takes every common option."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="a first message")
    parser.add_argument(
        "--resume",
        nargs="?",
        const=CHOOSE,
        metavar="ID",
        help="open an earlier session; without ID choose one",
    )
    parser.add_argument(
        "--screen-reader",
        action="store_true",
        help="the session as plain lines, one an event (also where TERM=dumb)",
    )
    for group in EVERYTHING:
        GROUPS[group](parser)


def run(arguments: argparse.Namespace) -> int:
    """Open the app and return its exit status."""
    as_lines = arguments.screen_reader or plain_terminal()
    if not as_lines:
        need_terminal()
    options = session_options(arguments, client="app", interactive=True)
    refuse_demo(options)
    choose = arguments.resume == CHOOSE and not as_lines
    if arguments.resume is not None and not choose:
        options = replace(
            options, session=import_module("tui_agent.cli.sessions.resume").chosen(options, arguments.resume)
        )
    return open_lines(options) if as_lines else open_app(options, choose=choose)


def refuse_demo(options: SessionOptions) -> None:
    """A demo's model writes what its script says: that is not for a folder of the user's. Raises `UsageError`."""
    kind, _, name = (options.model or "").partition(":")
    if kind == "demo":
        raise UsageError(
            "A demo runs in a workspace of its own, not in this folder.",
            hint=f"To see it: {f'tui-agent demo {name}'.strip()}. Nothing has changed.",
        )


def open_app(options: SessionOptions, *, choose: bool = False) -> int:
    """Draw `options`' session on this terminal until the user leaves; `choose`: with all sessions over it, to choose."""
    need_terminal()
    # What start-up makes lives as long as the app: collecting it would only cost time. Loading the screen's library
    # alone sets the collector off eighty times. The app lets it work again once everything is loaded.
    gc.disable()
    # The engine's process first, so that it starts beside the screen's library, which is slow to import. Both by
    # name: nothing else on the command line needs them.
    handle = import_module("tui_agent.session.engine_handle").EngineHandle.start(options)
    status: int = import_module("tui_agent.tui.app").run_app(options, handle=handle, choose=choose)
    return status


def open_lines(options: SessionOptions) -> int:
    """Tell `options`' session in lines on standard output, and take lines from standard input."""
    handle = import_module("tui_agent.session.engine_handle").EngineHandle.start(options)
    status: int = import_module("tui_agent.tui.linear.app").run_linear(options, handle=handle)
    return status


def plain_terminal() -> bool:
    """Whether someone sits there, at a terminal that can only print."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") == "dumb"


def need_terminal() -> None:
    """Raises `UsageError` where the app could not be seen or typed into."""
    if plain_terminal():
        raise UsageError(
            "This terminal can only print (TERM=dumb), and the app draws.",
            hint="--screen-reader opens a conversation in lines; tui-agent demo --headless shows the demo.",
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The app needs a terminal, and this is none.",
            hint='Without one: tui-agent run "…" for one turn, tui-agent demo --headless to see it work, '
            "--screen-reader for a conversation in lines.",
        )
