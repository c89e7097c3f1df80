"""Images of cases that a provider builds: the agent's commands and the tests run in its sandboxes."""

import subprocess
from pathlib import Path

import anyio
import pytest

from tests.stubs.remote_machines import e2b_server, separate_machine
from tui_agent.evals.cases.case import Case
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.cases.task_folder import load_task_folder
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Cell, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import CellResult, RunFolder

CASE = """\
prompt = "Copy the machine's text."
files = { "a" = "0" }
test_command = "grep 1 out && test -f ROOT/only-there"
environment = { dockerfile = "image/Dockerfile" }
policy = "bypass"
[[oracle]]
calls = [{ run_command = { command = "cat ROOT/only-there > out" } }]
[[oracle]]
text = "Done."
"""


def run(folder: Path, case: Case) -> CellResult:
    arms, cell = (Arm(name=ORACLE, model=ORACLE),), Cell(case=case.id, arm=ORACLE)
    plan = Plan(suite="s", suite_name="s", here=folder, arms=arms, cases=(case.id,), environment="e2b")
    return anyio.run(run_cell, plan, RunFolder(folder / "out"), case, cell)


TASK = {
    "task.toml": "[verifier]\ntimeout_sec = 60\n",
    "instruction.md": "Copy the machine's text.",
    "environment/Dockerfile": "FROM python:3.12\nWORKDIR /app\n",
    "tests/test.sh": "pwd -P; ls /tests; touch /tests/mine; grep 1 out && echo 1 > /logs/verifier/reward.txt\n",
}


@pytest.mark.slow
def test_a_harbor_task_runs_in_the_folders_of_its_image_in_e2b(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("out", "store"):
        (tmp_path / name).mkdir()
    for name, text in TASK.items():
        (tmp_path / "task" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "task" / name).write_text(text)
    (tmp_path / "case.toml").write_text(CASE.replace('environment = { dockerfile = "image/Dockerfile" }', ""))
    oracle = load_suite("case.toml", tmp_path).cases[0].oracle
    command = {"command": "cat only-there > out"}
    with (
        separate_machine(tmp_path / "store", tmp_path / "out") as machine,
        e2b_server(machine, []) as server,
    ):
        subprocess.run([*machine, "sh", "-c", "mkdir /app && echo 1 > /app/only-there"], check=True)
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("E2B_API_KEY", "e2b_" + "0" * 40)
        monkeypatch.setenv("E2B_API_URL", address)
        monkeypatch.setenv("E2B_SANDBOX_URL", address)
        call = oracle[0].calls[0].model_copy(update={"arguments": command})
        answers = (oracle[0].model_copy(update={"calls": (call,)}), *oracle[1:])
        case = load_task_folder(tmp_path / "task").model_copy(update={"oracle": answers, "policy": "bypass"})
        result = run(tmp_path, case)
    assert result.passed, (result.detail, result.test_output)
    assert result.verify == {"reward": 1.0, "fault": ""}
    repo = tmp_path / "out" / "cells" / case.id / f"{ORACLE}-1" / "repo"
    assert sorted(path.name for path in repo.iterdir()) == ["only-there", "out"]
    assert [path.name for path in (tmp_path / "task" / "tests").iterdir()] == ["test.sh"]


@pytest.mark.slow
@pytest.mark.parametrize("status", ["ready", "error"])
def test_commands_and_tests_run_in_a_template_that_e2b_builds(
    status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("image", "out", "store"):
        (tmp_path / name).mkdir()
    (tmp_path / "image" / "Dockerfile").write_text("FROM python:3.12\n")
    (tmp_path / "case.toml").write_text(CASE.replace("ROOT", str(tmp_path / "out")))
    (tmp_path / "store" / "only-there").write_text("1\n")
    calls: list[tuple[str, object]] = []
    with (
        separate_machine(tmp_path / "store", tmp_path / "out") as machine,
        e2b_server(machine, calls) as server,
    ):
        server.build_status = status
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("E2B_API_KEY", "e2b_" + "0" * 40)
        monkeypatch.setenv("E2B_API_URL", address)
        monkeypatch.setenv("E2B_SANDBOX_URL", address)
        result = run(tmp_path, load_suite("case.toml", tmp_path).cases[0])
    names = [name for name, _ in calls]
    if status == "error":
        assert (result.failure, result.interrupted) == ("environment", False)
        assert "image/Dockerfile could not be built: RUN failed" in result.detail
    else:
        assert result.passed, result.detail
        assert names.count("create") == names.count("kill") == 3  # tests before, the agent, tests after
