"""The process of one cell: `python -m tui_agent.evals.runs.cell_main RUN_FOLDER CELL_JSON PARENT_PID`.

Invariant: the result is stored before the process ends with status 0.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from tui_agent.errors import CaseRefused, TuiAgentError
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.runs.arms_and_cells import Cell
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.pool import FAULT_STATUS, INTERRUPTED_STATUS, REFUSED_STATUS, share_cell_lock
from tui_agent.evals.runs.run_folder import RunFolder

PARENT_CHECK_INTERVAL_S = 0.5
GRACE_PERIOD_S = 5.0
"""Maximum time for a session to close after the run's process was killed, in seconds."""


def main(argv: Sequence[str]) -> int:
    """Run one cell, and return the exit status.

    `argv`: run folder, cell as JSON, parent process.
    """
    run, cell, parent = RunFolder(Path(argv[0])), Cell.model_validate_json(argv[1]), int(argv[2])
    # The run may have been started with SIGINT ignored, as a shell starts a background job.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        share_cell_lock(run)
        if (
            os.getppid() != parent
        ):  # checked with the lock held, because a resumed run no longer waits for this cell
            sys.stderr.write("The evaluation run was killed.\n")
            return FAULT_STATUS
        threading.Thread(target=_end_with_parent, args=(parent,), name="parent", daemon=True).start()
        plan = run.load_plan()
        case = next(case for case in load_suite(plan.suite, plan.here).cases if case.id == cell.case)
        run.save_result(cell, anyio.run(partial(run_cell, plan, run, case, cell)))
    except CaseRefused as error:
        sys.stderr.write(f"{error}\n")
        return REFUSED_STATUS
    except (TuiAgentError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return FAULT_STATUS
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    return 0


def _end_with_parent(parent: int) -> None:
    """End this process after the run's process has ended, so that the run can be resumed."""
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(PARENT_CHECK_INTERVAL_S)
    os.kill(os.getpid(), signal.SIGINT)
    pause.wait(GRACE_PERIOD_S)
    os._exit(FAULT_STATUS)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    # unlike `sys.exit`, this does not wait for the thread of a plugin's verifier that never returns
    os._exit(status)
