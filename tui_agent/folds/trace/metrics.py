"""All measured values of a session.

Invariant: a distance is a number of message parts, because a time would depend on the model's speed.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tui_agent.folds.context.visible_results import VisibleResults
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.changed_files import ModifiedFiles
from tui_agent.folds.session.stale_test_results import NO_LATER_CHANGES, LaterChanges
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextPacked,
    RepomapBuilt,
    RepomapUsed,
)
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId
from tui_agent.protocol.parts import TextContent, ToolCallPart, text_previews
from tui_agent.protocol.stored_text import BlobText, text_size
from tui_agent.units import CostPrecision

SEARCHES = frozenset(("search", "find"))
"""Kinds of tool calls that search."""
_COUNTED_KINDS = {
    "turns": "turn.started",
    "iterations": "iteration.started",
    "model_retry_count": "model.retried",
    "checkpoints": "checkpoint.taken",
    "context_packs": "context.packed",
    "context_compression_count": "context.compacted",
    "context_reduction_count": "context.reduced",
    "memory_updates": "memory.updated",
    "repomap_uses": "repomap.used",
}
"""Figures that count the events of one kind: name of the figure → kind of event."""
_BUDGET_ENDS = frozenset(("part_limit", "iteration_limit", "turn_limit", "time_limit", "cost_limit"))


@dataclass(slots=True)
class MetricsView:
    """The measured values of a session.

    A value without a unit in its name is a count. None means not measured.

    The values about edits use these terms:

    - An edit is a change of a file by an agent's tool, or by a command that was not a test run.
    - A target is a file with an edit.
    - A repeated read is a read of lines that the agent has already read with the same content.

    `files_changed`: files that an agent or command changed and that now differ from their earlier state.
    `…_part`: index of the message part with the call.
    `failure`: category of the newest failure.
    `failures`: number of failures of each category:

    - `model`: a request that failed after all retries.
    - `policy`: a denial.
    - `tool`: a failed or invalid call.
    - `environment`: an error of files or processes.
    - `engine`: an error of this program.
    - `budget`: a limit that was reached.
    - `verifier`: an evaluation's verifier gave no reward.

    `raw_output_chars`: size of the tools' output.
    `compression_ratio`: share of the tools' output that was sent to models.
    `hot_observation_count`: number of results on the current branch that requests still contain in full.
    `cold_summary_chars`: size of the main agent's newest summary on the current branch.
    `artifact_bytes`: size of results that were stored as artifacts when they arrived.
    `context_peak_tokens`, `context_budget_reduced_count`, `context_budget_dropped_blocks`: computed from all requests.

    All other values about the context are those of the main agent's newest request.
    """

    events: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    iterations: int = 0
    parts: int = 0
    model_calls: int = 0
    model_retry_count: int = 0
    model_failures: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    denials: int = 0
    failed_tools: int = 0
    invalid_calls: int = 0
    repeated_reads: int = 0
    context_packs: int = 0
    checkpoints: int = 0
    files_changed: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    tests_passed: int | None = None
    tests_failed: int | None = None
    test_errors: int = 0
    """Number of failed tests that are errors, such as test files that could not be loaded. `tests_failed` includes
    them."""
    test_fault: str = ""
    """Reason why the newest test run failed although no test failed. Empty in all other cases."""
    later_changes: LaterChanges = NO_LATER_CHANGES
    """The edits and stopped test runs since the newest finished test run."""
    output_chars: int = 0
    stored_artifacts: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    seconds_to_first_edit: float | None = None
    final_answer: str = ""
    failure: str = ""
    failures: dict[str, int] = field(default_factory=dict)
    last_turn_end: str = ""
    raw_output_chars: int = 0
    largest_output_chars: int = 0
    compression_ratio: float | None = None
    context_estimated_tokens: int = 0
    context_real_tokens: int | None = None
    context_peak_tokens: int = 0
    context_compression_count: int = 0
    context_reduction_count: int = 0
    artifact_count: int = 0
    artifact_bytes: int = 0
    hot_observation_count: int = 0
    cold_summary_chars: int = 0
    context_budget_reduced_count: int = 0
    context_budget_dropped_blocks: int = 0
    context_budget_total_chars: int = 0
    context_budget_total_budget: int = 0
    repomap_builds: int = 0
    repomap_uses: int = 0
    repomap_injections: int = 0
    memory_updates: int = 0
    first_edit_part: int | None = None
    first_target_read_part: int | None = None
    search_to_edit_parts: int | None = None
    edit_to_test_parts: int | None = None
    seconds_to_first_test: float | None = None

    @property
    def tool_calls(self) -> int:
        """The number of finished calls of all tools."""
        return sum(self.tools.values())


class Metrics:
    """Computes the measured values of a session from all its events, including those of abandoned branches."""

    def __init__(self) -> None:
        self.sums = MetricsView()
        """The figures, updated with each event, except those that `view` computes."""
        self.usage = NO_USAGE
        self.read_lines: dict[tuple[AgentId, str, str], set[tuple[int, int]]] = {}
        """Maps (agent, path, digest of the content) to the ranges of lines that the agent has read."""
        self.first_turn_at: float | None = None
        self.first_test_at: float | None = None
        self.last_search_part: int | None = None
        """Index of the part with the newest search before the first edit."""
        self.call_parts: dict[CallId, int] = {}
        """For each call without a result: its id → index of its message part."""
        self.first_read_parts: dict[str, int] = {}
        self._targets: set[str] = set()
        self._files = ModifiedFiles()
        self.command_edits: dict[CallId, list[tuple[str, float]]] = {}
        """The files that each running command has changed: id of the call → (path, time) of each file."""
        self._observations = VisibleResults()
        self._view: MetricsView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Apply one event and return True."""
        sums, kind = self.sums, ev.payload.kind
        if not sums.events:
            sums.first_at = ev.time
        sums.events += 1
        sums.last_at = ev.time
        sums.kinds[kind] = sums.kinds.get(kind, 0) + 1
        self._files.apply(ev)
        self._observations.apply(ev)
        _HANDLERS.apply(self, ev)
        sums.later_changes = sums.later_changes.add_event(ev.payload)
        self._view = None
        return True

    def view(self) -> MetricsView:
        if self._view is None:
            sums = self.sums
            raw = sums.raw_output_chars
            since, until = self.first_turn_at, self.first_test_at
            target_reads = [part for path, part in self.first_read_parts.items() if path in self._targets]
            counts: dict[str, Any] = {name: sums.kinds.get(kind, 0) for name, kind in _COUNTED_KINDS.items()}
            self._view = replace(
                sums,
                **counts,
                **asdict(self.usage),
                kinds=dict(sums.kinds),
                tools=dict(sums.tools),
                failures=dict(sums.failures),
                files_changed=self._files.view(),
                compression_ratio=round(sums.output_chars / raw, 4) if raw else None,
                hot_observation_count=self._observations.hot,
                cold_summary_chars=self._observations.summary_chars,
                first_target_read_part=min(target_reads, default=None),
                seconds_to_first_test=None if since is None or until is None else round(until - since, 3),
            )
        return self._view

    def part_of(self, call_id: CallId | None) -> int:
        """Return the index of the message part with this call.

        If the call has ended or is None, return the index of the newest part.
        """
        newest = self.sums.parts - 1
        return newest if call_id is None else self.call_parts.get(call_id, newest)

    def add_edit(self, path: str, time: float, call_id: CallId | None) -> None:
        """Add an edit of a file at `time`, in seconds since the epoch."""
        sums = self.sums
        self._targets.add(path)
        if sums.first_edit_part is None:
            sums.first_edit_part = self.part_of(call_id)
            if self.last_search_part is not None:
                sums.search_to_edit_parts = sums.first_edit_part - self.last_search_part
        if self.first_turn_at is not None and sums.seconds_to_first_edit is None:
            sums.seconds_to_first_edit = time - self.first_turn_at

    def fail(self, category: str) -> None:
        """Count a failure, and record `category` as the newest failure."""
        self.sums.failure = category
        self.sums.failures[category] = self.sums.failures.get(category, 0) + 1


