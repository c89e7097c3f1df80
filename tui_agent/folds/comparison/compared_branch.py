"""One side of a comparison: the timeline of a branch, and the branch's measured values since the fork point.

Invariant: all values cover only events after the fork point.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Final, Literal, TypeAlias, TypeGuard
from urllib.parse import urlsplit

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.net_changes import LineCounter, NetFileChange, net_file_changes
from tui_agent.folds.projection import fold
from tui_agent.folds.session.branch_tree import MAIN_BRANCH
from tui_agent.folds.session.changed_files import FilesChanged, FolderFiles
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.labels import TURN_END_LABELS, describe_failing_tests
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.folds.trace.part_list import Parts
from tui_agent.folds.trace.timeline import Mark, event_mark
from tui_agent.protocol.envelope import Envelope, Record, find_payload, known_events
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import (
    RunFinished,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionHeadMoved,
)
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress
from tui_agent.protocol.events.turn import (
    IterationStarted,
    QuestionAsked,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.parts import TextPart, tool_calls
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import BlobText, JsonMap, LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import CostPrecision, format_bytes

MAX_BEATS: Final = 2_000
BeatKind: TypeAlias = Mark | Literal["denied", "model", "tool", "asked", "end"]
MARKED_KINDS: Final[frozenset[BeatKind]] = frozenset(("you", "files", "error", "compaction", "denied"))
"""Kinds of beats (events on a branch's timeline) that are shown as marks."""


@dataclass(frozen=True, slots=True)
class Beat:
    """An event on the timeline of a branch. Counts and costs are totals up to and including this event.

    `at_ms`: working time before the event, in milliseconds.
    """

    at_ms: float
    kind: BeatKind
    seq: int
    cost_usd: float | None = None
    iterations: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked: int = 0
    denied: int = 0
    denied_by_user: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    cost_precision: CostPrecision = "exact"


def working_ms(events: Sequence[Envelope], start: float | None, running: bool) -> float:
    """Return the working time of the agent during these events, in milliseconds.

    - `start`: time from which the working time is counted, in seconds since the epoch (None: from the first event).
    - `running`: True if the agent was already running at the time `start`.
    """
    return max((at_ms for _, at_ms in _time_events(events, start, running)), default=0.0)


def list_beats(
    events: Sequence[Envelope],
    since: float | None,
    running: bool,
    text: Callable[[str], bytes | None] = lambda _: None,
) -> tuple[Beat, ...]:
    """Return the timeline of a branch, with at most `MAX_BEATS` events.

    - `since`: time from which the working time is counted, in seconds since the epoch (None: from the first event).
    - `running`: True if the agent was already running at the time `since`.
    - `text`: see `Branch.text`.
    """
    metrics, files, asked, iterations = Metrics(), FilesChanged(), set[str](), set[int]()
    all_beats: list[Beat] = []
    lines, denied_by_user = LineCounter(text), 0
    for event, at_ms in _time_events(events, since, running):
        metrics.apply(event)
        files.apply(event)
        payload = event.payload
        if isinstance(payload, PermissionRequested):
            asked.add(payload.call_id)
        elif isinstance(payload, QuestionAsked):
            asked.add(payload.question_id)
        elif event.agent == MAIN_AGENT and _is_iteration(payload):
            iterations.add(payload.iteration)
        elif isinstance(payload, PermissionDecided) and payload.decided_by == "user":
            denied_by_user += payload.decision == "deny"
        kind = _kind(event)
        if kind is None:
            continue
        usage, changed = metrics.usage, files.view().files
        added, removed = lines.sum_files(changed)
        beat = Beat(
            at_ms=at_ms,
            kind=kind,
            seq=event.seq,
            cost_usd=usage.cost_usd,
            cost_precision=usage.cost_precision,
            iterations=len(iterations),
            tokens_in=usage.input_tokens,
            tokens_out=usage.output_tokens,
            asked=len(asked),
            denied=metrics.sums.denials,
            denied_by_user=denied_by_user,
            files=len(changed),
            added=added,
            removed=removed,
        )
        all_beats.append(beat)
    return _limit_beats(all_beats)


def _limit_beats(all_beats: list[Beat]) -> tuple[Beat, ...]:
    if len(all_beats) <= MAX_BEATS:
        return tuple(all_beats)
    # Half of the places are for marks. Otherwise, they would be lost among the many events of models and tools.
    marked = [beat for beat in all_beats if beat.kind in MARKED_KINDS]
    selected = {id(beat) for beat in _pick_evenly(marked, MAX_BEATS // 2)}
    selected |= {id(beat) for beat in _pick_evenly(all_beats, MAX_BEATS - len(selected))}
    return tuple(beat for beat in all_beats if id(beat) in selected)


def _pick_evenly(all_beats: Sequence[Beat], max_count: int) -> Sequence[Beat]:
    if len(all_beats) <= max_count:
        return all_beats
    return [all_beats[(number + 1) * len(all_beats) // max_count - 1] for number in range(max_count)]


def _kind(event: Envelope) -> BeatKind | None:
    match event.payload:
        case PermissionDecided(decision="deny"):
            return "denied"
        case PermissionRequested() | QuestionAsked():
            return "asked"
        case ModelResponded() | ModelRequested():
            return "model"
        case TurnFinished():
            return "end"
        case ToolFinished(status="ok" | "denied" | "interrupted"):
            return "tool"
        case _:
            return event_mark(event)


def _time_events(
    events: Sequence[Envelope], since: float | None, running: bool
) -> Iterator[tuple[Envelope, float]]:
    worked, previous = 0.0, since
    for event in events:
        if isinstance(event.payload, ModelDelta | ToolProgress):
            continue  # some logs are read without streamed pieces, and must give the same times
        if _stops_work(event.payload):
            running = False
        if running and previous is not None:
            worked += max(0.0, event.time - previous) * 1000
        previous = event.time
        yield event, round(worked, 3)
        if isinstance(event.payload, TurnFinished):
            running = False
        elif isinstance(event.payload, TurnStarted | IterationStarted | ModelRequested):
            running = True


def _stops_work(payload: Payload) -> bool:
    """Return True if the event shows that no agent was working directly before this event."""
    return isinstance(payload, RunStarted | RunResumed | RunFinished | SessionForked | SessionHeadMoved)


OutcomeState: TypeAlias = Literal["done", "failed", "denied", "stopped", "open", "none"]
MAX_FAILURES: Final = 5
_LOCAL_PROVIDERS: Final = frozenset(("ollama", "lm_studio", "llamafile", "demo", "scripted"))
_ENDS: Final[dict[TurnEnd, OutcomeState]] = {
    "finished": "done",
    "denied": "denied",
    "model_error": "failed",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch to compare.

    - `text`: function that returns the stored content with a given SHA-256, or None.
    - `name`: the branch's name in the tree of branches.
    """

    session: str
    records: Sequence[Record]
    text: Callable[[str], bytes | None] = lambda _: None
    name: str = MAIN_BRANCH


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a branch at its end, as shown on the screen. `state` selects the symbol before the text."""

    state: OutcomeState = "none"
    label: str = "no answer"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison of branches. All counts cover the events after the fork point.

    - `cost_usd`: None if no price is known.
    - `iterations`: number of the main agent's iterations. All other counts include the work of delegates.
    - `changed`: settings and texts that the fork changed.
    - `change_text`: description of a changed context mode, tool result or message.
    - `asked_count`: number of permission requests and questions to the user.
    - `denied_count`: number of denied calls.
    - `user_denied_count`: number of calls that the user denied.
    - `added`, `removed`: line counts of `files`.
    - `failures`: tests that fail at the end.
    - `last_seq`: number of the branch's newest event.
    """

    session: str
    name: str
    title: str = ""
    model: str = ""
    local: bool = False
    effort: str = ""
    policy: str = ""
    changed: JsonMap = field(default_factory=dict)
    change_text: str = ""
    outcome: Outcome = Outcome()
    duration_ms: float = 0.0
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    iterations: int = 0
    parts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked_count: int = 0
    denied_count: int = 0
    user_denied_count: int = 0
    added: int = 0
    removed: int = 0
    files: tuple[NetFileChange, ...] = ()
    folders: tuple[FolderFiles, ...] = ()
    """Generated folders, each with its number of changed files. These files are not listed in `files`."""
    tools: dict[str, int] = field(default_factory=dict)
    timeline: tuple[Beat, ...] = ()
    answer: str = ""
    failures: tuple[str, ...] = ()
    last_seq: int = -1


def build_side(branch: Branch, shared: int) -> Side:
    """Return the side of a comparison for `branch`. `shared`: number of records before the fork point."""
    before, tail = branch.records[:shared], branch.records[shared:]
    events = list(known_events(tail))
    state, metrics = fold(SessionState(), branch.records), fold(Metrics(), events)
    was_running = _is_turn_running(before)
    fork_time = before[-1].time if before else None
    timeline = list_beats(events, fork_time, was_running, branch.text)
    files = net_file_changes(events, branch.text)
    forked = find_payload(events, SessionForked)
    model = state.settings.model if state.settings else ModelInfo(profile="", provider="", model="")
    return Side(
        session=branch.session,
        name=branch.name if before else state.title or "untitled",
        title=state.title,
        model=model.model,
        local=_is_local(model),
        effort=model.effort or "",
        policy=state.settings.policy if state.settings else "",
        changed=forked.changes.model_dump(mode="json", exclude_defaults=True) if forked else {},
        change_text=_describe_change(forked, branch.records) if forked else "",
        outcome=_outcome(metrics, events),
        duration_ms=working_ms(events, fork_time, was_running),
        cost_usd=metrics.cost_usd,
        cost_precision=metrics.cost_precision,
        iterations=timeline[-1].iterations if timeline else 0,
        parts=len(fold(Parts(), events)),
        tokens_in=metrics.input_tokens,
        tokens_out=metrics.output_tokens,
        asked_count=timeline[-1].asked if timeline else 0,
        denied_count=metrics.denials,
        user_denied_count=timeline[-1].denied_by_user if timeline else 0,
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        files=files,
        folders=fold(FilesChanged(), events).folders,
        tools=dict(sorted(metrics.tools.items(), key=lambda pair: (-pair[1], pair[0]))),
        timeline=timeline,
        answer=_answer(events, branch.text),
        failures=_failures(events),
        last_seq=branch.records[-1].seq if branch.records else -1,
    )


def _is_local(model: ModelInfo) -> bool:
    host = urlsplit(model.base_url).hostname or ""
    is_loopback = host in ("localhost", "127.0.0.1", "::1") or host.endswith(".localhost")
    return is_loopback or (not host and model.provider in _LOCAL_PROVIDERS)


def _describe_change(forked: SessionForked, records: Sequence[Record]) -> str:
    changed = forked.changes
    phrases = [f"context {changed.context_mode}"] if changed.context_mode else []
    if changed.result is not None:
        call = _call_label(changed.call_id, records)
        phrases.append(f"another result of {call}" if call else "another tool result")
    if changed.message is not None:
        phrases.append(f'another message: "{" ".join(text_preview(changed.message).split())}"')
    return ", ".join(phrases)


def _call_label(call_id: CallId | None, records: Sequence[Record]) -> str:
    for record in reversed(records):
        payload = record.payload
        if isinstance(payload, ToolCalled) and payload.call_id == call_id:
            return f"{payload.verb} {payload.target}".strip()
    return ""


# -- the outcome ---------------------------------------------------------------------------------------------------


def _outcome(metrics: MetricsView, events: Sequence[Envelope]) -> Outcome:
    """Return the outcome of a branch, with a label such as `done, 32 tests pass`."""
    reason = next((end for end in TURN_END_LABELS if end == metrics.last_turn_end), None)
    if reason is None or _is_turn_running(events):
        started = metrics.turns or any(_is_iteration(event.payload) for event in events)
        return Outcome("open", "has not ended") if started else Outcome()
    failed, passed = metrics.tests_failed or 0, metrics.tests_passed or 0
    staleness = metrics.later_changes.short_description
    failing = describe_failing_tests(failed, metrics.test_errors, staleness) if failed else ""
    passing = format_count(passed, "test passes", "tests pass")
    if reason == "finished" and failed and not staleness:
        return Outcome("failed", f"{failing}, turn finished")
    tests = failing if failed else passing if passed else ""
    label = f"{TURN_END_LABELS[reason]}, {tests}" if tests else TURN_END_LABELS[reason]
    return Outcome(_ENDS.get(reason, "stopped"), label)


def _is_iteration(payload: Payload) -> TypeGuard[IterationStarted | ModelRequested]:
    """Return True if the event shows that an iteration runs."""
    # A request for an answer counts too, because a fork may begin after the iteration's start.
    if isinstance(payload, ModelRequested):
        return payload.purpose == "answer"
    return isinstance(payload, IterationStarted)


def _is_turn_running(records: Sequence[Record]) -> bool:
    for record in reversed(records):
        payload = record.payload
        if isinstance(payload, TurnFinished | TurnStarted):
            return isinstance(payload, TurnStarted)
    return False


def _failures(events: Sequence[Envelope]) -> tuple[str, ...]:
    tests = find_payload(reversed(events), TestFinished)
    return tests.failures[:MAX_FAILURES] if tests else ()


def _answer(events: Sequence[Envelope], text: Callable[[str], bytes | None]) -> str:
    """Return the main agent's newest answer without tool calls, in full."""
    for event in reversed(events):
        payload = event.payload
        if not isinstance(payload, ModelResponded) or event.agent != MAIN_AGENT:
            continue
        if not tool_calls(payload.parts):
            return "\n\n".join(
                _full_text(part.text, text) for part in payload.parts if isinstance(part, TextPart)
            )
    return ""


def _full_text(stored: LongText, read_blob: Callable[[str], bytes | None]) -> str:
    if not isinstance(stored, BlobText):
        return stored
    data = read_blob(stored.blob_sha256)
    if data is None:
        return f"{stored.preview}\n(the rest of the {format_bytes(stored.size)} is missing)"
    return data.decode("utf-8", "replace")
