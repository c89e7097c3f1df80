"""The program's entry. Invariant: `--version` loads nothing but this file and the version; nothing is imported from the
folder that is worked in, also where `python -m` has put it before everything."""

import os
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


def leave_working_folder(path: list[str], package: str) -> None:
    """Take the folder that `python -m` begins `path` with out of it, unless the package itself lies there."""
    if path and not sys.flags.safe_path and path[0] != os.path.dirname(package):  # noqa: PTH120 - loads nothing
        del path[0]


if __name__ == "__main__":
    leave_working_folder(sys.path, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    sys.exit(main())