_HANDLERS: Handlers[Metrics] = Handlers()


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: Metrics, ev: Envelope, payload: TurnStarted) -> None:
    if fold.first_turn_at is None:
        fold.first_turn_at = ev.time


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: Metrics, ev: Envelope, payload: TurnFinished) -> None:
    fold.sums.last_turn_end = payload.reason
    if payload.reason in _BUDGET_ENDS:
        fold.fail("budget")


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: Metrics, ev: Envelope, payload: ModelResponded) -> None:
    sums = fold.sums
    if payload.author == "model":
        fold.usage = fold.usage.with_call(payload)
        if ev.agent == MAIN_AGENT:
            sums.context_real_tokens = payload.usage.input_tokens or None
    sums.parts = max(sums.parts, payload.first_part + len(payload.parts))
    calls = {
        part.call_id: index
        for index, part in enumerate(payload.parts, payload.first_part)
        if isinstance(part, ToolCallPart)
    }
    fold.call_parts.update(calls)
    if ev.agent == MAIN_AGENT and not calls:
        texts = text_previews(payload.parts)
        sums.final_answer = "\n\n".join(texts)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: Metrics, ev: Envelope, payload: ModelFailed) -> None:
    fold.usage = fold.usage.with_call(payload)
    if payload.fault != "cancelled":
        fold.sums.model_failures += 1
        fold.fail("model")


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: Metrics, ev: Envelope, payload: ToolCalled) -> None:
    if payload.verb in SEARCHES and fold.sums.first_edit_part is None:
        fold.last_search_part = fold.part_of(payload.call_id)


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: Metrics, ev: Envelope, payload: ToolFinished) -> None:
    sums = fold.sums
    for path, time in fold.command_edits.pop(payload.call_id, ()):
        fold.add_edit(path, time, payload.call_id)
    sums.tools[payload.name] = sums.tools.get(payload.name, 0) + 1
    fold.call_parts.pop(payload.call_id, None)
    if payload.part is not None:
        sums.parts = max(sums.parts, payload.part + 1)
    sums.invalid_calls += payload.status == "invalid"
    if payload.status in ("failed", "invalid", "lost"):
        sums.failed_tools += 1
        fold.fail("environment" if payload.environment else "tool")
    sent = sum(text_size(item.text) for item in payload.content if isinstance(item, TextContent))
    raw = sent if payload.full_output is None else max(sent, text_size(payload.full_output))
    sums.output_chars += sent
    sums.raw_output_chars += raw
    sums.largest_output_chars = max(sums.largest_output_chars, raw)
    sums.stored_artifacts += payload.artifact is not None or isinstance(payload.full_output, BlobText)
    if payload.artifact is not None:
        sums.artifact_count += 1
        sums.artifact_bytes += payload.artifact.size


