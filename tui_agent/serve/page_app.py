"""Entry point of a process that draws one browser page: the app, or with `--history` the history of a simulation.

Invariant: standard input and output carry only the packets of Textual's web driver.
"""

import gc
import json
import sys
from pathlib import Path

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.lazy_import import load_module

HISTORY_FLAG = "--history"


def main(arguments: list[str]) -> int:
    """Draw the page until it is closed.

    Return the exit status: 1 if the engine cannot be reached, or if the history cannot be read.

    `arguments`: the options of the app as JSON, or `HISTORY_FLAG` and the path of a history.
    """
    try:
        if arguments[0] == HISTORY_FLAG:
            return show_history(Path(arguments[1]))
        return show_app(SessionOptions.from_json(json.loads(arguments[0])))
    except TuiAgentError as error:
        sys.stderr.write(f"tui-agent: {error}\n")
        return 1


def show_app(options: SessionOptions) -> int:
    """Run the app until its page is closed, and return its exit status."""
    link = load_module("tui_agent.session.engine_handle").connect_engine(options)
    gc.disable()  # for a faster start; the app enables it again after loading
    status: int = load_module("tui_agent.tui.app").run_in_browser(options, handle=link)
    return status


def show_history(path: Path) -> int:
    """Show a simulation's history until its page is closed, and return the exit status."""
    job_folder = load_module("tui_agent.simulation.job_folder")
    messages = job_folder.read_history(path)
    options = SessionOptions(cwd=path.parent, client="web", interactive=False)
    show = load_module("tui_agent.tui.screens.simulation_history").run_history
    status: int = show(options, job_folder.history_title(path), messages, browser=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
