"""Records of a trajectory: the run, its parts and its turns.

Invariant: each field has the name and the meaning of a column of `trace.parquet` (see `parquet_rows`).
"""

from itertools import groupby
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.stored_text import JsonMap

PartType: TypeAlias = Literal["reasoning", "text", "tool_use", "tool_result", "patch"]


class TestResult(FrozenModel):
    """The counts of one test run. A count is -1 if it is not in the output.

    `tests`: names of the failed tests.
    """

    __test__ = False  # the name looks like a test class to pytest

    passed: int
    failed: int
    total: int
    tests: tuple[str, ...] = ()


class EnvoiCall(FrozenModel):
    """One run of tests or of a verifier, in the column `envoi_calls`.

    - `path`: the command, followed by its folder if this is not the workspace; for a verifier, `verifier:NAME`.
    - `status_code`: exit code, -1 if unknown.
    """

    path: str
    timestamp: str
    duration_ms: int
    status_code: int
    error: str | None = None
    result: TestResult | None = None


class TestingState(FrozenModel):
    """The results of a session's test commands after one of its parts.

    - `total_paths`: number of different test commands so far.
    - `solved_paths`: number of test commands that passed in their newest run.
    - `latest_…`: facts about the newest test run.
    """

    __test__ = False

    solved_paths: int
    total_paths: int
    latest_path: str | None = None
    latest_passed: int | None = None
    latest_total: int | None = None
    latest_status_code: int | None = None
    latest_error: str | None = None


class RepoCheckpoint(FrozenModel):
    """The checkpoints before and after a part that changed files.

    `numstat`: for each file, its path and its numbers of added and removed lines.
    """

    commit_before: str | None = None
    commit_after: str | None = None
    committed: bool = False
    changed_files: tuple[str, ...] = ()
    patch: str | None = None
    numstat: tuple[JsonMap, ...] = ()


class SessionEnd(FrozenModel):
    """The end of a trajectory, with its reason, such as `solved`, `part_limit`, `timeout` or `agent_error`.

    The totals count parts and turns of the current branch.
    """

    reason: str
    total_parts: int
    total_turns: int | None = None
    final_git_commit: str | None = None


class PartRecord(FrozenModel):
    """One part: a text, a reasoning, a tool call (`tool_use`), its result, or a patch of another agent program.

    - `session_id`: the session that recorded the part. For an inherited part, this is the parent session.
    - `agent_id`: `main` or the id of a delegate.
    - `item_type`: verb of a call (`edit`, `run`), or `message`, `reasoning` or `patch`.
    - `content`: the full text. For the result of a call, the text that the model got.
    - `tool_output`: the tool's own JSON.
    - `tool_error`: text of a failed call.
    - `token_usage`, `cost_usd`: only in the first part of an answer.
    - `turn_user_message`: text of the user's message, in the first part that responds to the message; other parts have
      none.
    - `abandoned`: True if the part is not on the current branch.
    """

    session_id: str
    agent_model: str
    part: int
    timestamp: str
    role: Literal["assistant", "user"] = "assistant"
    part_type: PartType
    item_type: str | None = None
    summary: str | None = None
    duration_ms: int | None = None
    git_commit: str | None = None
    files: tuple[str, ...] = ()
    content: str | None = None
    summary_word_count: int | None = None
    content_word_count: int | None = None
    summary_token_estimate: int | None = None
    content_token_estimate: int | None = None
    tool_name: str | None = None
    tool_status: str | None = None
    tool_input: JsonValue = None
    tool_output: JsonValue = None
    tool_error: JsonValue = None
    tool_exit_code: int | None = None
    token_usage: JsonMap | None = None
    patch: str | None = None
    envoi_calls: tuple[EnvoiCall, ...] = ()
    testing_state: TestingState | None = None
    repo_checkpoint: RepoCheckpoint | None = None
    turn: int | None = None
    turn_user_message: str | None = None
    turn_feedback_eval_id: str | None = None
    eval_events_delta: tuple[JsonMap, ...] = ()
    agent_id: str = "main"
    call_id: str | None = None
    seq: int
    cost_usd: float | None = None
    abandoned: bool = False


class RunRecord(FrozenModel):
    """The fields that every row of `trace.parquet` repeats, because they describe the whole trajectory.

    - `agent`: the agent program.
    - `run_metadata`: facts about the agent program, such as its version and its policy.
    """

    trajectory_id: str
    agent: str = "tui-agent"
    started_at: str
    environment: str = "local"
    task_params: JsonMap = {}
    run_metadata: JsonMap = {}
    session_end: SessionEnd | None = None
    suites: JsonMap = {}
    artifacts: JsonMap = {}
    bundle_uri: str | None = None
    sandbox_id: str | None = None
    sandbox_provider: str | None = None


class TurnRecord(FrozenModel):
    """The parts of one turn, from `part_start` to `part_end`; a turn without parts has no record."""

    trajectory_id: str
    session_id: str
    turn: int
    part_start: int
    part_end: int
    timestamp: str
    agent_model: str
    prompt: str | None = None
    git_commit: str | None = None
    feedback_eval_id: str | None = None
    parts: tuple[PartRecord, ...] = ()


class AgentTrace(FrozenModel):
    """A whole trajectory."""

    run: RunRecord
    parts: tuple[PartRecord, ...] = ()

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """The turns in order, each with its parts."""
        return tuple(
            _build_turn(self.run, turn, tuple(parts))
            for turn, parts in groupby(self.parts, key=lambda part: part.turn)
            if turn is not None
        )


def _build_turn(run: RunRecord, turn: int, parts: tuple[PartRecord, ...]) -> TurnRecord:
    first, last = parts[0], parts[-1]
    values: dict[str, Any] = {
        name: getattr(first, name) for name in ("session_id", "timestamp", "agent_model")
    }
    return TurnRecord(
        trajectory_id=run.trajectory_id,
        turn=turn,
        part_start=first.part,
        part_end=last.part,
        prompt=first.turn_user_message,
        git_commit=last.git_commit,
        feedback_eval_id=first.turn_feedback_eval_id,
        parts=parts,
        **values,
    )
