"""Measures for replays and evaluations beyond the counts of `metrics`: output, context, distances.

Invariant: distances are counted in parts, which are the same for the same work with every model and agent.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from tui_agent.folds.context import told_results as observed
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.trace.edits import Edit, Edits
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    MemoryUpdated,
    RepomapBuilt,
    RepomapUsed,
)
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.parts import TextContent, ToolCallPart

SEARCHES = frozenset(("search", "find"))
"""Verbs of calls that search."""


@dataclass(frozen=True, slots=True)
class MeasuresView:
    """Counts unless a unit is named; None if there was nothing to measure.

    `raw_output_chars` is the output of tools, `compression_ratio` the share of it that models were sent. An
    observation is hot while a model is still sent it in full; it is cold once a summary or a line replaces
    it, or its delegate has ended. `cold_summary_chars` is the length of the main agent's newest summary. Both
    are those of the log's current branch. `artifact_bytes` is the size of results stored as artifacts when
    they arrived.

    A target is a file that an agent changed, with its tools or with a command that was not a test run. The
    part of an edit, a read, a search or a test is that of its call.

    `context_peak_tokens` and the counts of budgets cover all requests; the estimate, the provider's count
    (`context_real_tokens`) and the totals are those of the main agent's newest request.
    """

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


@dataclass(slots=True)
class _FirstEvents:
    """Positions and times of the first events of each kind."""

    part: int = -1
    search: int | None = None
    edit: int | None = None
    search_before_edit: int | None = None
    test_after_edit: int | None = None
    first_turn_at: float | None = None
    first_test_at: float | None = None
    calls: dict[CallId, int] = field(default_factory=dict)
    """The parts of open calls."""
    reads: dict[str, int] = field(default_factory=dict)
    targets: set[str] = field(default_factory=set)
    sent_chars: int = 0

    def part_of(self, call_id: CallId | None) -> int:
        """Return the part of a call, or the newest part."""
        return self.part if call_id is None else self.calls.get(call_id, self.part)


class Measures:
    """A fold of all events of a log, also those of abandoned branches."""

    def __init__(self) -> None:
        self.sums = MeasuresView()
        self.marks = _FirstEvents()
        self._edits = Edits()
        self._observations = observed.Observed()

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if a figure may have changed."""
        for edit in self._edits.apply(ev):
            self._add_edit(edit)
        observations_changed = self._observations.apply(ev)
        return _HANDLERS.apply(self, ev) or observations_changed or isinstance(ev.payload, FileChanged)

    def _add_edit(self, edit: Edit) -> None:
        marks = self.marks
        marks.targets.add(edit.path)
        if marks.edit is None:
            marks.edit, marks.search_before_edit = marks.part_of(edit.call_id), marks.search

    def add(self, **counts: int) -> bool:
        """Add to counts by name; always returns True."""
        self.sums = replace(
            self.sums, **{name: getattr(self.sums, name) + count for name, count in counts.items()}
        )
        return True

    def view(self) -> MeasuresView:
        """Return the measures as of the last event."""
        marks, raw, observations = self.marks, self.sums.raw_output_chars, self._observations
        target_reads = [part for path, part in marks.reads.items() if path in marks.targets]
        return replace(
            self.sums,
            compression_ratio=round(marks.sent_chars / raw, 4) if raw else None,
            hot_observation_count=observations.hot,
            cold_summary_chars=observations.summary_chars,
            first_edit_part=marks.edit,
            first_target_read_part=min(target_reads) if target_reads else None,
            search_to_edit_parts=_part_distance(marks.search_before_edit, marks.edit),
            edit_to_test_parts=_part_distance(marks.edit, marks.test_after_edit),
            seconds_to_first_test=_elapsed_seconds(marks.first_turn_at, marks.first_test_at),
        )


