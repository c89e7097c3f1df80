"""Sessions as ATIF documents, which Harbor's own models accept."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.golden import GOLDEN, golden_session
from tests.stubs.left_out import leave_out
from tests.stubs.store import said, store
from tests.stubs.story import called, finished, responded, tool_call
from tui_agent.errors import UsageError
from tui_agent.export.atif import to_atif
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.parts import ReasoningPart, TextPart
from tui_agent.store.redaction.redactor import Redactor

LOGS = sorted(path.stem for path in GOLDEN.glob("*.jsonl"))


@pytest.fixture(scope="module")
def trajectory_model() -> Any:
    """Harbor's model of a trajectory, from its unpacked wheel in the folder HARBOR_PACKAGE."""
    folder = os.environ.get("HARBOR_PACKAGE", "")
    if not folder:
        leave_out("HARBOR_PACKAGE does not name the folder of Harbor's package")
    sys.path.append(folder)
    try:
        return import_module("harbor.models.trajectories").Trajectory
    finally:
        sys.path.remove(folder)


@pytest.mark.parametrize("name", LOGS)
def test_harbor_accepts_a_session_with_its_delegates(
    trajectory_model: Any, tmp_path: Path, name: str
) -> None:
    document = to_atif(golden_session(tmp_path, name), Redactor())
    read = trajectory_model.model_validate(json.loads(json.dumps(document)))
    assert read.to_json_dict() == document
    names = {delegate.trajectory_id for delegate in read.subagent_trajectories}
    results = [result for entry in read.steps if entry.observation for result in entry.observation.results]
    refs = {ref.trajectory_id for result in results for ref in result.subagent_trajectory_ref or []}
    assert refs <= names
    assert names


def test_an_answer_and_the_results_of_its_calls_are_one_entry(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for payload in (
        said("go"),
        TurnStarted(turn=1),
        responded("r0", ReasoningPart(text="hm"), TextPart(text="I run it"), tool_call("c0", command="make")),
        called("c0"),
        finished("c0", "failed", "no rule", part=3),
        responded("r1", "left", first_part=4),
        SessionHeadMoved(to_seq=4, from_seq=5, reason="undo"),
        responded("r2", "done", first_part=5),
    ):
        log.append(payload)
    log.close()
    document = to_atif(log.folder, Redactor())
    user, call, answer = document["steps"]
    assert (user["step_id"], user["source"], user["message"]) == (1, "user", "go")
    assert (call["message"], call["reasoning_content"]) == ("I run it", "hm")
    assert call["tool_calls"] == [
        {"tool_call_id": "c0", "function_name": "run_command", "arguments": {"command": "make"}}
    ]
    assert call["observation"]["results"] == [
        {"source_call_id": "c0", "content": "no rule", "extra": {"status": "failed", "duration_ms": 5.0}}
    ]
    assert call["metrics"] == {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "cached_tokens": 0,
        "cost_usd": 0.5,
    }
    assert answer["message"] == "done"
    assert document["final_metrics"] == {
        "total_prompt_tokens": 200,
        "total_completion_tokens": 20,
        "total_cached_tokens": 0,
        "total_steps": 3,
        "total_cost_usd": 1.0,
    }


def test_a_session_without_messages_cannot_be_exported(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(TurnStarted(turn=1))
    log.close()
    with pytest.raises(UsageError, match="The session ses_a has no messages"):
        to_atif(log.folder, Redactor())
