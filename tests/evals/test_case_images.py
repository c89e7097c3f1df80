"""Images of cases: built once from a Dockerfile, for the agent's commands and the tests."""

import json
import subprocess
import tarfile
from pathlib import Path

import anyio
import pytest

from tests.stubs.containers import IMAGE, container_settings
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Cell, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import CellResult, RunFolder
from tui_agent.workspace.containers.image_build import IMAGE_NAME

CASE = """\
prompt = "Copy the tool's text."
files = { "a" = "0" }
test_command = "grep 1 out && test $OF_IMAGE = yes"
environment = { dockerfile = "image/Dockerfile" }
policy = "bypass"
[[oracle]]
calls = [{ run_command = { command = "cat /opt/tool > out; echo $OF_IMAGE" } }]
[[oracle]]
text = "Done."
"""
DOCKERFILE = f"FROM {IMAGE}\nENV OF_IMAGE=yes\nCOPY tool /opt/tool\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    settings = container_settings()
    values = {"command": settings.command, "image": "", "arguments": list(settings.arguments)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    config = tmp_path / "config" / "tui-agent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("\n".join(["[environments.docker]", *lines]))
    (tmp_path / "case.toml").write_text(CASE)
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "image" / "tool").write_text("1\n")
    return tmp_path


def run(folder: Path, suite: str, environment: str | None = "docker") -> CellResult:
    (case,) = load_suite(suite, folder).cases
    return run_case(folder, case, environment)


def run_case(folder: Path, case: Case, environment: str | None = "docker") -> CellResult:
    arms, cell = (Arm(name=ORACLE, model=ORACLE),), Cell(case=case.id, arm=ORACLE)
    plan = Plan(suite="s", suite_name="s", here=folder, arms=arms, cases=(case.id,), environment=environment)
    return anyio.run(run_cell, plan, RunFolder(folder / "out"), case, cell)


def images() -> set[str]:
    command = [*container_settings().command.split(), "images", "-q", "--no-trunc", IMAGE_NAME]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.slow
def test_commands_and_tests_run_in_an_image_that_is_built_once(folder: Path) -> None:
    before = images()
    result = run(folder, "case.toml")
    assert result.passed, result.detail
    built = images() - before
    assert len(built) == 1
    assert run(folder, "case.toml").passed and images() - before == built
    (folder / "image" / "tool").write_text("2\n")
    result = run(folder, "case.toml")
    assert (result.passed, result.tests) == (False, False)
    assert len(images() - before) == 2


@pytest.mark.slow
def test_a_build_that_fails_is_an_error_of_the_environment_with_its_last_lines(folder: Path) -> None:
    (folder / "image" / "Dockerfile").write_text(f"{DOCKERFILE}COPY missing-file /\n")
    result = run(folder, "case.toml")
    assert (result.passed, result.failure, result.end) == (False, "environment", "env_error")
    first, *others = result.detail.splitlines()
    assert "image/Dockerfile could not be built: " in first and "missing-file" in first
    assert "OF_IMAGE" in "".join(others)
    assert result.session == ""


@pytest.mark.slow
def test_a_harbor_task_has_the_files_of_its_image_and_is_tested_in_it(folder: Path) -> None:
    environment, tests = folder / "task" / "environment", folder / "task" / "tests"
    environment.mkdir(parents=True)
    tests.mkdir()
    (folder / "task" / "task.toml").write_text("[verifier]\ntimeout_sec = 60\n")
    (folder / "task" / "instruction.md").write_text("Make a 1.")
    (environment / "a").write_text("0")
    with tarfile.open(environment / "more.tar", "w") as archive:
        archive.add(folder / "image" / "tool", "unpacked")
    (environment / "Dockerfile").write_text(
        f"FROM {IMAGE}\nENV OF_IMAGE=yes\nWORKDIR /data/in\nCOPY a .\nADD more.tar .\n"
    )
    (tests / "test.sh").write_text(
        "pwd; echo $OF_IMAGE; cat unpacked; grep -c 1 a > /logs/verifier/reward.txt\n"
    )
    oracle = load_suite("case.toml", folder).cases[0].oracle
    call = oracle[0].calls[0].model_copy(update={"arguments": {"command": "cat /data/in/unpacked > a"}})
    answers = (oracle[0].model_copy(update={"calls": (call,)}), oracle[1])
    (case,) = load_suite("task", folder).cases
    case = case.model_copy(update={"oracle": answers, "policy": "bypass"})
    result = run_case(folder, case)
    assert (result.passed, result.detail, result.notes) == (True, "", ())
    assert result.test_output.split() == ["/data/in", "yes", "1"]
    assert list(tests.iterdir()) == [tests / "test.sh"]


@pytest.mark.slow
def test_elsewhere_nothing_is_built_and_a_missing_dockerfile_is_named(folder: Path) -> None:
    before = images()
    assert not run(folder, "case.toml", None).passed
    assert images() == before
    (folder / "image" / "Dockerfile").unlink()
    with pytest.raises(
        ConfigError, match=r"case\.toml, at environment\.dockerfile: .*image/Dockerfile was not found"
    ):
        load_suite("case.toml", folder)
