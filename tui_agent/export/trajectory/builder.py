"""The builder of a trajectory's records from the events of a session, one event at a time.

Invariant: every text is redacted and complete.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from tui_agent.export.export_content import ExportedChange, Texts
from tui_agent.export.trajectory.records import (
    AgentTrace,
    EnvoiCall,
    PartRecord,
    PartType,
    RepoCheckpoint,
    RunRecord,
    SessionEnd,
    TestingState,
    TestResult,
)
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.branches import Branches, Stretch, is_on_branch, stretches
from tui_agent.folds.trace.part_list import PartRow, Parts
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.eval import EvalCaseStarted, TestFinished, VerifierFinished
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import RunStarted, SessionEnded, SessionStarted
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.parts import ModelPart, PatchPart, TextContent, ToolCallPart
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import JsonMap

CHARS_PER_TOKEN: Final = 4
_PART_TYPES: Final[dict[str, PartType]] = {
    "reasoning": "reasoning",
    "text": "text",
    "tool_call": "tool_use",
    "tool_result": "tool_result",
    "patch": "patch",
}
_ITEM_TYPES: Final = {"reasoning": "reasoning", "text": "message", "patch": "patch"}


class TraceBuilder:
    """Builds the records of one session's trajectory. The record at position N is part number N."""

    def __init__(self, session: str, texts: Texts) -> None:
        self.session = session
        self.texts = texts
        self.parts = Parts()
        self._branches = Branches()
        self._records: list[PartRecord | None] = []
        """One record for each part. None stands for a record that is only in the file."""
        self.first_changed = 0
        """Position of the first record changed since the last write of the file."""
        self.is_stale = False
        """True if an event changed a dropped record. All records must then be built again."""
        self.last_seq = -1
        self.moves = 0
        self.run: dict[str, Any] = {"started_at": "", "run_metadata": {}}
        self.models: dict[AgentId, ModelInfo] = {}
        self.verbs: dict[CallId, str] = {}
        self.messages: dict[int, str] = {}
        """The user messages for the next part's record: maps a message's event number to its text."""
        self.waiting_steers: dict[int, str] = {}
        """Unanswered messages that were sent during a turn: maps a message's event number to its text."""
        self.requests: dict[RequestId, int] = {}
        """Maps the id of a request without an answer to its `seq`."""
        self.turns: list[int] = []
        """The `seq` of the first event of each turn."""
        self.end_reason: str | None = None
        self.changes: list[ExportedChange] = []
        """File changes since the newest checkpoint."""
        self.commit: str | None = None
        self.tests: dict[CallId, list[EnvoiCall]] = {}
        """The test runs so far of each call without a result, by call id."""
        self.latest_tests: dict[str, EnvoiCall] = {}

    def __len__(self) -> int:
        return len(self._records)

    def apply(self, event: Envelope) -> None:
        """Apply one event; all events of the log must be applied in order."""
        self.last_seq = event.seq
        if isinstance(event.payload, ModelDelta | ToolProgress):
            return
        event = self.texts.redact_event(event)
        if self._branches.apply(event):
            self.moves = len(self._branches.view().moves)
        self.parts.apply(event)
        _HANDLERS.apply(self, event)

    def branch(self) -> tuple[Stretch, ...]:
        """Return the ranges of event numbers on the current branch."""
        return stretches(self._branches.view().moves, self.last_seq)

    def records(self, start: int = 0) -> list[PartRecord]:
        """Return the records from the position `start` on. The records must still be in memory (see `drop`)."""
        branch = self.branch()
        return [
            record.model_copy(
                update={"git_commit": row.commit or None, "abandoned": not is_on_branch(row.seq, branch)}
            )
            for record, row in zip(self._records[start:], self.parts.rows[start:], strict=True)
            if record is not None
        ]

    def drop(self, before: int) -> None:
        """Drop the records before the position `before` from memory."""
        for position in range(before - 1, -1, -1):
            if self._records[position] is None:
                break
            self._records[position] = None

    def build_run(self, **run_fields: Any) -> RunRecord:
        """Return the record of the run. `run_fields`: fields that replace the log's values."""
        metadata = {**self.run["run_metadata"], **run_fields.pop("run_metadata", {})}
        fields = {"trajectory_id": self.session, **self.run, **run_fields, "run_metadata": metadata}
        return RunRecord(**fields, session_end=self.build_end())

    def build_trace(self, **run_fields: Any) -> AgentTrace:
        """Return the whole trajectory. `run_fields`: fields of the run that replace the log's values."""
        return AgentTrace(run=self.build_run(**run_fields), parts=tuple(self.records()))

    def build_end(self, last_part: int | None = None) -> SessionEnd | None:
        """Return the end of the trajectory, or None if the session has not ended.

        The totals count the parts up to `last_part`, or all parts if `last_part` is None.
        """
        if self.end_reason is None:
            return None
        branch = self.branch()
        rows = [
            row
            for row in self.parts.rows
            if is_on_branch(row.seq, branch) and (last_part is None or row.part <= last_part)
        ]
        commit = self.parts.commit if last_part is None or not rows else rows[-1].commit
        return SessionEnd(
            reason=self.end_reason,
            total_parts=len(rows),
            total_turns=sum(is_on_branch(seq, branch) for seq in self.turns),
            final_git_commit=commit or None,
        )

    def add(self, row: PartRow, text: str | None, **fields: Any) -> None:
        """Add a part's record, with the content `text`."""
        model = self.models.get(row.agent)
        content = text or ""
        record = PartRecord(
            agent_model=f"{model.provider}/{model.model}".strip("/") if model else "",
            part=row.part,
            timestamp=_format_utc(row.time),
            part_type=_PART_TYPES[row.type],
            summary=row.summary,
            duration_ms=None if row.duration_ms is None else round(row.duration_ms),
            content=text,
            summary_word_count=len(row.summary.split()),
            content_word_count=len(content.split()),
            summary_token_estimate=len(row.summary) // CHARS_PER_TOKEN,
            content_token_estimate=len(content) // CHARS_PER_TOKEN,
            turn=row.turn or None,
            turn_user_message="\n\n".join(self.messages[seq] for seq in sorted(self.messages)) or None,
            agent_id=row.agent,
            call_id=row.call_id,
            seq=row.seq,
            **{"item_type": _ITEM_TYPES.get(row.type), **fields},
        )
        self.messages = {}
        self._records.append(record)
        self.first_changed = min(self.first_changed, len(self._records) - 1)

    def release_steers(self, request_seq: int) -> None:
        """Move the messages that the request `request_seq` sent to the model from `waiting_steers` to `messages`."""
        branch = self.branch()
        for seq in list(self.waiting_steers):
            # A message that came after the request was not in it, so a later answer responds to it.
            if seq < request_seq and is_on_branch(seq, branch):
                self.messages[seq] = self.waiting_steers.pop(seq)

    def update(self, matches: Callable[[PartRow], bool], **fields: Any) -> PartRecord | None:
        """Change `fields` of the newest record whose row `matches` accepts, and return the unchanged record.

        Return None if no record matches, or if the matching record is no longer in memory.
        """
        for position in range(len(self._records) - 1, -1, -1):
            if not matches(self.parts.rows[position]):
                continue
            record = self._records[position]
            if record is None:
                self.is_stale = True
                return None
            self._records[position] = record.model_copy(update=fields)
            self.first_changed = min(self.first_changed, position)
            return record
        return None

    def change_all(self) -> None:
        """Mark all records as possibly changed, so that all are written to the file again."""
        self.first_changed = 0
        self.is_stale = self.is_stale or (bool(self._records) and self._records[0] is None)

    def testing_state(self) -> TestingState:
        """Return counts of the test commands so far, and the newest test run."""
        *_, latest = self.latest_tests.values()
        result = latest.result
        return TestingState(
            solved_paths=sum(_is_solved(call) for call in self.latest_tests.values()),
            total_paths=len(self.latest_tests),
            latest_path=latest.path,
            latest_passed=result.passed if result else None,
            latest_total=result.total if result else None,
            latest_status_code=latest.status_code,
            latest_error=latest.error,
        )

    def add_test(self, call: EnvoiCall, call_id: CallId | None, part: int | None = None) -> None:
        """Add a test run to the record of a part.

        - `part`: number of the part (None: the part of the call `call_id`).
        - `call_id`: id of a call (None: the newest part).
        """
        self.latest_tests.pop(call.path, None)
        self.latest_tests[call.path] = call
        state = self.testing_state()
        if call_id is not None and call_id in self.verbs:
            self.tests.setdefault(call_id, []).append(call)
            return

        def matches(row: PartRow) -> bool:
            return row.part == part if part is not None else call_id in (None, row.call_id)

        before = self.update(matches, testing_state=state)
        if before is not None:
            call = call.model_copy(update={"duration_ms": before.duration_ms or 0})
            self.update(matches, envoi_calls=(*before.envoi_calls, call))


