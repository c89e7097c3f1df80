"""The built-in scenarios: a scripted model, but real tools on a real workspace."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.e2e


def todos(lines: list[dict[str, object]]) -> list[list[str]]:
    payloads = [line["payload"] for line in lines]
    lists = [each["items"] for each in payloads if isinstance(each, dict) and each["kind"] == "todo.updated"]
    return [[str(item["status"]) for item in items] for items in lists]


@pytest.mark.parametrize("name", ["bugfix", "todo-api"])
def test_a_demo_does_its_task(program: Program, tmp_path: Path, name: str) -> None:
    work = tmp_path / "kept"
    done = program.run("demo", name, "--headless", "--json", "--cwd", str(work))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [line["payload"]["kind"] for line in lines]
    assert "file.changed" in kinds
    assert "test.finished" in kinds
    seen = todos(lines)
    assert all(states.count("in_progress") <= 1 for states in seen)
    assert set(seen[-1]) == {"completed"}
    tested = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"], cwd=work, capture_output=True, check=False
    )
    assert tested.returncode == 0, tested.stderr


def test_a_demo_leaves_nothing_behind_but_its_session(program: Program) -> None:
    done = program.run("demo", "bugfix", "--headless")
    assert done.returncode == 0, done.stderr
    assert "status: success" in done.stdout
    listed = json.loads(program.run("sessions", "list", "--all", "--json").stdout)
    assert not Path(listed["workspace"]).exists()


def test_a_demo_overwrites_nothing(program: Program) -> None:
    done = program.run("demo", "bugfix", "--headless", "--cwd", str(program.workspace))
    assert done.returncode == 2
    assert "not empty" in done.stderr
