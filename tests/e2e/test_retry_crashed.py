"""`run --retry-crashed`: a run whose process is killed goes on by itself where its session stands."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.e2e
SCRIPT = """\
answers:
  - text: First a file.
    calls:
      - write_file: {path: made.txt, content: "made\\n"}
  - text: Written. Now a long story that nobody hears to its end in one go.
    pace: 40
"""
LAST = "nobody hears to its end in one go."


def start(program: Program, tmp_path: Path, *words: str) -> "subprocess.Popen[str]":
    (tmp_path / "script.yaml").write_text(SCRIPT)
    model = f"scripted:{tmp_path / 'script.yaml'}"
    return program.start("run", "go", "-m", model, "--policy", "bypass", "--json", *words)


def until(run: "subprocess.Popen[str]", kind: str) -> list[dict[str, Any]]:
    """The events up to the first of this kind."""
    assert run.stdout is not None
    found: list[dict[str, Any]] = []
    while not found or found[-1]["payload"]["kind"] != kind:
        found.append(json.loads(run.stdout.readline()))
    return found


def rest(run: "subprocess.Popen[str]") -> tuple[list[dict[str, Any]], str]:
    out, err = run.communicate(timeout=90)
    return [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")], err


def pid_of(events: list[dict[str, Any]]) -> int:
    return int(next(one["payload"]["pid"] for one in events if one["payload"]["kind"] == "run.started"))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [one["payload"]["kind"] for one in events]


def test_a_killed_run_goes_on_in_the_same_session_and_ends_well(program: Program, tmp_path: Path) -> None:
    run = start(program, tmp_path, "--retry-crashed", "2")
    first = until(run, "file.changed")
    assert pid_of(first) != run.pid
    os.kill(pid_of(first), signal.SIGKILL)
    second, err = rest(run)
    assert run.returncode == 0, err
    assert "The run was killed (SIGKILL). Continuing ses_" in err and "; 2 tries left." in err
    assert {one["session"] for one in [*first, *second]} == {first[0]["session"]}
    assert "run.resumed" in kinds(second) and "user.message" not in kinds(second)
    said = [one["payload"] for one in second if one["payload"]["kind"] == "model.responded"]
    assert LAST in said[-1]["parts"][-1]["text"]
    assert (program.workspace / "made.txt").read_text() == "made\n"


def test_after_the_last_try_the_status_says_what_killed_it(program: Program, tmp_path: Path) -> None:
    run = start(program, tmp_path, "--retry-crashed", "1")
    os.kill(pid_of(until(run, "file.changed")), signal.SIGKILL)
    os.kill(pid_of(until(run, "model.delta")), signal.SIGKILL)
    _, err = rest(run)
    assert run.returncode == 128 + signal.SIGKILL
    assert "1 try left" in err and "No tries left" in err


def test_a_stop_that_is_asked_for_is_no_crash(program: Program, tmp_path: Path) -> None:
    run = start(program, tmp_path, "--retry-crashed", "2")
    until(run, "file.changed")
    run.send_signal(signal.SIGTERM)
    events, err = rest(run)
    assert run.returncode == 130, err
    assert "killed" not in err and kinds(events).count("run.finished") == 1
