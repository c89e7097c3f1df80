"""The progress of evaluation runs, read from their folders: the runs of a workspace, and the state of each cell.

Invariant: reading writes nothing and takes no lock.
"""

from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.errors import ConfigError
from tui_agent.evals.runs.arms_and_cells import Cell, Plan
from tui_agent.evals.runs.run_folder import (
    LOCK_FILE,
    PLAN_FILE,
    RUNS_FOLDER,
    START_LOCK_FILE,
    CellResult,
    RunFolder,
)
from tui_agent.fast_dataclass import dataclass
from tui_agent.store.writer_lock import is_locked

RunState: TypeAlias = Literal["starting", "running", "finished", "stopped", "cannot be read"]
CellState: TypeAlias = Literal["waiting", "running", "stopped", "passed", "failed", "provider failed"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, with the numbers of its finished cells (`done`) and of all its cells (`cells`).

    `path`: relative to the working folder if possible.
    """

    path: Path
    state: RunState
    done: int = 0
    cells: int = 0


def list_runs(workspace: Path) -> list[RunSummary]:
    """Return the runs in the workspace's folder `eval-runs`, in the order of their names."""
    folder = RUNS_FOLDER if workspace == Path.cwd() else workspace / RUNS_FOLDER
    return [_summarise(plan_file.parent) for plan_file in sorted(folder.glob(f"*/{PLAN_FILE}"))]


def _summarise(path: Path) -> RunSummary:
    run = RunFolder(path)
    try:
        cells = list(run.load_plan().cells())
    except ConfigError:
        return RunSummary(path, "cannot be read")  # `eval report` says why
    done = sum(run.load_result(cell) is not None for cell in cells)
    state: RunState = "finished" if done == len(cells) else "stopped"
    if is_running(run):
        state = "running"
    elif state == "stopped" and is_locked(run.path / START_LOCK_FILE):
        state = "starting"
    return RunSummary(path, state, done, len(cells))


def newest_run(workspace: Path) -> Path | None:
    """Return the folder of the newest run in the workspace's `eval-runs`, or None if there are no runs."""
    plans = list((workspace / RUNS_FOLDER).glob(f"*/{PLAN_FILE}"))
    return max(plans, key=lambda plan_file: plan_file.stat().st_mtime).parent if plans else None


def is_running(run: RunFolder) -> bool:
    """Return True if a process is running the cells of this run."""
    return is_locked(run.path / LOCK_FILE)


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A cell (one run of a case) as the board shows it. `session`: id of the cell's session; empty before its start."""

    cell: Cell
    state: CellState
    session: str = ""
    result: CellResult | None = None


class Board:
    """Reads the cells of a run. Raises `ConfigError` if `path` is not the folder of a run."""

    def __init__(self, path: Path) -> None:
        self.run = RunFolder(path)
        self.plan: Plan = self.run.load_plan()
        self._finished: dict[str, BoardCell] = {}

    def read(self) -> tuple[BoardCell, ...]:
        """Read the current state of all cells, in the plan's order."""
        running = is_running(self.run)
        return tuple(
            self._finished.get(cell.name) or self._read_cell(cell, running=running)
            for cell in self.plan.cells()
        )

    def _read_cell(self, cell: Cell, *, running: bool) -> BoardCell:
        result = self.run.load_result(cell)
        if result is None:
            session = self.run.load_session(cell)
            begun: CellState = "running" if running else "stopped"
            return BoardCell(cell, begun if session else "waiting", session)
        state: CellState = "passed" if result.passed else "failed"
        shown = BoardCell(cell, "provider failed" if result.instability else state, result.session, result)
        if not result.instability:
            self._finished[cell.name] = shown
        return shown
