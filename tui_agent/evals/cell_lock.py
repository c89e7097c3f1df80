"""The lock that the processes of a run's cells share, so that a resumed run waits for those of a killed run.

Invariant: the lock is a `flock`, which the kernel releases when a process ends, whatever ends it.
"""

import fcntl
import os
from collections.abc import Callable

from tui_agent.evals.plan import RunFolder

_FILE = "cells.lock"


def share_cell_lock(run: RunFolder) -> int:
    """Hold the lock with the run's other cells until the returned descriptor is closed or this process ends."""
    descriptor = _open(run)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def wait_for_cells(run: RunFolder, report: Callable[[], None]) -> None:
    """Block until no process of a cell works in the run's folder. `report` is called before waiting."""
    descriptor = _open(run)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def _open(run: RunFolder) -> int:
    return os.open(run.path / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