def _is_solved(call: EnvoiCall) -> bool:
    return call.status_code == 0 and call.error is None and (call.result is None or call.result.failed <= 0)


def _format_utc(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


_HANDLERS: Handlers[TraceBuilder] = Handlers()


@_HANDLERS.on(SessionStarted)
def _on_session_started(builder: TraceBuilder, ev: Envelope, payload: SessionStarted) -> None:
    builder.run["started_at"] = builder.run["started_at"] or _format_utc(ev.time)
    settings = payload.settings
    builder.models.setdefault(MAIN_AGENT, settings.model)
    builder.run["run_metadata"] |= {
        "product": payload.product,
        "workspace": payload.workspace,
        "policy": settings.policy,
        "agent_profile": settings.agent,
        "context_mode": settings.context_mode,
        "repo_map": settings.repo_map,
        "reasoning_effort": settings.model.effort,
    }


@_HANDLERS.on(RunStarted)
def _on_run_started(builder: TraceBuilder, ev: Envelope, payload: RunStarted) -> None:
    builder.run["run_metadata"] |= {"client": payload.client}


@_HANDLERS.on(EnvStarted)
def _on_env_started(builder: TraceBuilder, ev: Envelope, payload: EnvStarted) -> None:
    builder.run |= {"environment": payload.environment, "sandbox_provider": payload.sandbox or None}


@_HANDLERS.on(EvalCaseStarted)
def _on_case_started(builder: TraceBuilder, ev: Envelope, payload: EvalCaseStarted) -> None:
    builder.run["task_params"] = {"suite": payload.suite, "case": payload.case, "arm": payload.arm}


@_HANDLERS.on(SessionEnded)
def _on_session_ended(builder: TraceBuilder, ev: Envelope, payload: SessionEnded) -> None:
    builder.end_reason = payload.reason


@_HANDLERS.on(UserMessageReceived)
def _on_user_message(builder: TraceBuilder, ev: Envelope, payload: UserMessageReceived) -> None:
    if ev.agent == MAIN_AGENT:
        builder.messages = {ev.seq: builder.texts.full_text(payload.text)}


@_HANDLERS.on(UserSteered)
def _on_user_steered(builder: TraceBuilder, ev: Envelope, payload: UserSteered) -> None:
    if ev.agent == MAIN_AGENT:
        builder.waiting_steers[ev.seq] = builder.texts.full_text(payload.text)


@_HANDLERS.on(TurnStarted)
def _on_turn_started(builder: TraceBuilder, ev: Envelope, payload: TurnStarted) -> None:
    builder.turns.append(ev.seq)
    builder.end_reason = None
    if payload.is_continuation:
        builder.messages = {}


@_HANDLERS.on(ModelRequested)
def _on_model_requested(builder: TraceBuilder, ev: Envelope, payload: ModelRequested) -> None:
    builder.models[ev.agent] = payload.model
    builder.requests[payload.request_id] = ev.seq


@_HANDLERS.on(ModelResponded)
def _on_model_responded(builder: TraceBuilder, ev: Envelope, payload: ModelResponded) -> None:
    request_seq = builder.requests.pop(payload.request_id, ev.seq)
    if not payload.parts:
        return
    if ev.agent == MAIN_AGENT and builder.waiting_steers:
        builder.release_steers(request_seq)
    rows = builder.parts.rows[-len(payload.parts) :]
    for number, (part, row) in enumerate(zip(payload.parts, rows, strict=True)):
        fields = _part_fields(builder, part)
        if number == 0:
            fields |= {"token_usage": payload.usage.model_dump(mode="json"), "cost_usd": payload.cost_usd}
        text = None if isinstance(part, ToolCallPart) else builder.texts.full_text(part.text)
        builder.add(row, text, session_id=ev.session, **fields)


def _part_fields(builder: TraceBuilder, part: ModelPart) -> dict[str, Any]:
    match part:
        case ToolCallPart(name=name, arguments=arguments):
            builder.verbs[part.call_id] = ""
            return {"tool_name": name, "tool_input": builder.texts.full_json(arguments)}
        case PatchPart(text=text):
            return {"patch": builder.texts.full_text(text)}
        case _:
            return {}


@_HANDLERS.on(ToolCalled)
def _on_tool_called(builder: TraceBuilder, ev: Envelope, payload: ToolCalled) -> None:
    builder.verbs[payload.call_id] = payload.verb
    builder.update(lambda row: row.call_id == payload.call_id, item_type=payload.verb)


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(builder: TraceBuilder, ev: Envelope, payload: ToolFinished) -> None:
    verb, tests = builder.verbs.pop(payload.call_id, ""), builder.tests.pop(payload.call_id, [])
    if payload.part is None:
        return
    texts = (builder.texts.full_text(item.text) for item in payload.content if isinstance(item, TextContent))
    content = "\n".join(texts)
    exit_code = payload.data.get("exit_code")
    builder.add(
        builder.parts.rows[-1],
        content,
        session_id=ev.session,
        role="user",
        item_type=verb or None,
        tool_name=payload.name,
        tool_status=payload.status,
        tool_output=builder.texts.full_json(payload.data) or None,
        tool_error=None if payload.status == "ok" else content,
        tool_exit_code=exit_code if isinstance(exit_code, int) else None,
        envoi_calls=tuple(
            call.model_copy(update={"duration_ms": round(payload.duration_ms)}) for call in tests
        ),
        testing_state=builder.testing_state() if tests else None,
    )


@_HANDLERS.on(FileChanged)
def _on_file_changed(builder: TraceBuilder, ev: Envelope, payload: FileChanged) -> None:
    builder.changes.append(builder.texts.build_change(ev, payload))


@_HANDLERS.on(CheckpointTaken)
def _on_checkpoint_taken(builder: TraceBuilder, ev: Envelope, payload: CheckpointTaken) -> None:
    changes, before = builder.changes, builder.commit
    builder.changes, builder.commit = [], payload.commit
    if payload.part < 0:
        builder.change_all()
        return
    # The user's changes between turns are not the work of a part.
    if payload.author == "human":
        return
    numstat: tuple[JsonMap, ...] = tuple(
        {"path": change.path, "added": change.added, "removed": change.removed} for change in changes
    )
    checkpoint = RepoCheckpoint(
        commit_before=before,
        commit_after=payload.commit,
        committed=payload.commit != before,
        changed_files=payload.paths,
        patch="".join(map(_format_patch, changes)) or None,
        numstat=numstat,
    )
    builder.update(
        lambda row: row.part == payload.part, repo_checkpoint=checkpoint, files=tuple(payload.paths)
    )


def _format_patch(change: ExportedChange) -> str:
    old = "/dev/null" if change.before is None else f"a/{change.path}"
    new = "/dev/null" if change.after is None else f"b/{change.path}"
    body = (change.diff or change.note).removesuffix("\n")
    return f"--- {old}\n+++ {new}\n{body}\n"


@_HANDLERS.on(VerifierFinished)
def _on_verifier_finished(builder: TraceBuilder, ev: Envelope, payload: VerifierFinished) -> None:
    passed = payload.reward >= 1.0
    call = EnvoiCall(
        path=f"verifier:{payload.verifier}",
        timestamp=_format_utc(ev.time),
        duration_ms=0,
        status_code=0 if passed else 1,
        error=None if passed else builder.texts.full_text(payload.output) or f"reward {payload.reward}",
    )
    builder.add_test(call, None)


@_HANDLERS.on(TestFinished)
def _on_test_finished(builder: TraceBuilder, ev: Envelope, payload: TestFinished) -> None:
    has_counts = payload.passed >= 0 or payload.failed >= 0
    total = max(payload.passed, 0) + max(payload.failed, 0)
    result = TestResult(
        passed=payload.passed,
        failed=payload.failed,
        total=total if has_counts else -1,
        tests=payload.failures,
    )
    call = EnvoiCall(
        path=f"{payload.command} (in {payload.folder})" if payload.folder else payload.command,
        timestamp=_format_utc(ev.time),
        duration_ms=0,
        status_code=-1 if payload.exit_code is None else payload.exit_code,
        result=result,
    )
    builder.add_test(call, payload.call_id, payload.part)
