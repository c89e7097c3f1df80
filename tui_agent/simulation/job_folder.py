"""The folder with the outputs of a simulation: history, task tree, result, and the workspace at the end of the run.

Invariant: each file is replaced atomically.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tui_agent.config.settings.validation_errors import validate
from tui_agent.config.small_files import read_regular
from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.evals.runs.run_folder import describe_fault, write_file
from tui_agent.json_text import parse_json
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.stored_text import text_preview
from tui_agent.simulation.task_tree import TaskNode
from tui_agent.units import file_time_stamp, format_bytes

SNAPSHOT = "environment_snapshot"
RESULT_FILE = "result.json"
HISTORY_FILES = ("history.json", "chat_history.json")
MAX_HISTORY_BYTES = 64 << 20


class SimulationResult(FrozenModel):
    """The result of a simulation.

    - `success`: 1 if tests and verifier passed, otherwise 0.
    - `end`: reason why the simulation ended, such as `user_exit`.
    """

    task: str
    mode: str
    profile: str
    end: str
    detail: str = ""
    success: int = 0
    test_output: str = ""
    returncode: int | None = None
    verify: dict[str, Any] = {}
    agent_model: str = ""
    user_model: str = ""
    turns: int = 0
    requests: int = 0
    commands: int = 0
    format_errors: int = 0
    allowed: int = 0
    denied: int = 0
    questions: int = 0
    agent_tokens: int = 0
    user_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    session: str = ""
    open_with: tuple[str, ...] = ()

    @property
    def measures_agent(self) -> bool:
        """Return True if the result says something about the agent.

        Return False if the run was interrupted, or if the model of the simulated user or the orchestrator failed.
        """
        return self.end not in ("interrupted", "user_error", "orchestrator_error")


class JobFolder:
    """The folder with the outputs of one run: `jobs/{task}/{mode}/{time}/`."""

    def __init__(self, jobs: Path, task: str, mode: str) -> None:
        parent = jobs.resolve() / task / mode
        stamp = file_time_stamp(time.time())
        self.path = _create_new(parent, stamp)
        self.workspace = self.path / SNAPSHOT
        self._history = HISTORY_FILES[0] if mode.startswith("orchestrated") else HISTORY_FILES[1]

    def save_history(self, messages: Sequence[SimulationMessage]) -> None:
        """Store the messages. Raise `StoreUnusable` if the file cannot be written."""
        rows = [
            {
                "role": message.role,
                "visible_to": list(message.visible_to),
                "reasoning": text_preview(message.reasoning),
                "action": text_preview(message.action),
                "response": text_preview(message.response),
            }
            for message in messages
        ]
        write_file(self.path / self._history, json.dumps(rows, indent=1, ensure_ascii=False))

    def save_tree(self, tree: TaskNode | None) -> None:
        """Store the task tree if it is not None. Raise `StoreUnusable` if the file cannot be written."""
        if tree is not None:
            write_file(self.path / "task_tree.json", tree.model_dump_json(indent=1))

    def save_result(self, result: SimulationResult) -> None:
        """Store the result. Raise `StoreUnusable` if the file cannot be written."""
        write_file(self.path / RESULT_FILE, result.model_dump_json(indent=1))


def _create_new(parent: Path, name: str) -> Path:
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            number += 1


def read_history(path: Path) -> list[SimulationMessage]:
    """Return the messages of a history file. `path` can also be a job folder.

    Raise `ConfigError` if there is no readable history.
    """
    if path.is_dir():
        file = next((path / name for name in HISTORY_FILES if (path / name).is_file()), None)
        if file is None:
            raise ConfigError(f"{path} has no history.", hint="Give a run's folder: JOBS/TASK/MODE/TIME.")
        path = file
    with os_errors_as(ConfigError, f"{path} cannot be read"):
        data = read_regular(path, MAX_HISTORY_BYTES + 1)
    if data is None:
        raise ConfigError(f"{path} is not a regular file.")
    if len(data) > MAX_HISTORY_BYTES:
        raise ConfigError(f"{path} is larger than {format_bytes(MAX_HISTORY_BYTES)}.")
    try:
        rows = parse_json(data)
    except ValueError as error:
        raise ConfigError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(rows, list):
        raise ConfigError(f"{path} is not a list of messages.")
    return [validate(row, SimulationMessage, path, place=(index,)) for index, row in enumerate(rows)]


def read_results(jobs: Path) -> list[SimulationResult]:
    """Return the results of all runs below `jobs`, ordered by task, mode and time.

    Raise `ConfigError` if a result cannot be read.
    """
    results = []
    for path in sorted(jobs.glob(f"*/*/*/{RESULT_FILE}")):
        try:
            results.append(SimulationResult.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{path} cannot be read: {describe_fault(error)}.") from error
    return results


def history_title(path: Path) -> str:
    """Return the title of a history: task, mode and time in a job folder, otherwise the path."""
    folder = (path if path.is_dir() else path.parent).resolve()
    return " / ".join(folder.parts[-3:]) if (folder / SNAPSHOT).is_dir() else str(path)


def find_histories(path: Path) -> list[str]:
    """Return the paths of all histories in `path`, relative to `path` and newest first.

    `path`: a folder with job folders, one job folder, or one history file.
    """
    if path.is_file():
        return [path.name]
    files = [
        file for name in HISTORY_FILES for depth in ("", "*/*/*/") for file in path.glob(f"{depth}{name}")
    ]
    return [
        str(file.relative_to(path)) for file in sorted(files, key=lambda file: file.parent.name, reverse=True)
    ]
