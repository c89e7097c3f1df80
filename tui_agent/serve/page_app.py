"""Entry point of a process that shows the app in one browser page.

Invariant: standard input and output carry only the packets of Textual's web driver.
"""

import gc
import json
import sys

from tui_agent.config.options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.lazy_import import load_module
from tui_agent.session.engine_handle import connect_engine


def main() -> int:
    """Run the app until its page is closed. Return the exit status: 1 if the engine cannot be reached."""
    options = SessionOptions.from_json(json.loads(sys.argv[1]))
    try:
        link = connect_engine(options)
    except TuiAgentError as error:
        sys.stderr.write(f"tui-agent: {error}\n")
        return 1
    gc.disable()  # for a faster start; the app enables it again after loading
    status: int = load_module("tui_agent.tui.app").run_in_browser(options, handle=link)
    return status


if __name__ == "__main__":
    sys.exit(main())
