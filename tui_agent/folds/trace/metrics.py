"""Metrics of a session: one fold for `trace`, evals and reports."""

from dataclasses import dataclass, field, fields

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.file_states import StandingFiles
from tui_agent.folds.trace.edits import Edits
from tui_agent.protocol.base import BlobText, LongText, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import CheckpointTaken, FileRead
from tui_agent.protocol.events.model import ModelFailed, ModelResponded, ModelRetried
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished, TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart, Usage


@dataclass(frozen=True, slots=True)
class MetricsView:
    """Counts unless a unit is named. `files_changed` are the files that differ from their state before the
    session.

    A read is repeated if the same agent has read those lines of the unchanged file before; a delegate starts
    without any. The first edit is an agent's, with its tools or with a command that was not a test run.

    `failure` is the category of the newest failure, `failures` counts all by category: `model` (a request
    that failed for good), `policy` (a denial), `tool` (a call that failed or was invalid), `environment`
    (files or processes themselves), `engine` (a fault of this program), `budget`.
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
    tests_passed: int | None = None
    tests_failed: int | None = None
    output_chars: int = 0
    stored_artifacts: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    seconds_to_first_edit: float | None = None
    final_answer: str = ""
    failure: str = ""
    failures: dict[str, int] = field(default_factory=dict)
    last_turn_end: str = ""


_BUDGET_ENDS = frozenset(("part_limit", "iteration_limit", "turn_limit", "time_limit", "cost_limit"))


@dataclass(slots=True)
class _Sums:
    """The plain fields of the view while they change."""

    events: int = 0
    turns: int = 0
    iterations: int = 0
    parts: int = 0
    model_calls: int = 0
    model_retry_count: int = 0
    model_failures: int = 0
    denials: int = 0
    failed_tools: int = 0
    invalid_calls: int = 0
    repeated_reads: int = 0
    context_packs: int = 0
    checkpoints: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    tests_passed: int | None = None
    tests_failed: int | None = None
    output_chars: int = 0
    stored_artifacts: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    seconds_to_first_edit: float | None = None
    final_answer: str = ""
    failure: str = ""
    last_turn_end: str = ""


_SUM_FIELDS = tuple(item.name for item in fields(_Sums))


class Metrics:
    """A fold of all events of a log into counts, also those of abandoned branches: they cost money too."""

    def __init__(self) -> None:
        self.sums = _Sums()
        self.kinds: dict[str, int] = {}
        self.tools: dict[str, int] = {}
        self.files = StandingFiles()
        self._edits = Edits()
        self.failures: dict[str, int] = {}
        self.reads: dict[tuple[AgentId, str, str], set[tuple[int, int]]] = {}
        """The line ranges that an agent has read of one version of a file."""
        self.first_turn_at: float | None = None
        self._view: MetricsView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Fold one event. Always True: every event is counted."""
        kind = ev.payload.kind
        if not self.sums.events:
            self.sums.first_at = ev.at
        self.sums.events += 1
        self.sums.last_at = ev.at
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.files.apply(ev)
        edits = self._edits.apply(ev)
        if edits and self.first_turn_at is not None and self.sums.seconds_to_first_edit is None:
            self.sums.seconds_to_first_edit = edits[0].at - self.first_turn_at
        _HANDLERS.apply(self, ev)
        self._view = None
        return True

    def view(self) -> MetricsView:
        """Return the metrics as of the last event."""
        if self._view is None:
            self._view = MetricsView(
                **{name: getattr(self.sums, name) for name in _SUM_FIELDS},
                kinds=dict(self.kinds),
                tools=dict(self.tools),
                files_changed=self.files.view(),
                failures=dict(self.failures),
            )
        return self._view

    def fail(self, category: str) -> None:
        """Count a failure and make it the newest one."""
        self.sums.failure = category
        self.failures[category] = self.failures.get(category, 0) + 1

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add a model call."""
        sums = self.sums
        sums.model_calls += 1
        sums.input_tokens += usage.input_tokens
        sums.output_tokens += usage.output_tokens
        sums.cached_tokens += usage.cached_tokens
        if cost is not None:
            sums.cost_usd = (sums.cost_usd or 0.0) + cost


def _size(text: LongText) -> int:
    """Return the characters of a text or, if it is stored as a blob, its bytes."""
    return text.size if isinstance(text, BlobText) else len(text)


_HANDLERS: Handlers[Metrics] = Handlers()


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: Metrics, ev: Envelope, payload: TurnStarted) -> bool:
    fold.sums.turns += 1
    if fold.first_turn_at is None:
        fold.first_turn_at = ev.at
    return True


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: Metrics, ev: Envelope, payload: TurnFinished) -> bool:
    fold.sums.last_turn_end = payload.reason
    if payload.reason in _BUDGET_ENDS:
        fold.fail("budget")
    return True


@_HANDLERS.on(IterationStarted)
def _on_iteration_started(fold: Metrics, ev: Envelope, payload: IterationStarted) -> bool:
    fold.sums.iterations += 1
    return True


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: Metrics, ev: Envelope, payload: ModelResponded) -> bool:
    if payload.author == "model":
        fold.spend(payload.usage, payload.cost_usd)
    fold.sums.parts = max(fold.sums.parts, payload.first_part + len(payload.parts))
    calls = any(isinstance(part, ToolCallPart) for part in payload.parts)
    if ev.agent == MAIN_AGENT and not calls:
        texts = [text_preview(part.text) for part in payload.parts if isinstance(part, TextPart)]
        fold.sums.final_answer = "\n\n".join(texts)
    return True


@_HANDLERS.on(ModelRetried)
def _on_model_retried(fold: Metrics, ev: Envelope, payload: ModelRetried) -> bool:
    fold.sums.model_retry_count += 1
    return True


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: Metrics, ev: Envelope, payload: ModelFailed) -> bool:
    fold.spend(payload.usage, payload.cost_usd)
    if payload.fault != "cancelled":
        fold.sums.model_failures += 1
        fold.fail("model")
    return True


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: Metrics, ev: Envelope, payload: ToolFinished) -> bool:
    sums = fold.sums
    fold.tools[payload.name] = fold.tools.get(payload.name, 0) + 1
    if payload.part is not None:
        sums.parts = max(sums.parts, payload.part + 1)
    sums.invalid_calls += payload.status == "invalid"
    if payload.status in ("failed", "invalid", "lost"):
        sums.failed_tools += 1
        fold.fail("environment" if payload.environment else "tool")
    sums.output_chars += sum(_size(item.text) for item in payload.content if isinstance(item, TextContent))
    sums.stored_artifacts += payload.artifact is not None or isinstance(payload.full_output, BlobText)
    return True


@_HANDLERS.on(PermissionDecided)
def _on_permission_decided(fold: Metrics, ev: Envelope, payload: PermissionDecided) -> bool:
    if payload.decision == "deny":
        fold.sums.denials += 1
        fold.fail("policy")
    return True


@_HANDLERS.on(ErrorRaised)
def _on_error_raised(fold: Metrics, ev: Envelope, payload: ErrorRaised) -> bool:
    if payload.where != "checkpoints":  # a failed checkpoint does not affect the turn
        fold.fail("engine")
    return True


@_HANDLERS.on(FileRead)
def _on_file_read(fold: Metrics, ev: Envelope, payload: FileRead) -> bool:
    ranges = fold.reads.setdefault((ev.agent, payload.path, payload.digest), set())
    first, last = payload.first_line, payload.last_line
    fold.sums.repeated_reads += any(start <= first and last <= end for start, end in ranges)
    ranges.add((first, last))
    return True


@_HANDLERS.on(CheckpointTaken)
def _on_checkpoint_taken(fold: Metrics, ev: Envelope, payload: CheckpointTaken) -> bool:
    fold.sums.checkpoints += 1
    return True


@_HANDLERS.on(ContextPacked)
def _on_context_packed(fold: Metrics, ev: Envelope, payload: ContextPacked) -> bool:
    fold.sums.context_packs += 1
    return True


@_HANDLERS.on(TestFinished)
def _on_test_finished(fold: Metrics, ev: Envelope, payload: TestFinished) -> bool:
    fold.sums.tests_passed = payload.passed if payload.passed >= 0 else None
    fold.sums.tests_failed = payload.failed if payload.failed >= 0 else None
    return True
