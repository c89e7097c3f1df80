"""A part of a log on a clock that runs only while the agent works, with cumulative figures.

Invariant: the figures of the last beat are those of the whole part; times never decrease.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.trace.timeline import Mark, mark_of
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import (
    RunFinished,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionHeadMoved,
)
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress
from tui_agent.protocol.events.turn import (
    IterationStarted,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
)

MOST_BEATS: Final = 2_000
BeatKind: TypeAlias = Mark | Literal["denied", "model", "tool", "asked", "end"]
MARKED: Final[frozenset[BeatKind]] = frozenset(("you", "files", "error", "compaction", "denied"))
"""Kinds shown as marks on a line; the others only change figures."""


@dataclass(frozen=True, slots=True)
class Beat:
    """An event `at_ms` after the beginning, and the figures after it."""

    at_ms: float
    kind: BeatKind
    seq: int
    cost_usd: float | None = None
    iterations: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked: int = 0
    denied: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0


def working_ms(events: Sequence[Envelope], since: float | None, running: bool) -> float:
    """Return the milliseconds that the agent worked.

    They count from `since` if it was `running` then, and in every later turn.
    """
    return max((at_ms for _, at_ms in _time_events(events, since, running)), default=0.0)


def beats(events: Sequence[Envelope], since: float | None, running: bool) -> tuple[Beat, ...]:
    """Return the events that are marked or change a figure, in order; if there are too many, an even selection."""
    metrics, files, asked, iterations = Metrics(), FilesChanged(), set[str](), set[int]()
    all_beats: list[Beat] = []
    for event, at_ms in _time_events(events, since, running):
        metrics.apply(event)
        files.apply(event)
        payload = event.payload
        if isinstance(payload, PermissionRequested):
            asked.add(payload.call_id)
        elif isinstance(payload, QuestionAsked):
            asked.add(payload.question_id)
        elif isinstance(payload, IterationStarted | ModelRequested):
            iterations.add(payload.iteration)  # a fork may begin inside an iteration
        kind = _kind(event)
        if kind is None:
            continue
        sums, changed = metrics.sums, files.view()
        beat = Beat(
            at_ms=at_ms,
            kind=kind,
            seq=event.seq,
            cost_usd=sums.cost_usd,
            iterations=len(iterations),
            tokens_in=sums.input_tokens,
            tokens_out=sums.output_tokens,
            asked=len(asked),
            denied=sums.denials,
            files=len(changed.files),
            added=changed.added,
            removed=changed.removed,
        )
        all_beats.append(beat)
    return _limit_beats(all_beats)


def _limit_beats(all_beats: list[Beat]) -> tuple[Beat, ...]:
    if len(all_beats) <= MOST_BEATS:
        return tuple(all_beats)
    marked = [beat for beat in all_beats if beat.kind in MARKED]
    kept = {id(beat) for beat in _pick_evenly(marked, MOST_BEATS // 2)}
    kept |= {id(beat) for beat in _pick_evenly(all_beats, MOST_BEATS - len(kept))}
    return tuple(beat for beat in all_beats if id(beat) in kept)


def _pick_evenly(all_beats: Sequence[Beat], most: int) -> Sequence[Beat]:
    """Return at most `most` of the beats, evenly distributed, including the last."""
    if len(all_beats) <= most:
        return all_beats
    return [all_beats[(number + 1) * len(all_beats) // most - 1] for number in range(most)]


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
            return mark_of(event)


def _time_events(
    events: Sequence[Envelope], since: float | None, running: bool
) -> Iterator[tuple[Envelope, float]]:
    """Yield every event with the milliseconds of work before it."""
    worked, previous = 0.0, since
    for event in events:
        if isinstance(event.payload, ModelDelta | ToolProgress):
            continue
        if _stops_work(event.payload):
            running = False
        if running and previous is not None:
            worked += max(0.0, event.at - previous) * 1000
        previous = event.at
        yield event, round(worked, 3)
        if isinstance(event.payload, TurnFinished):
            running = False
        elif isinstance(event.payload, TurnStarted | IterationStarted | ModelRequested):
            running = True


def _stops_work(payload: Payload) -> bool:
    """Return True if nothing was running just before this event, whatever happened earlier."""
    return isinstance(payload, RunStarted | RunResumed | RunFinished | SessionForked | SessionHeadMoved)
