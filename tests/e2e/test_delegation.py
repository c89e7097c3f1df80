"""A program that is killed while a subtask works, and a session that goes on after it."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.e2e

SCRIPT = """
answers:
  - calls: [{spawn_subtask: {prompt: Write both files.}}]
  - text: I look at what the subtask left.
conversations:
  - match: {first_user: Write both files.}
    answers:
      - calls: [{write_file: {path: one.txt, content: "1"}}]
      - {text: Never said., delay: 3600}
"""


def parsed(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_session_killed_in_a_subtask_closes_it_and_goes_on(program: Program) -> None:
    script = program.home / "script.yaml"
    script.write_text(SCRIPT)
    model = ("--model", f"scripted:{script}", "--policy", "accept-edits")
    running = program.start("run", "go", "--session", "ses_killed", "--json", *model)
    assert running.stdout is not None
    asked = 0
    for line in running.stdout:
        event = json.loads(line)
        asked += event["payload"]["kind"] == "model.requested" and event["agent"] == "subtask-1"
        if asked == 2:
            break
    running.kill()
    running.communicate()
    assert (program.workspace / "one.txt").read_text() == "1"
    done = program.run_in_process("run", "what now?", "--session", "ses_killed", "--json", *model)
    assert done.returncode == 0, done.stderr
    events = parsed(program.run_in_process("sessions", "show", "ses_killed", "--json").stdout)
    ended = [event for event in events if event["payload"]["kind"] == "agent.finished"]
    assert [(event["agent"], event["payload"]["reason"]) for event in ended] == [("subtask-1", "interrupted")]
    assert ended[0]["payload"]["files_created"] == ["one.txt"]
    told = next(
        event["payload"]
        for event in events
        if event["payload"]["kind"] == "tool.finished" and event["payload"]["name"] == "spawn_subtask"
    )
    assert told["status"] == "lost" and "one.txt" in str(told["content"])
    assert program.run_in_process("sessions", "verify", "ses_killed").returncode == 0
