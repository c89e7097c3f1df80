"""The process of one cell: `python -m tui_agent.evals.cell_main RUN_FOLDER CELL_JSON`.

Invariant: the result is stored before the process ends with status 0. No two processes run the same cell of a run: after
the run's process was killed, a resumed run waits for the processes that it left behind.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from tui_agent.errors import SessionLocked, TuiAgentError
from tui_agent.evals.cell import run_cell
from tui_agent.evals.plan import Cell, RunFolder
from tui_agent.evals.pool import FAULT_STATUS
from tui_agent.evals.suites import load_suite
from tui_agent.store.writer_lock import WriterLock

PARENT_CHECK_INTERVAL_S = 0.5
GRACE_PERIOD_S = 5.0
"""Seconds that a session has to close after the run's process was killed."""
LOCK_WAIT_S = 6 * GRACE_PERIOD_S
"""Seconds to wait for a process that runs the same cell, because its run was killed."""


def main(argv: Sequence[str]) -> int:
    """Run the cell and return the process's exit status."""
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), name="parent", daemon=True).start()
    run, cell = RunFolder(Path(argv[0])), Cell.model_validate_json(argv[1])
    try:
        _lock_cell(run, cell)
        plan = run.load_plan()
        case = next(case for case in load_suite(plan.suite, plan.here).cases if case.id == cell.case)
        run.save_result(cell, anyio.run(partial(run_cell, plan, run, case, cell)))
    except (TuiAgentError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return FAULT_STATUS
    except KeyboardInterrupt:
        return 130
    return 0


def _lock_cell(run: RunFolder, cell: Cell) -> None:
    """Acquire the cell's lock until this process ends. Raises `SessionLocked`, `OSError`."""
    file = run.lock_file(cell)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        WriterLock(file, wait_s=LOCK_WAIT_S)
    except SessionLocked:
        raise SessionLocked(
            f"Another process still runs {cell.name}.", hint="Resume the run when it has ended."
        ) from None


def _end_with_parent(parent: int) -> None:
    """End this process once the run's process is gone, so that nothing writes into a run that is resumed."""
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(PARENT_CHECK_INTERVAL_S)
    os.kill(os.getpid(), signal.SIGINT)
    pause.wait(GRACE_PERIOD_S)
    os._exit(FAULT_STATUS)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # does not wait for the thread of a plugin's verifier that never returns
