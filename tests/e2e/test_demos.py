"""The built-in scenarios: a scripted model, but real tools on a real workspace."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program, new_program

pytestmark = pytest.mark.e2e


def todos(lines: list[dict[str, Any]]) -> list[list[str]]:
    payloads = [line["payload"] for line in lines]
    lists = [each["items"] for each in payloads if each["kind"] == "todo.updated"]
    return [[str(item["status"]) for item in items] for items in lists]


@dataclass(frozen=True)
class Played:
    """A demo that was played in a folder that is kept: its program and what it printed, line by line."""

    program: Program
    work: Path
    lines: list[dict[str, Any]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Played]:
    """Plays a demo, once for all tests of this module."""

    @cache
    def once(name: str) -> Played:
        program = new_program(tmp_path_factory.mktemp(name))
        work = program.home / "kept"
        done = program.run("demo", name, "--headless", "--json", "--cwd", str(work))
        assert done.returncode == 0, done.stderr
        return Played(program, work, [json.loads(line) for line in done.stdout.splitlines()])

    return once


@pytest.fixture(params=["bugfix", "todo-api"])
def played(request: pytest.FixtureRequest, play: Callable[[str], Played]) -> Played:
    return play(request.param)


def test_a_demo_does_its_task(played: Played) -> None:
    kinds = [line["payload"]["kind"] for line in played.lines]
    assert "file.changed" in kinds
    assert "test.finished" in kinds
    seen = todos(played.lines)
    assert all(states.count("in_progress") <= 1 for states in seen)
    assert set(seen[-1]) == {"completed"}
    tested = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"], cwd=played.work, capture_output=True, check=False
    )
    assert tested.returncode == 0, tested.stderr


def test_the_demo_of_an_api_gives_its_tests_to_a_subtask_and_stays_small(
    play: Callable[[str], Played],
) -> None:
    played = play("todo-api")
    payloads = [event["payload"] for event in played.lines]
    spawned = [event for event in played.lines if event["payload"]["kind"] == "agent.spawned"]
    (begun,) = spawned
    ended = next(event for event in played.lines if event["payload"]["kind"] == "agent.finished")
    assert (begun["agent"], ended["agent"]) == ("subtask-1", "subtask-1")
    assert ended["payload"]["success"] and ended["payload"]["files_created"] == ["test_app.py"]
    packed = [each for each in payloads if each["kind"] == "context.packed"]
    assert max(each["total_tokens"] / each["window"] for each in packed) < 0.4
    own = [event["payload"] for event in played.lines if event["agent"] == "subtask-1"]
    assert [each["local_iteration"] for each in own if each["kind"] == "iteration.started"] == [1, 2, 3]


def test_a_demo_ends_with_its_turn_taken_back_and_brought_forward_again(played: Played) -> None:
    payloads = [event["payload"] for event in played.lines]
    message = next(event for event in played.lines if event["payload"]["kind"] == "user.message")
    moves = [each for each in payloads if each["kind"] == "session.head_moved"]
    assert [(each["reason"], each["files"]) for each in moves] == [("revert", True), ("redo", True)]
    assert moves[0]["to_seq"] == message["parent"]
    changed = {each["path"] for each in payloads if each["kind"] == "file.changed"}
    back, forth = [set(each["paths"]) for each in payloads if each["kind"] == "checkpoint.restored"]
    assert back == forth == changed
    commits = [each["commit"] for each in payloads if each["kind"].startswith("checkpoint.ta")]
    restored = [each["commit"] for each in payloads if each["kind"] == "checkpoint.restored"]
    assert restored[0] != commits[-1]
    told = json.loads(played.program.run_in_process("trace", "latest", "--json").stdout)
    spent = [each["cost_usd"] for each in payloads if each["kind"] == "model.responded"]
    assert spent and set(spent) == {None} and told["cost_usd"] is None  # nobody pays for a scripted model


def test_a_demo_leaves_nothing_behind_but_its_session(program: Program) -> None:
    done = program.run_in_process("demo", "bugfix", "--headless")
    assert done.returncode == 0, done.stderr
    assert "status: success" in done.stderr
    listed = json.loads(program.run_in_process("sessions", "list", "--all", "--json").stdout)
    assert not Path(listed["workspace"]).exists()


def test_a_demo_overwrites_nothing(program: Program) -> None:
    done = program.run_in_process("demo", "bugfix", "--headless", "--cwd", str(program.workspace))
    assert done.returncode == 2
    assert "not empty" in done.stderr
