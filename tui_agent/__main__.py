"""The program's entry point.

Invariant: nothing is imported from the working folder, and `--version` loads only the version.
"""

import os
import sys
from importlib import import_module

from tui_agent import __version__

THREAD_GRACE_S = 0.5
"""Maximum wait for threads at the program's exit, in seconds."""
EXIT_GRACE_S = 2.0
"""Maximum time for exit functions, in seconds."""


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
    end_despite_plugins(status)
    return status


def end_despite_plugins(status: int) -> None:
    """Make sure that plugins cannot keep the process running.

    If a plugin's thread still runs, end the process at once. Otherwise, set a time limit for exit functions.
    """
    # Python waits for threads and for exit functions. A plugin can start the former and register the latter.
    threading = import_module("threading")
    for thread in threading.enumerate():
        if thread.daemon or thread is threading.main_thread():
            continue
        thread.join(THREAD_GRACE_S)
        if thread.is_alive():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    timer = threading.Timer(EXIT_GRACE_S, os._exit, (status,))
    timer.daemon = True
    timer.start()


def leave_working_folder(path: list[str], package: str) -> None:
    """Remove the working folder from the module search path `path`. `python -m` adds this folder.

    An entry that is the folder of `package` is kept.
    """
    if path and not sys.flags.safe_path and path[0] != os.path.dirname(package):  # noqa: PTH120 - loads nothing
        del path[0]


if __name__ == "__main__":
    leave_working_folder(sys.path, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    sys.exit(main())
