"""A Ray cluster as engine, with a stand-in for Ray: what is sent, what comes back, and what is lost or stopped.

`tests/e2e/test_ray_cluster.py` plays the same on a real cluster.
"""

import asyncio
import io
import socket
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.stubs.cells import result
from tui_agent.cli.main import main
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.runs.arms_and_cells import Arm, Cell, Plan
from tui_agent.evals.runs.pool import FAULT_STATUS
from tui_agent.evals.runs.ray_cluster import LOST_STATUS, open_cluster
from tui_agent.evals.runs.run_folder import RunFolder

CASE = """\
prompt = "Mend it."
fixture = "../shared/start"
[expected.files]
"note.txt" = "wanted.txt"
"""
CELL = Cell(case="one", arm="a")


class RayFault(Exception):
    """The base of Ray's errors."""


class TaskFault(RayFault):
    cause = ValueError("no tui-agent here")


class FakeRay:
    """Plays a cluster whose tasks end as `end` says."""

    exceptions = SimpleNamespace(RayError=RayFault, RayTaskError=TaskFault)

    def __init__(self, end: Callable[..., tuple[int, str, bytes]]) -> None:
        self._end = end
        self.sent: tuple[Any, ...] = ()
        self.cancelled = 0

    def init(self, address: str | None, **_: object) -> None:
        if address is not None:
            raise ConnectionError("no answer\nand a long story")

    def shutdown(self) -> None:
        pass

    def put(self, value: bytes) -> bytes:
        return value

    def remote(self, **_: object) -> Callable[[object], object]:
        return lambda function: SimpleNamespace(remote=self._start)

    def _start(self, *sent: Any) -> "asyncio.Future[tuple[int, str, bytes]]":
        self.sent = sent
        task = asyncio.get_running_loop().create_future()
        try:
            task.set_result(self._end())
        except RayFault as fault:
            task.set_exception(fault)
        except TimeoutError:
            pass  # it never ends
        return task

    def cancel(self, task: object) -> None:
        self.cancelled += 1

    def wait(self, tasks: list[object], timeout: float) -> None:
        pass


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan of one case whose fixture is outside of its folder."""
    suite = tmp_path / "cases" / "one"
    suite.mkdir(parents=True)
    (suite / "case.toml").write_text(CASE)
    (suite / "wanted.txt").write_text("whole")
    start = tmp_path / "cases" / "shared" / "start"
    start.mkdir(parents=True)
    (start / "note.txt").write_text("broken")
    return Plan(suite="cases/one", suite_name="one", here=tmp_path, arms=(Arm(name="a"),), cases=("one",))


async def attempt(ray: FakeRay, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    monkeypatch.setitem(sys.modules, "ray", ray)
    run = RunFolder(plan.here / "run")
    run.save_plan(plan)
    with open_cluster(None, plan) as run_attempt:
        return await run_attempt(run, CELL)


def packed(folder: Path) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(folder, ".")
    return data.getvalue()


async def test_a_case_takes_its_files_along_and_its_session_arrives_before_its_result(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RunFolder(plan.here / "worker")
    made.session_folder("ses_1").mkdir(parents=True)
    made.save_result(CELL, result(CELL, session="ses_1", open_with=made.open_commands("ses_1")))
    ray = FakeRay(lambda: (0, "", packed(made.path)))
    assert await attempt(ray, plan, monkeypatch) == (0, "")
    run = RunFolder(plan.here / "run")
    stored = run.load_result(CELL)
    assert stored is not None and run.session_folder("ses_1").is_dir()
    assert stored.open_with[0] == (
        f"tui-agent -C {run.cell_folder(CELL)}/repo --data-dir {run.data} --resume ses_1"
    )
    _, _, case_file, files = ray.sent
    there = plan.here / "there"
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(there, filter="data")
    (case,) = load_suite(case_file, there).cases
    (original,) = load_suite(plan.suite, plan.here).cases
    assert case == original.model_copy(update={"folder": case.folder})
    assert case.fixture_folder is not None and (case.fixture_folder / "note.txt").read_text() == "broken"
    assert (case.folder / "wanted.txt").read_text() == "whole"


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (RayFault("The worker died\nLong story"), LOST_STATUS, "its worker was lost: The worker died"),
        (TaskFault(), FAULT_STATUS, "its worker failed: no tui-agent here"),
    ],
)
async def test_a_lost_worker_is_told_from_one_that_cannot_run_the_cell(
    fault: RayFault, status: int, reason: str, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end() -> tuple[int, str, bytes]:
        raise fault

    assert await attempt(FakeRay(end), plan, monkeypatch) == (status, reason)


async def test_files_that_lead_out_of_the_run_are_refused(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../../outside"))
    status, reason = await attempt(FakeRay(lambda: (0, "", data.getvalue())), plan, monkeypatch)
    assert status == FAULT_STATUS and reason.startswith("its files cannot be stored: ")
    assert not (plan.here / "outside").exists()
    assert [path.name for path in (plan.here / "run").iterdir()] == ["run.json"]


async def test_an_interrupted_run_stops_its_tasks(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> tuple[int, str, bytes]:
        raise TimeoutError

    ray = FakeRay(never)
    async with anyio.create_task_group() as group:
        group.start_soon(attempt, ray, plan, monkeypatch)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert ray.cancelled == 1


def test_what_is_missing_is_named(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["eval", "run", str(plan.here / plan.suite), "-m", "demo", "--out", str(plan.here / "out")]
    assert main([*words, "--address", "x:1"]) == 2
    assert "Add --engine ray." in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", FakeRay(lambda: (0, "", b"")))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert main([*words, "--engine", "ray", "--address", address]) == 2
    assert f"The Ray cluster {address} cannot be used: no answer. Give" in capsys.readouterr().err
    assert main([*words, "--engine", "ray", "--address", address]) == 2
    assert f"The Ray cluster {address} cannot be reached: " in capsys.readouterr().err
    for wrong in ("127.0.0.1", "127.0.0.1:99999999", "host:", ":1"):
        assert main([*words, "--engine", "ray", "--address", wrong]) == 2
        assert f"'{wrong}' is not an address of a Ray cluster. Give" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main([*words, "--engine", "ray"]) == 2
    error = capsys.readouterr().err
    assert "the package ray, which is not installed" in error and "[ray]" in error