@_HANDLERS.on(PermissionDecided)
def _on_permission_decided(fold: Metrics, ev: Envelope, payload: PermissionDecided) -> None:
    if payload.decision == "deny":
        fold.sums.denials += 1
        fold.fail("policy")


@_HANDLERS.on(ErrorRaised)
def _on_error_raised(fold: Metrics, ev: Envelope, payload: ErrorRaised) -> None:
    if payload.where != "checkpoints":  # a failed checkpoint does not affect the turn
        fold.fail("engine")


@_HANDLERS.on(FileRead)
def _on_file_read(fold: Metrics, ev: Envelope, payload: FileRead) -> None:
    ranges = fold.read_lines.setdefault((ev.agent, payload.path, payload.digest), set())
    first, last = payload.first_line, payload.last_line
    fold.sums.repeated_reads += any(start <= first and last <= end for start, end in ranges)
    ranges.add((first, last))
    fold.first_read_parts.setdefault(payload.path, fold.part_of(payload.call_id))


@_HANDLERS.on(FileChanged)
def _on_file_changed(fold: Metrics, ev: Envelope, payload: FileChanged) -> None:
    if payload.author == "agent":
        fold.add_edit(payload.path, ev.time, payload.call_id)
    elif payload.author == "command" and payload.call_id is not None:
        fold.command_edits.setdefault(payload.call_id, []).append((payload.path, ev.time))


@_HANDLERS.on(TestFinished)
def _on_test_finished(fold: Metrics, ev: Envelope, payload: TestFinished) -> None:
    sums = fold.sums
    if payload.call_id is not None:
        fold.command_edits.pop(payload.call_id, None)  # files that a test run writes are not edits
    sums.tests_passed = payload.passed if payload.passed >= 0 else None
    sums.tests_failed = payload.failed if payload.failed >= 0 else None
    sums.test_errors = payload.errors
    sums.test_fault = payload.fault
    fold.first_test_at = ev.time if fold.first_test_at is None else fold.first_test_at
    if sums.first_edit_part is not None and sums.edit_to_test_parts is None:
        sums.edit_to_test_parts = fold.part_of(payload.call_id) - sums.first_edit_part


@_HANDLERS.on(VerifierFinished)
def _on_verifier_finished(fold: Metrics, ev: Envelope, payload: VerifierFinished) -> None:
    if payload.fault:
        fold.fail("verifier")


@_HANDLERS.on(ContextPacked)
def _on_context_packed(fold: Metrics, ev: Envelope, payload: ContextPacked) -> None:
    sums, sections = fold.sums, payload.sections
    sums.context_peak_tokens = max(sums.context_peak_tokens, payload.total_tokens)
    if ev.agent == MAIN_AGENT:
        sums.context_estimated_tokens = payload.total_tokens
        sums.context_budget_total_chars = payload.total_chars
        sums.context_budget_total_budget = sum(section.budget or 0 for section in sections)
    sums.context_budget_reduced_count += sum(section.reduced for section in sections)
    sums.context_budget_dropped_blocks += sum(section.dropped_blocks for section in sections)


@_HANDLERS.on(RepomapBuilt)
def _on_repomap_built(fold: Metrics, ev: Envelope, payload: RepomapBuilt) -> None:
    fold.sums.repomap_builds += not payload.delay_reason


@_HANDLERS.on(RepomapUsed)
def _on_repomap_used(fold: Metrics, ev: Envelope, payload: RepomapUsed) -> None:
    fold.sums.repomap_injections += payload.injected
