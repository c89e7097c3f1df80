"""Show the history of a simulation in the app: who said and did what, and who saw it.

Give the file history.json or chat_history.json, or the folder that contains one of these files.
"""

import argparse
from importlib import import_module
from pathlib import Path

from tui_agent.cli.app import require_terminal
from tui_agent.cli.console.output import escape_control, say
from tui_agent.cli.console.shared_options import Parser, add_flag, add_groups, add_option, session_options
from tui_agent.folds.simulation_fold import seen_text
from tui_agent.simulation.job_folder import history_title, read_history

EXAMPLES = """\
examples:
  tui-agent view jobs/shop-discount/user-agent/20260102-150405
  tui-agent view history.json --headless
  tui-agent serve --view jobs
"""


def configure(parser: Parser) -> None:
    """Add the arguments of `view`."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a history file, or the folder that contains it"
    )
    add_flag(parser, "--headless", "print the messages")
    add_option(parser, "--theme NAME", "the theme (see: tui-agent themes list)")
    add_groups(parser, ("folders",))


def run(arguments: argparse.Namespace) -> int:
    """Show the history and return the exit status. Raise `ConfigError` if the history cannot be read."""
    messages = read_history(arguments.file)
    if arguments.headless:
        for message in messages:
            say(escape_control(seen_text(message, "system"), lines=True) + "\n")
        return 0
    require_terminal("Add --headless to print the messages.")
    options = session_options(arguments, client="app", interactive=False)
    # Imported only here, because only the app needs Textual.
    show = import_module("tui_agent.tui.screens.simulation_history").run_history
    status: int = show(options, history_title(arguments.file), messages, browser=False)
    return status
