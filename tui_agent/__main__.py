"""The program's entry. Invariant: `--version` loads nothing but this file and the version."""

import sys
from importlib import import_module

from tui_agent import __version__


def main() -> int:
    """Run the command line and return its exit status."""
    argv = sys.argv[1:]
    if argv in (["--version"], ["-V"]):
        sys.stdout.write(f"tui-agent {__version__}\n")
        return 0
    # By name, not by an import statement: parsing arguments costs more than the whole of `--version`.
    status: int = import_module("tui_agent.cli.main").main(argv)
    return status


if __name__ == "__main__":
    sys.exit(main())
