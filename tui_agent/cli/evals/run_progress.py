"""Progress of a run of a suite: printed lines, or a background process (`--detach`) that writes the lines to a file."""

import argparse
import subprocess
import sys

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import escape_control, say, say_json, warn
from tui_agent.evals.runs.arms_and_cells import Cell
from tui_agent.evals.runs.pool import CellFault, CellRetry
from tui_agent.evals.runs.run_folder import START_LOCK_FILE, CellResult, RunFolder
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.store.writer_lock import WriterLock
from tui_agent.units import format_duration, format_time_limit

PROGRESS_FILE = "progress.txt"
MAX_DETAIL_CHARS = 200
"""Maximum length of the printed reason why a run of a case failed, in characters."""


class Progress:
    """Prints a line when a cell (one run of a case) ends or is tried again."""

    def __init__(self, total: int, done: int, *, as_json: bool) -> None:
        self.done = done
        self._total = total
        self._as_json = as_json
        self._refused: set[str] = set()

    def report(self, cell: Cell, ended: CellResult | CellFault | CellRetry) -> None:
        """Print how a cell ended, or why it is tried again."""
        if isinstance(ended, CellRetry):
            reason = escape_control(clip_line(ended.reason, MAX_DETAIL_CHARS))
            warn(
                f"{cell.name}: attempt {ended.attempt} failed, next attempt in {format_time_limit(ended.pause_s)}: {reason}"
            )
            return
        self.done += 1
        if isinstance(ended, CellFault) and ended.is_of_case:
            if cell.case not in self._refused:
                self._refused.add(cell.case)
                warn(f"No cell of this case can run: {escape_control(ended.reason)}")
            return
        if isinstance(ended, CellFault):
            warn(f"{cell.name} gave no result: {escape_control(ended.reason)}")
            return
        if self._as_json:
            say_json(ended.model_dump(mode="json"))
            return
        verdict = (
            "passed"
            if ended.passed
            else "provider failed"
            if ended.instability
            else f"failed ({ended.failure})"
        )
        detail = "" if ended.passed else f": {escape_control(clip_line(ended.detail, MAX_DETAIL_CHARS))}"
        say(f"[{self.done}/{self._total}] {cell.name}  {verdict}  {format_duration(ended.seconds)}{detail}")
        for note in () if ended.passed else ended.notes:
            say(f"    {escape_control(clip_line(note, MAX_DETAIL_CHARS))}")


def start_detached(folder: RunFolder, arguments: argparse.Namespace) -> int:
    """Resume the run in `folder` in a new process, and return without waiting for the process."""
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
