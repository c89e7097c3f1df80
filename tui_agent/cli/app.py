"""Open the full-screen app in a folder, with a first message if one is given.

With --screen-reader or TERM=dumb, the session is printed line by line.

Invariant: without a usable terminal the command fails before anything is loaded.
"""

import argparse
import gc
import os
import sys
from dataclasses import replace
from importlib import import_module

from tui_agent.cli.console.shared_options import EVERYTHING, add_flag, add_groups, session_options
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import UsageError

CHOOSE_FROM_LIST = ""

EXAMPLES = """\
examples:
  tui-agent
  tui-agent --continue
  tui-agent --resume
  tui-agent --screen-reader
  tui-agent -C ~/code/shop -m anthropic/MODEL "why does test_cart fail?"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the first message, and every common option, to the parser."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the first message")
    parser.add_argument(
        "--resume",
        nargs="?",
        const=CHOOSE_FROM_LIST,
        metavar="ID",
        help="open an earlier session; without ID choose from a list",
    )
    add_flag(parser, "--screen-reader", "print the session as plain lines (also used if TERM=dumb)")
    add_groups(parser, EVERYTHING)


def run(arguments: argparse.Namespace) -> int:
    """Open the app and return the exit status."""
    as_lines = arguments.screen_reader or is_plain_terminal()
    if not as_lines:
        require_terminal()
    options = session_options(arguments, client="app", interactive=True)
    reject_demo(options)
    choose = arguments.resume == CHOOSE_FROM_LIST and not as_lines
    if arguments.resume is not None and not choose:
        options = replace(
            options,
            session=import_module("tui_agent.cli.sessions.resume").choose_session(options, arguments.resume),
        )
    return open_lines(options) if as_lines else open_app(options, choose=choose)


def reject_demo(options: SessionOptions) -> None:
    """Raise `UsageError` if the model is a demo, because a demo must not run in the user's folder."""
    kind, _, name = (options.model or "").partition(":")
    if kind == "demo":
        raise UsageError(
            "A demo runs in its own workspace, not in this folder.",
            hint=f"To see the demo, run: {f'tui-agent demo {name}'.strip()}. Nothing has changed.",
        )


def open_app(options: SessionOptions, *, choose: bool = False) -> int:
    """Run the app on this terminal until the user quits; return its exit status.

    `choose`: open the app with the list of sessions.
    """
    require_terminal()
    # Objects created at start-up live as long as the app, so collecting them is wasted time. Importing Textual alone
    # would trigger eighty collections. The app enables the garbage collector again after loading.
    gc.disable()
    # Start the engine process first, so that it loads while this process imports Textual. Without a free processor,
    # the engine would delay the first paint, so the app starts it afterwards. Both modules are imported only here,
    # because no other command needs them.
    start_engine = import_module("tui_agent.session.engine_handle").EngineHandle.start
    handle = start_engine(options, hold=not has_free_processor())
    status: int = import_module("tui_agent.tui.app").run_app(options, handle=handle, choose=choose)
    return status


def has_free_processor() -> bool:
    """Return True if a second process can probably run on a processor of its own."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123 - importing pathlib takes longer
            runnable = int(file.read().split()[3].partition("/")[0])
        return len(os.sched_getaffinity(0)) > 1 and runnable < (os.cpu_count() or 1)
    except (OSError, AttributeError, ValueError, IndexError):
        return True


def open_lines(options: SessionOptions) -> int:
    """Run a session that prints lines and reads answers from standard input; return its exit status."""
    handle = import_module("tui_agent.session.engine_handle").EngineHandle.start(options)
    status: int = import_module("tui_agent.tui.linear.app").run_linear(options, handle=handle)
    return status


def is_plain_terminal() -> bool:
    """Return True if output goes to a terminal without cursor movement (TERM=dumb)."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") == "dumb"


def require_terminal(
    hint: str = 'Use tui-agent run "…" for one turn, tui-agent demo --headless for the demo, or --screen-reader for a '
    "session in plain lines.",
) -> None:
    """Raise a `UsageError` if there is no terminal, or if the terminal cannot draw the app."""
    if is_plain_terminal():
        raise UsageError(
            "The app cannot draw in this terminal (TERM=dumb).",
            hint="Use --screen-reader for a session in plain lines, or tui-agent demo --headless for the demo.",
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The app needs a terminal; this is not one.",
            hint=hint,
        )
