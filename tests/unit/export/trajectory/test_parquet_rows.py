"""A trajectory becomes rows and rows become the same trajectory, in memory and through a parquet file."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.export.trajectory.parquet import read_rows, read_trace, write_trace
from tui_agent.export.trajectory.parquet_rows import PART_COLUMNS, RUN_COLUMNS, rows_to_trace, trace_to_rows
from tui_agent.export.trajectory.records import (
    AgentTrace,
    EnvoiCall,
    PartRecord,
    RepoCheckpoint,
    RunRecord,
    SessionEnd,
    TestingState,
    TestResult,
)

texts = st.text(max_size=12)
small = st.integers(-1, 2**31 - 1)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)
runs = st.builds(
    RunRecord,
    trajectory_id=texts,
    agent=texts,
    started_at=texts,
    environment=texts,
    task_params=objects,
    run_metadata=objects,
    session_end=st.none()
    | st.builds(SessionEnd, reason=texts, total_parts=small, total_turns=st.none() | small),
    suites=objects,
    artifacts=objects,
    bundle_uri=st.none() | texts,
    sandbox_id=st.none() | texts,
    sandbox_provider=st.none() | texts,
)
results = st.builds(
    TestResult, passed=small, failed=small, total=small, tests=st.lists(texts, max_size=2).map(tuple)
)
calls = st.builds(
    EnvoiCall,
    path=texts,
    timestamp=texts,
    duration_ms=small,
    status_code=small,
    error=st.none() | texts,
    result=st.none() | results,
)
parts = st.builds(
    PartRecord,
    session_id=texts,
    agent_model=texts,
    part=small,
    timestamp=texts,
    part_type=st.sampled_from(["reasoning", "text", "tool_use", "tool_result", "patch"]),
    summary=st.none() | texts,
    content=st.none() | texts,
    duration_ms=st.none() | st.integers(0, 2**60),
    files=st.lists(texts, max_size=2).map(tuple),
    tool_input=json_values,
    tool_output=json_values,
    tool_error=json_values,
    token_usage=st.none() | objects,
    envoi_calls=st.lists(calls, max_size=2).map(tuple),
    testing_state=st.none() | st.builds(TestingState, solved_paths=small, total_paths=small),
    repo_checkpoint=st.none()
    | st.builds(RepoCheckpoint, commit_after=texts, numstat=st.lists(objects, max_size=2).map(tuple)),
    eval_events_delta=st.lists(objects, max_size=2).map(tuple),
    seq=st.integers(0, 2**60),
    cost_usd=st.none() | st.floats(0, 1e6),
    abandoned=st.booleans(),
)
traces = st.builds(AgentTrace, run=runs, parts=st.lists(parts, min_size=1, max_size=4).map(tuple))


@pytest.mark.slow
@settings(max_examples=20)
@given(traces)
def test_a_trajectory_is_the_same_after_rows(trace: AgentTrace) -> None:
    rows = trace_to_rows(trace)
    assert rows_to_trace(rows) == trace
    assert all(row.keys() == RUN_COLUMNS.keys() | PART_COLUMNS.keys() for row in rows)


@settings(max_examples=5)
@given(traces)
def test_a_trajectory_is_the_same_after_a_parquet_file(tmp_path_factory: Any, trace: AgentTrace) -> None:
    path = tmp_path_factory.mktemp("parquet") / "trace.parquet"
    write_trace(trace, path)
    assert read_trace(path) == trace


def test_turns_are_made_of_their_parts() -> None:
    run = RunRecord(trajectory_id="t", started_at="now")
    base: dict[str, Any] = {"session_id": "s", "agent_model": "m", "timestamp": "now", "part_type": "text"}
    made = [
        PartRecord(part=part, turn=turn, seq=part, turn_user_message=prompt, git_commit=f"c{part}", **base)
        for part, turn, prompt in [(0, 1, "do it"), (1, 1, None), (2, 3, "more")]
    ]
    turns = AgentTrace(run=run, parts=tuple(made)).turns
    assert [(turn.turn, turn.part_start, turn.part_end, turn.prompt, turn.git_commit) for turn in turns] == [
        (1, 0, 1, "do it", "c1"),
        (3, 2, 2, "more", "c2"),
    ]
    assert turns[0].parts == tuple(made[:2])


def test_nested_values_are_json_texts_in_the_file(tmp_path: Path) -> None:
    part = PartRecord(
        session_id="s",
        agent_model="m",
        part=0,
        timestamp="now",
        part_type="tool_use",
        seq=1,
        tool_input={"a": 1},
    )
    write_trace(AgentTrace(run=RunRecord(trajectory_id="t", started_at="now"), parts=(part,)), tmp_path / "f")
    (row,) = read_rows(tmp_path / "f")
    assert json.loads(row["tool_input"]) == {"a": 1}
    assert row["files"] is None
    assert row["session_end_reason"] is None
    assert row["trace_schema_version"] == "tui-agent.trace.v1"
