"""The entry of the engine's own process. Invariant: imports nothing that takes time, so that what serves is loaded at one go."""

import sys

from tui_agent.lazy_import import load


def main() -> int:
    """Serve one session and return the exit status."""
    status: int = load("tui_agent.wiring.engine_main").main()
    return status


if __name__ == "__main__":
    sys.exit(main())
