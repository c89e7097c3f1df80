"""Let an editor use tui-agent through the Agent Client Protocol. The editor starts this command itself.

Invariant: only the protocol's messages are printed on standard output.
"""

import argparse
import os
import stat
import sys
from importlib import import_module

from tui_agent.cli.console.shared_options import add_groups, add_option, session_options
from tui_agent.errors import UsageError

EXAMPLES = """\
examples:
  tui-agent acp --policy plan        the "command" and "args" for the editor's settings

docs/editors.md has the settings of Zed and other editors.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options that apply to every session of the editor."""
    add_option(
        parser,
        "--policy",
        "the mode in which sessions start",
        choices=("plan", "ask", "accept-edits", "bypass"),
    )
    add_groups(parser, ("folders", "model", "limits", "extensions"))


def run(arguments: argparse.Namespace) -> None:
    """Serve the editor until it closes standard input.

    Raise `UsageError` if standard input or output is a terminal or a file.
    """
    input_mode, place = (
        os.fstat(sys.stdin.fileno()).st_mode,
        "in a terminal" if sys.stdin.isatty() else "with a file",
    )
    output_mode = os.fstat(sys.stdout.fileno()).st_mode
    if not (stat.S_ISFIFO(input_mode) or stat.S_ISSOCK(input_mode)) or stat.S_ISREG(output_mode):
        raise UsageError(
            f"An editor must start this command. It cannot run {place}.",
            hint="To add the command to the editor's settings, see: tui-agent acp --help",
        )
    options = session_options(arguments, client="editor", interactive=True)
    import_module("tui_agent.acp.stdio_server").run_stdio_server(options)
