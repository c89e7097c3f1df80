"""A pool of child processes for the cells of a plan. If a process dies, its cell is started again.

Invariant: a finished cell stays finished even if its process or this process is killed. Before a run is resumed, all
its earlier processes have released the run's lock.
"""
# The lock is a `flock`, which the kernel releases even if a process is killed.

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import NoReturn

import anyio
from anyio.abc import Process

from tui_agent.errors import TuiAgentError
from tui_agent.evals.runs.arms_and_cells import Cell, Plan
from tui_agent.evals.runs.run_folder import CellResult, RunFolder
from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.local.subprocesses import describe_end

FIRST_PAUSE_S = 2.0
"""Seconds before a second attempt after a failure of the provider. The pause then doubles each time."""
MAX_PAUSE_S = 30.0
GRACE_PERIOD_S = 10.0
"""Maximum time for a child to close its session when the run is stopped, in seconds."""
FAULT_STATUS = 2
"""Exit status of a child whose case cannot run at all."""
REFUSED_STATUS = 3
"""Exit status of a child whose case is refused in every configuration."""
INTERRUPTED_STATUS = 130
"""Exit status of a child that got SIGINT."""
MAX_ATTEMPT_CHARS = 500
MIN_FREE_BYTES = 16_384
"""Minimum free disk space for storing a result or a message, in bytes."""
RunAttempt = Callable[[RunFolder, Cell], Awaitable[tuple[int, str]]]
"""Function that tries once to run a cell, and returns (exit status, reason if there is no result)."""
_LOCK_FILE = "cells.lock"


@dataclass(frozen=True, slots=True)
class CellFault:
    """A cell (one run of a case) without a result, and the reason.

    `is_of_case`: True if no run of this case can have a result.
    """

    cell: Cell
    reason: str
    is_of_case: bool = False


@dataclass(frozen=True, slots=True)
class CellRetry:
    """A cell that failed in attempt `attempt`, and is tried again after `pause_s` seconds."""

    attempt: int
    reason: str
    pause_s: float


Report = Callable[[Cell, CellResult | CellFault | CellRetry], None]
"""Function called with each cell that has ended or will be tried again."""


async def run_pool(
    run: RunFolder,
    plan: Plan,
    cells: Sequence[Cell],
    jobs: int,
    report: Report,
    run_attempt: RunAttempt,
    first_pause_s: float = FIRST_PAUSE_S,
) -> None:
    """Run the cells, at most `jobs` at a time, and store their results. A cancellation stops all child processes.

    - `run_attempt`: function that tries once to run a cell: `run_child`, or the function from `open_cluster`.
    - `first_pause_s`: pause before the first repeated attempt of a cell, in seconds.
    Raise `StoreUnusable` if a result cannot be stored.
    """
    limiter = anyio.CapacityLimiter(jobs)
    refused: dict[str, CellFault] = {}

    async def work(cell: Cell) -> None:
        async with limiter:
            retry = partial(report, cell)
            ended = refused.get(cell.case) or await _run_with_attempts(
                run, plan, cell, run_attempt, first_pause_s, retry
            )
            # The other cells of this case would fail in the same way, so they are not started.
            if isinstance(ended, CellFault) and ended.is_of_case:
                refused[cell.case] = ended
            report(cell, ended)

    async with anyio.create_task_group() as group:
        for cell in cells:
            group.start_soon(work, cell)


async def _run_with_attempts(
    run: RunFolder,
    plan: Plan,
    cell: Cell,
    run_attempt: RunAttempt,
    pause: float,
    report_retry: Callable[[CellRetry], None],
) -> CellResult | CellFault:
    for attempt in range(1, plan.max_attempts + 1):
        status, reason = await run_attempt(run, cell)
        # The file counts, not the exit status: a child can be killed after it has stored its result.
        result = run.load_result(cell)
        is_last = attempt == plan.max_attempts
        if result is not None and _needs_retry(plan, result) and not is_last:
            pause = min(pause, MAX_PAUSE_S)
            report_retry(CellRetry(attempt, result.detail, pause))
            await anyio.sleep(pause)
            pause *= 2
        elif result is not None:
            if attempt > 1:
                result = result.model_copy(update={"attempts": attempt})
                run.save_result(cell, result)
            return result
        elif is_last or not _is_interruption(status):
            return CellFault(cell, reason, status == REFUSED_STATUS)
        else:
            report_retry(CellRetry(attempt, reason, 0.0))
    raise AssertionError("unreachable: the last attempt returns")


def _needs_retry(plan: Plan, result: CellResult) -> bool:
    """Return True if the model's provider failed, or if a preemptible machine was lost."""
    return result.interrupted and (result.instability or plan.preemptible)


def _is_interruption(status: int) -> bool:
    """Return True if a signal ended the child process, or if the machine that ran the cell was lost."""
    return status < 0 or status == INTERRUPTED_STATUS


async def run_child(run: RunFolder, cell: Cell) -> tuple[int, str]:
    """Try once to run a cell in a child process, and return the exit status and the child's last message."""
    log = run.path / "logs" / f"{cell.case}-{cell.arm}-{cell.repetition}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    arguments = (str(run.path), cell.model_dump_json(), str(os.getpid()))
    argv = [sys.executable, "-m", "tui_agent.evals.runs.cell_main", *arguments]
    with log.open("wb") as output:
        process = await anyio.open_process(
            # In a session of its own: Ctrl+C in the terminal reaches only this process, which then stops the children.
            argv,
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=_environment(),
        )
        try:
            status = await process.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await _stop(process)
            raise
    return status, _last_line(log) or _describe_end(run.path, status)


def end_with_fault(error: TuiAgentError) -> NoReturn:
    """End this child process immediately. `error`: the reason why the cell has no result."""
    sys.stderr.write(f"{error}\n")
    sys.stderr.flush()
    os._exit(FAULT_STATUS)


def _describe_end(folder: Path, status: int) -> str:
    """Describe the end of a child that left no message."""
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
        return f"the disk of {folder} is full. Free some space, then resume the run"
    if killed := describe_end("exited", status, None):
        return f"its process was {killed}"
    return f"its process ended with status {status} without a result; a test or a plugin may have ended it"


async def _stop(process: Process) -> None:
    """Ask a child to close its session; after the grace period, kill it and all its processes."""
    for signal_number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            return
        with anyio.move_on_after(GRACE_PERIOD_S):
            await process.wait()
            return


def _environment() -> dict[str, str]:
    # The log must have the child's last message even if the child is killed.
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


def _last_line(log: Path) -> str:
    lines = log.read_bytes()[-4_000:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:MAX_ATTEMPT_CHARS] if lines else ""


def share_cell_lock(run: RunFolder) -> int:
    """Acquire the shared lock of the run's cells. Closing the returned descriptor releases the lock."""
    descriptor = _open_lock(run)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def wait_for_cells(run: RunFolder, report: Callable[[], None]) -> None:
    """Block until no cell process works in the run's folder; call `report` if this takes time."""
    descriptor = _open_lock(run)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def _open_lock(run: RunFolder) -> int:
    # O_CLOEXEC: a program that a test leaves running must not hold the lock.
    return os.open(run.path / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
