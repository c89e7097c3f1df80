"""Entry point of a process that shows a simulation's history in one browser page.

Invariant: standard input and output carry only the packets of Textual's web driver.
"""

import sys
from pathlib import Path

from tui_agent.config.options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.lazy_import import load_module
from tui_agent.simulation.job_folder import history_title, read_history


def main() -> int:
    """Show the history until its page is closed, and return the exit status."""
    path = Path(sys.argv[1])
    try:
        messages = read_history(path)
    except TuiAgentError as error:
        sys.stderr.write(f"tui-agent: {error}\n")
        return 1
    options = SessionOptions(cwd=path.parent, client="web", interactive=False)
    show = load_module("tui_agent.tui.screens.history").run_history
    status: int = show(options, history_title(path), messages, browser=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
