"""The program's entry point.

Invariant: `--version` loads only this file and the version. Nothing is imported from the working folder, although
`python -m` puts that folder first in `sys.path`.
"""

import os
import sys
from importlib import import_module

from tui_agent import __version__


def main() -> int:
    """Run the program's command line and return the exit status."""
    argv = sys.argv[1:]
    if argv in (["--version"], ["-V"]):
        sys.stdout.write(f"tui-agent {__version__}\n")
        return 0
    # Imported only here: importing the argument parser takes longer than all of `--version`.
    status: int = import_module("tui_agent.cli.main").main(argv)
    # The interpreter collects garbage once more when it exits, which takes longer than the rest of the exit.
    import_module("gc").freeze()
    return status


def leave_working_folder(path: list[str], package: str) -> None:
    """Delete the first entry of the module search path `path`, unless it is the folder that contains `package`.

    `python -m` puts the working folder there.
    """
    if path and not sys.flags.safe_path and path[0] != os.path.dirname(package):  # noqa: PTH120 - loads nothing
        del path[0]


if __name__ == "__main__":
    leave_working_folder(sys.path, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    sys.exit(main())
