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


@pytest.mark.parametrize("name", ["bugfix", "todo-api"])
def test_a_demo_ends_with_its_turn_taken_back_and_brought_forward_again(
    program: Program, tmp_path: Path, name: str
) -> None:
    done = program.run("demo", name, "--headless", "--json", "--cwd", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    payloads = [event["payload"] for event in events]
    message = next(event for event in events if event["payload"]["kind"] == "user.message")
    moves = [each for each in payloads if each["kind"] == "session.head_moved"]
    assert [(each["reason"], each["files"]) for each in moves] == [("revert", True), ("redo", True)]
    assert moves[0]["to_seq"] == message["parent"]
    changed = {each["path"] for each in payloads if each["kind"] == "file.changed"}
    back, forth = [set(each["paths"]) for each in payloads if each["kind"] == "checkpoint.restored"]
    assert back == forth == changed
    commits = [each["commit"] for each in payloads if each["kind"].startswith("checkpoint.ta")]
    restored = [each["commit"] for each in payloads if each["kind"] == "checkpoint.restored"]
    assert restored[0] != commits[-1]
    told = json.loads(program.run("trace", "latest", "--json").stdout)
    spent = [each["cost_usd"] for each in payloads if each["kind"] == "model.responded"]
    assert told["cost_usd"] == pytest.approx(sum(spent))


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
