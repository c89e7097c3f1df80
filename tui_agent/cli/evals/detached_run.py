"""`eval run --detach`: a run in a background process, which continues after the terminal is closed."""

import argparse
import subprocess
import sys

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import say, say_json
from tui_agent.evals.runs.plan import START_LOCK_FILE, RunFolder
from tui_agent.store.writer_lock import WriterLock

PROGRESS_FILE = "progress.txt"


def start_detached(folder: RunFolder, arguments: argparse.Namespace) -> int:
    """Resume the run in `folder` in a new process, and return without waiting for it."""
    command = [sys.executable, "-u", "-m", "tui_agent", "eval", "run", "--resume", str(folder.path)]
    command += ["--engine", arguments.engine]
    command += ["--address", arguments.address] if arguments.address else []
    command += ["--jobs", str(arguments.jobs)] if arguments.jobs else []
    command += ["--json"] if arguments.json else []
    progress = folder.path / PROGRESS_FILE
    lock = WriterLock(folder.path / START_LOCK_FILE, wait_s=0.0)  # the process inherits the lock
    with progress.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        )
    lock.release()
    if arguments.json:
        say_json({"run": str(folder.path), "pid": process.pid, "progress": str(progress)})
        return Exit.DONE
    say(f"The run in {folder.path} continues in the background, as process {process.pid}.")
    say(f"To follow: tail -f {progress}")
    say(f"To stop:   kill -INT {process.pid}")
    return Exit.DONE
