"""The folder of an evaluation run: its plan, the results of its cells, and its locks. A run is resumed from this
folder.

Invariant: a cell is done if and only if its `result.json` exists.
"""

import os
import shlex
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from tui_agent.errors import ConfigError, StoreUnusable
from tui_agent.evals.runs.arms_and_cells import Cell, Plan
from tui_agent.protocol.events.session import TrajectoryEnd
from tui_agent.protocol.frozen_model import FrozenModel

PLAN_FILE = "run.json"
RESULT_FILE = "result.json"
SESSION_FILE = "session.txt"
"""File in a cell's folder with the id of the cell's session, written when the session starts."""
LOCK_FILE = "lock"
START_LOCK_FILE = "start-lock"
"""Name of a lock file for detached runs. The run's process holds the lock from its start, before `LOCK_FILE`."""
RUNS_FOLDER = Path("eval-runs")
"""The default folder of runs, relative to the current folder."""


class Findings(FrozenModel):
    """Numbers of a static checker's findings in the files that the agent changed.

    `before`: number before the agent's work (None: the checker failed).
    """

    before: int | None = None
    after: int


class CellResult(FrozenModel):
    """The result of one cell (one run of a case).

    - `success`, `test_output`, `returncode`, `verify`: same meaning as in Harbor's tools.
    - `open_with`: commands that open the session.
    - `metrics`: fields of `folds.trace.metrics.MetricsView`.
    """

    case: str
    arm: str
    repetition: int
    category: str
    split: str
    model: str
    effort: str | None = None
    passed: bool
    score: float
    end: TrajectoryEnd
    failure: str = ""
    detail: str = ""
    agent: bool = True
    patch: bool = True
    tests: bool | None = None
    verifier: bool | None = None
    instability: bool = False
    interrupted: bool = False
    """True if the cell's machine was lost or the provider failed."""
    attempts: int = 1
    seconds: float = 0.0
    session: str = ""
    open_with: tuple[str, ...] = ()
    success: int = 0
    test_output: str = ""
    returncode: int | None = None
    verify: dict[str, Any] = Field(default_factory=dict)
    winner: str = ""
    """The first checkpoint that passed all checks; empty if none passed or none was checked."""
    winner_part: int | None = None
    static_checks: dict[str, Findings] = Field(default_factory=dict)
    """Maps the name of each installed checker to its findings."""
    metrics: dict[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    case_digest: str = ""
    """Digest of the case and its files, as they were when the cell ran."""


def open_commands(session: str, data_folder: Path | None, workspace: Path | None = None) -> tuple[str, str]:
    """Return two shell commands: one resumes a session, the other replays it.

    - `data_folder`: folder of the session store (None: the user's own).
    - `workspace`: new path of a workspace that was moved after the agent's work.
    """
    data = f" --data-dir {shlex.quote(str(data_folder))}" if data_folder is not None else ""
    folder = f" -C {shlex.quote(str(workspace))}" if workspace is not None else ""
    return f"tui-agent{folder}{data} --resume {session}", f"tui-agent replay{data} {session}"


class RunFolder:
    """The folder of a run: its plan, its sessions (`data`) and its cells."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.data = self.path / "data"

    def cell_folder(self, cell: Cell) -> Path:
        """Return the folder of a cell."""
        return self.path / "cells" / cell.case / f"{cell.arm}-{cell.repetition}"

    def session_folder(self, session: str) -> Path:
        """Return the folder of a cell's session."""
        return self.data / "sessions" / session

    def trajectory_folder(self, session: str) -> Path:
        """Return the folder with the trajectory of a cell's session."""
        return self.data / "trajectories" / session

    def load_plan(self) -> Plan:
        """Return the stored plan. Raise `ConfigError` if the plan is missing or cannot be read."""
        file = self.path / PLAN_FILE
        try:
            return Plan.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            raise ConfigError(
                f"{self.path} is not the folder of an evaluation run: it has no {PLAN_FILE}."
            ) from None
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{file} cannot be read: {describe_fault(error)}.") from error

    def save_plan(self, plan: Plan) -> None:
        """Store the plan in a new folder. Raise `ConfigError` if the folder has another plan."""
        if (self.path / PLAN_FILE).exists():
            if self.load_plan() != plan:
                raise ConfigError(
                    f"{self.path} holds another evaluation run.",
                    hint="Choose another folder with --out, or resume that run: tui-agent eval run --resume DIR",
                )
            return
        write_file(self.path / PLAN_FILE, plan.model_dump_json(indent=1))

    def open_commands(self, session: str, moved_to: Path | None = None) -> tuple[str, str]:
        """Return the commands that open a cell's session; see the function `open_commands`."""
        return open_commands(session, self.data, moved_to)

    def save_session(self, cell: Cell, session: str) -> None:
        """Store the id of a cell's session. Raise `StoreUnusable` if the file cannot be written."""
        write_file(self.cell_folder(cell) / SESSION_FILE, session)

    def load_session(self, cell: Cell) -> str:
        """Return the session id of a cell's last run, or an empty string."""
        try:
            return (self.cell_folder(cell) / SESSION_FILE).read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def result_file(self, cell: Cell) -> Path:
        """Return the path of the file with a cell's result."""
        return self.cell_folder(cell) / RESULT_FILE

    def read_result(self, cell: Cell) -> CellResult | None:
        """Return a cell's result, or None if the cell is not done.

        Raise `OSError` or `ValidationError` if the result is damaged.
        """
        try:
            return CellResult.model_validate_json(self.result_file(cell).read_bytes())
        except FileNotFoundError:
            return None

    def load_result(self, cell: Cell) -> CellResult | None:
        """Return a cell's result, or None if the cell is not done or its result is damaged."""
        try:
            return self.read_result(cell)
        except (OSError, ValidationError):
            return None

    def unfinished_cells(self, plan: Plan) -> list[Cell]:
        """Return the plan's cells that are not done."""
        return [cell for cell in plan.cells() if self.load_result(cell) is None]

    def save_result(self, cell: Cell, result: CellResult) -> None:
        """Store a cell's result. Raise `StoreUnusable` if the file cannot be written."""
        write_file(self.result_file(cell), result.model_dump_json(indent=1))


def write_file(path: Path, text: str) -> None:
    """Write a file atomically. Raise `StoreUnusable` if the disk is full or the folder cannot be written."""
    # With the process id, because an old process of this cell can still be writing.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreUnusable(
            f"{path} cannot be written: {error.strerror}.", hint="Free some space, then resume the run."
        ) from error


def describe_fault(error: OSError | ValidationError) -> str:
    """Return why a file cannot be read: the system's message, or the first wrong field with its reason."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(name) for name in first["loc"])
    return f"{field}: {first['msg']}" if field else first["msg"]
