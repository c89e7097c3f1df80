"""Entry point of the engine process.

Invariant: this module imports nothing slow.
"""

import select
import sys

from tui_agent.lazy_import import load_module


def main() -> int:
    """Wait for the session's options, then load the engine, serve the session, and return the exit status."""
    select.select([sys.stdin], [], [])
    status: int = load_module("tui_agent.wiring.engine_main").main()
    return status


if __name__ == "__main__":
    sys.exit(main())
