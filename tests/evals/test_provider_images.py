"""Images of cases that a provider builds: the agent's commands and the tests run in its sandboxes."""

from pathlib import Path

import anyio
import pytest

from tests.stubs.remote_machines import e2b_server, separate_machine
from tui_agent.evals.cell import run_cell
from tui_agent.evals.plan import ORACLE, Arm, Cell, CellResult, Plan, RunFolder
from tui_agent.evals.suites import load_suite

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


def run(folder: Path) -> CellResult:
    (case,) = load_suite("case.toml", folder).cases
    arms, cell = (Arm(name=ORACLE, model=ORACLE),), Cell(case=case.id, arm=ORACLE)
    plan = Plan(suite="s", suite_name="s", here=folder, arms=arms, cases=(case.id,), environment="e2b")
    return anyio.run(run_cell, plan, RunFolder(folder / "out"), case, cell)


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
        result = run(tmp_path)
    names = [name for name, _ in calls]
    if status == "error":
        assert (result.failure, result.interrupted) == ("environment", False)
        assert "image/Dockerfile could not be built: RUN failed" in result.detail
    else:
        assert result.passed, result.detail
        assert names.count("create") == names.count("kill") == 3  # tests before, the agent, tests after
