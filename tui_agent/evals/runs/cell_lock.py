"""A lock shared by all cell processes of a run. Before a run is resumed, these processes must have released it.

Invariant: the lock is a `flock`, which the kernel releases even if a process is killed.
"""

import fcntl
import os
from collections.abc import Callable

from tui_agent.evals.runs.plan import RunFolder

_FILE = "cells.lock"


def share_cell_lock(run: RunFolder) -> int:
    """Acquire the shared lock of the run's cells. Closing the returned descriptor releases the lock."""
    descriptor = _open(run)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def wait_for_cells(run: RunFolder, report: Callable[[], None]) -> None:
    """Block until no cell process works in the run's folder; call `report` if this takes time."""
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