def _part_distance(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first


def _elapsed_seconds(first: float | None, last: float | None) -> float | None:
    return None if first is None or last is None else round(last - first, 3)


def _size(text: LongText) -> int:
    return text.size if isinstance(text, BlobText) else len(text)


_HANDLERS: Handlers[Measures] = Handlers()


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: Measures, ev: Envelope, payload: TurnStarted) -> bool:
    if fold.marks.first_turn_at is None:
        fold.marks.first_turn_at = ev.at
    return True


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: Measures, ev: Envelope, payload: ModelResponded) -> bool:
    fold.marks.part = max(fold.marks.part, payload.first_part + len(payload.parts) - 1)
    for index, part in enumerate(payload.parts, payload.first_part):
        if isinstance(part, ToolCallPart):
            fold.marks.calls[part.call_id] = index
    if ev.agent == MAIN_AGENT and payload.author == "model":
        fold.sums = replace(fold.sums, context_real_tokens=payload.usage.input_tokens or None)
    return True


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: Measures, ev: Envelope, payload: ToolCalled) -> bool:
    if payload.verb in SEARCHES and fold.marks.edit is None:
        fold.marks.search = fold.marks.part_of(payload.call_id)
    return True


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: Measures, ev: Envelope, payload: ToolFinished) -> bool:
    sent = sum(_size(item.text) for item in payload.content if isinstance(item, TextContent))
    raw = sent if payload.full_output is None else max(sent, _size(payload.full_output))
    fold.marks.sent_chars += sent
    fold.marks.calls.pop(payload.call_id, None)
    if payload.artifact is not None:
        fold.add(artifact_count=1, artifact_bytes=payload.artifact.size)
    if payload.part is not None:
        fold.marks.part = max(fold.marks.part, payload.part)
    largest = max(fold.sums.largest_output_chars, raw)
    fold.sums = replace(fold.sums, largest_output_chars=largest)
    return fold.add(raw_output_chars=raw)


@_HANDLERS.on(FileRead)
def _on_file_read(fold: Measures, ev: Envelope, payload: FileRead) -> bool:
    fold.marks.reads.setdefault(payload.path, fold.marks.part_of(payload.call_id))
    return True


@_HANDLERS.on(TestFinished)
def _on_test_finished(fold: Measures, ev: Envelope, payload: TestFinished) -> bool:
    marks = fold.marks
    if marks.first_test_at is None:
        marks.first_test_at = ev.at
    if marks.edit is not None and marks.test_after_edit is None:
        marks.test_after_edit = marks.part_of(payload.call_id)
    return True


@_HANDLERS.on(ContextPacked)
def _on_context_packed(fold: Measures, ev: Envelope, payload: ContextPacked) -> bool:
    sections = payload.sections
    fold.sums = replace(
        fold.sums, context_peak_tokens=max(fold.sums.context_peak_tokens, payload.total_tokens)
    )
    if ev.agent == MAIN_AGENT:
        fold.sums = replace(
            fold.sums,
            context_estimated_tokens=payload.total_tokens,
            context_budget_total_chars=payload.total_chars,
            context_budget_total_budget=sum(section.budget or 0 for section in sections),
        )
    return fold.add(
        context_budget_reduced_count=sum(section.reduced for section in sections),
        context_budget_dropped_blocks=sum(section.dropped_blocks for section in sections),
    )


@_HANDLERS.on(ContextCompacted)
def _on_context_compacted(fold: Measures, ev: Envelope, payload: ContextCompacted) -> bool:
    return fold.add(context_compression_count=1)


@_HANDLERS.on(ContextReduced)
def _on_context_reduced(fold: Measures, ev: Envelope, payload: ContextReduced) -> bool:
    return fold.add(context_reduction_count=1)


@_HANDLERS.on(MemoryUpdated)
def _on_memory_updated(fold: Measures, ev: Envelope, payload: MemoryUpdated) -> bool:
    return fold.add(memory_updates=1)


@_HANDLERS.on(RepomapBuilt)
def _on_repomap_built(fold: Measures, ev: Envelope, payload: RepomapBuilt) -> bool:
    return fold.add(repomap_builds=int(not payload.late))


@_HANDLERS.on(RepomapUsed)
def _on_repomap_used(fold: Measures, ev: Envelope, payload: RepomapUsed) -> bool:
    return fold.add(repomap_uses=1, repomap_injections=int(payload.injected))


TAKES: Final[tuple[type[Payload], ...]] = (*_HANDLERS.classes, *observed.TAKES, FileChanged)
"""Payload classes that this fold handles."""
