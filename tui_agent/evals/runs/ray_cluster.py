"""The runner of a plan's cells on a Ray cluster.

Invariant: a cell's folder appears in the run only after the cell is complete.
"""

import io
import logging
import os
import shutil
import socket
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import anyio
from anyio import to_thread

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case, named_paths
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.runs.arms_and_cells import Cell, Plan
from tui_agent.evals.runs.pool import FAULT_STATUS, GRACE_PERIOD_S, RunAttempt, run_child
from tui_agent.evals.runs.run_folder import RunFolder

CASE_FILE = ".case-of-cell.json"
ADDRESS_HINT = "Give --address HOST:PORT as `ray start --head` prints it. If the cluster asks for a token, set RAY_AUTH_MODE=token."
CONNECT_TIMEOUT_S = 5.0
MAX_PORT = 65_535
LOST_STATUS = -1
"""Exit status of an attempt that lost its worker. The cell is tried again."""
MOVED_FOLDERS = ("logs", "data/trajectories", "data/sessions")
"""Folders whose entries are moved from a worker into the run."""


@contextmanager
def open_cluster(address: str | None, plan: Plan) -> Iterator[RunAttempt]:
    """Connect to a Ray cluster, and yield a function that runs a cell on the cluster without retries.

    `address`: HOST:PORT of the cluster. If None, use the cluster in RAY_ADDRESS or on this machine. If neither exists,
    start a cluster on this machine.

    Raise `UsageError` if Ray is not installed, and `ConfigError` if the cluster cannot be reached.
    """
    # Without this setting, Ray prints the log of a lost machine to standard output.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    ray = load_package("ray")
    if address is not None:
        _require_reachable(address)
    try:
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:  # a ConnectionError is an OSError
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ConfigError(
            f"The Ray cluster {address or 'on this machine'} cannot be used: {reason}.",
            hint=ADDRESS_HINT,
        ) from error
    try:
        yield _Cluster(ray, plan).run_attempt
    finally:
        ray.shutdown()


def _require_reachable(address: str) -> None:
    """Raise `ConfigError` if the address is not valid or nothing listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal() and int(port) <= MAX_PORT):
        raise ConfigError(f"{address!r} is not an address of a Ray cluster.", hint=ADDRESS_HINT)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S):
            return
    except (OSError, ValueError) as error:  # the name of a host that cannot be encoded is a ValueError
        raise ConfigError(
            f"The Ray cluster {address} cannot be reached: {error}.", hint=ADDRESS_HINT
        ) from error


class _Cluster:
    """The connected cluster, and the packed cases that its workers share."""

    def __init__(self, ray: ModuleType, plan: Plan) -> None:
        self._ray, self._plan = ray, plan
        # Ray must not retry by itself: `run_pool` counts the attempts and reports them.
        self._run_cell = ray.remote(num_cpus=1, max_retries=0)(_run_on_worker)
        self._cases = {case.id: case for case in load_suite(plan.suite, plan.here).cases}
        self._packed: dict[str, tuple[str, Any]] = {}

    async def run_attempt(self, run: RunFolder, cell: Cell) -> tuple[int, str]:
        """Try once to run a cell on a worker. Return the exit status and the reason for a missing result."""
        case_file, files = self._pack(cell.case)
        task = self._run_cell.remote(self._plan.model_dump_json(), cell.model_dump_json(), case_file, files)
        try:
            status, reason, created_files = await task
            await to_thread.run_sync(_store, run, cell, created_files)
        except anyio.get_cancelled_exc_class():
            self._ray.cancel(task)
            with anyio.move_on_after(GRACE_PERIOD_S, shield=True):
                await to_thread.run_sync(self._wait, task, abandon_on_cancel=True)
            raise
        except self._ray.exceptions.RayTaskError as error:
            return FAULT_STATUS, f"its worker failed: {error.cause}"
        except self._ray.exceptions.RayError as error:
            return LOST_STATUS, f"its worker was lost: {str(error).strip().splitlines()[0]}"
        except (OSError, tarfile.TarError) as error:
            return FAULT_STATUS, f"its files cannot be stored: {error}"
        return status, reason

    def _pack(self, name: str) -> tuple[str, Any]:
        if name not in self._packed:
            case_file, files = _pack_case(self._cases[name])
            self._packed[name] = case_file, self._ray.put(files)
        return self._packed[name]

    def _wait(self, task: Any) -> None:
        self._ray.wait([task], timeout=GRACE_PERIOD_S)


def _run_on_worker(plan_json: str, cell_json: str, case_file: str, files: bytes) -> tuple[int, str, bytes]:
    """Try once to run a cell in a temporary folder, and return (exit status, reason of a failure, packed files)."""
    cell = Cell.model_validate_json(cell_json)
    with TemporaryDirectory(prefix="tui-agent-cell-", ignore_cleanup_errors=True) as folder:
        suite, run = Path(folder, "suite"), RunFolder(Path(folder, "run"))
        _unpack(files, suite)
        plan = Plan.model_validate_json(plan_json)
        run.save_plan(plan.model_copy(update={"here": suite, "suite": case_file}))
        status, reason = anyio.run(run_child, run, cell)
        places = (path for path in (run.path / "cells", *_moved_entries(run.path)) if path.exists())
        return status, reason, _pack_paths(run.path, places)


def _store(run: RunFolder, cell: Cell, files: bytes) -> None:
    """Unpack a worker's files into the run, the cell's folder last. Raise `OSError` or `TarError` if that fails."""
    with TemporaryDirectory(prefix=".incoming-", dir=run.path) as folder:
        incoming = RunFolder(Path(folder))
        _unpack(files, incoming.path)
        result, cell_folder = incoming.load_result(cell), run.cell_folder(cell)
        if result is not None and result.session:
            commands = run.open_commands(result.session, moved_to=cell_folder / "repo")
            # The worker wrote commands with its own temporary paths.
            incoming.save_result(cell, result.model_copy(update={"open_with": commands}))
        for path in _moved_entries(incoming.path):
            target = run.path / path.relative_to(incoming.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        if incoming.cell_folder(cell).exists():
            shutil.rmtree(cell_folder, ignore_errors=True)
            cell_folder.parent.mkdir(parents=True, exist_ok=True)
            incoming.cell_folder(cell).replace(cell_folder)


def _moved_entries(run: Path) -> Iterator[Path]:
    for name in MOVED_FOLDERS:
        yield from (run / name).glob("*")


def _pack_case(case: Case) -> tuple[str, bytes]:
    """Pack a case and its files. Return (path of the case's file in the archive, archive)."""
    home, paths = case.folder.resolve(), named_paths(case)
    if case.verifier is not None and "EVAL_CASE" in case.verifier.command:
        # The verifier's command reads the case's folder, so the files that it needs are unknown.
        paths.append(home)
    base = Path(os.path.commonpath([home, *paths]))
    case_file = str((home / CASE_FILE).relative_to(base))
    text = case.model_dump_json(exclude_defaults=True).encode()
    return case_file, _pack_paths(base, paths, {case_file: text})


def _pack_paths(base: Path, paths: Iterable[Path], texts: dict[str, bytes] | None = None) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
        for name, text in (texts or {}).items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
        for path in paths:
            archive.add(path, path.relative_to(base))
    return data.getvalue()


def _unpack(files: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(files), mode="r:gz") as archive:
        archive.extractall(folder, filter="tar")  # refuses what would be written outside
