"""Conversion between the records of a trajectory and the rows of `trace.parquet`.

Nested values are stored as JSON texts, and empty values as null.

Invariant: only this module names the columns.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from tui_agent.errors import UsageError
from tui_agent.export.trajectory.records import AgentTrace, PartRecord, RunRecord, SessionEnd

Row: TypeAlias = dict[str, Any]
SCHEMA_VERSION: Final = "tui-agent.trace.v1"

RUN_COLUMNS: Final = {
    "trajectory_id": "VARCHAR",
    "agent": "VARCHAR",
    "started_at": "VARCHAR",
    "trace_schema_version": "VARCHAR",
    "environment": "VARCHAR",
    "task_params": "VARCHAR",
    "run_metadata": "VARCHAR",
    "session_end_reason": "VARCHAR",
    "session_end_total_parts": "INTEGER",
    "session_end_total_turns": "INTEGER",
    "session_end_final_commit": "VARCHAR",
    "suites": "VARCHAR",
    "artifacts": "VARCHAR",
    "bundle_uri": "VARCHAR",
    "sandbox_id": "VARCHAR",
    "sandbox_provider": "VARCHAR",
}
"""Maps each column with the same value in all rows to its type."""

PART_COLUMNS: Final = {
    "session_id": "VARCHAR",
    "agent_model": "VARCHAR",
    "part": "INTEGER",
    "timestamp": "VARCHAR",
    "role": "VARCHAR",
    "part_type": "VARCHAR",
    "item_type": "VARCHAR",
    "summary": "VARCHAR",
    "duration_ms": "BIGINT",
    "git_commit": "VARCHAR",
    "files": "VARCHAR",
    "content": "VARCHAR",
    "summary_word_count": "INTEGER",
    "content_word_count": "INTEGER",
    "summary_token_estimate": "INTEGER",
    "content_token_estimate": "INTEGER",
    "tool_name": "VARCHAR",
    "tool_status": "VARCHAR",
    "tool_input": "VARCHAR",
    "tool_output": "VARCHAR",
    "tool_error": "VARCHAR",
    "tool_exit_code": "INTEGER",
    "token_usage": "VARCHAR",
    "patch": "VARCHAR",
    "envoi_calls": "VARCHAR",
    "testing_state": "VARCHAR",
    "repo_checkpoint": "VARCHAR",
    "turn": "INTEGER",
    "turn_user_message": "VARCHAR",
    "turn_feedback_eval_id": "VARCHAR",
    "eval_events_delta": "VARCHAR",
    "agent_id": "VARCHAR",
    "call_id": "VARCHAR",
    "seq": "BIGINT",
    "cost_usd": "DOUBLE",
    "abandoned": "BOOLEAN",
}
"""Maps each column with a part's own values to its type."""

_RUN_JSON: Final = frozenset(("task_params", "run_metadata", "suites", "artifacts"))
_PART_JSON: Final = frozenset(
    (
        "files",
        "tool_input",
        "tool_output",
        "tool_error",
        "token_usage",
        "envoi_calls",
        "testing_state",
        "repo_checkpoint",
        "eval_events_delta",
    )
)
_END_COLUMNS: Final = {
    "session_end_reason": "reason",
    "session_end_total_parts": "total_parts",
    "session_end_total_turns": "total_turns",
    "session_end_final_commit": "final_git_commit",
}


def trace_to_rows(trace: AgentTrace) -> list[Row]:
    """Return one row for each part of a trajectory, for programs that store trajectories elsewhere."""
    run = run_to_row(trace.run)
    return [{**run, **part_to_row(part)} for part in trace.parts]


def rows_to_trace(rows: Sequence[Mapping[str, Any]]) -> AgentTrace:
    """Return the trajectory of these rows, with default values for missing columns.

    Raise `UsageError` if there are no rows.
    """
    if not rows:
        raise UsageError("The trajectory has no parts yet.", hint="Wait until the agent has answered.")
    return AgentTrace(run=row_to_run(rows[0]), parts=tuple(map(_row_to_part, rows)))


def run_to_row(run: RunRecord) -> Row:
    """Return the columns with the same value in all rows of a trajectory."""
    end = run.session_end
    values = {
        **{column: getattr(end, field, None) for column, field in _END_COLUMNS.items()},
        "trace_schema_version": SCHEMA_VERSION,
    }
    return {name: values[name] if name in values else _to_cell(run, name, _RUN_JSON) for name in RUN_COLUMNS}


def part_to_row(part: PartRecord) -> Row:
    """Return the columns of one part."""
    return {name: _to_cell(part, name, _PART_JSON) for name in PART_COLUMNS}


def to_json_lines(rows: Iterable[Row]) -> bytes:
    """Return rows as lines of JSON."""
    return b"".join(to_json(row) + b"\n" for row in rows)


def _to_cell(record: PartRecord | RunRecord, name: str, json_names: frozenset[str]) -> object:
    value = getattr(record, name)
    if name not in json_names:
        return value
    return None if value == type(record).model_fields[name].default else to_json(value).decode()


def row_to_run(row: Mapping[str, Any]) -> RunRecord:
    """Return the fields that describe the run. `row` can be any row of `trace.parquet`, because all rows repeat these
    fields.
    """
    fields = _read_cells(row, RunRecord.model_fields, _RUN_JSON)
    if row.get("session_end_reason") is not None:
        end = {field: row.get(column) for column, field in _END_COLUMNS.items()}
        fields["session_end"] = SessionEnd.model_validate(end)
    return RunRecord.model_validate(fields)


def _row_to_part(row: Mapping[str, Any]) -> PartRecord:
    return PartRecord.model_validate(_read_cells(row, PartRecord.model_fields, _PART_JSON))


def _read_cells(row: Mapping[str, Any], names: Iterable[str], json_names: frozenset[str]) -> dict[str, Any]:
    return {
        name: json.loads(value) if name in json_names else value
        for name in names
        if (value := row.get(name)) is not None
    }
