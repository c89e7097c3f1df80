"""A stretch of a log on a clock that only runs while the agent works, with the figures as they grow on it.

Invariant: the figures of the last beat are those of the whole stretch; times never fall.
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
"""The kinds that stand out on a line; the others only move figures."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Something that happened `at_ms` after the beginning, and the figures after it."""

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
    """How long the agent worked: from `since` where it `running` was at work then, and in every turn after it."""
    return max((at_ms for _, at_ms in _clocked(events, since, running)), default=0.0)


def beats(events: Sequence[Envelope], since: float | None, running: bool) -> tuple[Beat, ...]:
    """What stands out or moves a figure, in order; of very many the marks and an even share of the others."""
    metrics, files, asked, iterations = Metrics(), FilesChanged(), set[str](), set[int]()
    found: list[Beat] = []
    for event, at_ms in _clocked(events, since, running):
        metrics.apply(event)
        files.apply(event)
        payload = event.payload
        if isinstance(payload, PermissionRequested):
            asked.add(payload.call_id)
        elif isinstance(payload, QuestionAsked):
            asked.add(payload.question_id)
        elif isinstance(payload, IterationStarted | ModelRequested):
            iterations.add(payload.iteration)  # a fork may begin in the middle of one
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
        found.append(beat)
    return _thinned(found)


def _thinned(found: list[Beat]) -> tuple[Beat, ...]:
    if len(found) <= MOST_BEATS:
        return tuple(found)
    marked = [beat for beat in found if beat.kind in MARKED]
    kept = {id(beat) for beat in _share(marked, MOST_BEATS // 2)}
    kept |= {id(beat) for beat in _share(found, MOST_BEATS - len(kept))}
    return tuple(beat for beat in found if id(beat) in kept)


def _share(found: Sequence[Beat], most: int) -> Sequence[Beat]:
    """At most so many of them, evenly, with the last one."""
    if len(found) <= most:
        return found
    return [found[(number + 1) * len(found) // most - 1] for number in range(most)]


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


def _clocked(
    events: Sequence[Envelope], since: float | None, running: bool
) -> Iterator[tuple[Envelope, float]]:
    """Every event with the milliseconds of work before it."""
    worked, before = 0.0, since
    for event in events:
        if isinstance(event.payload, ModelDelta | ToolProgress):
            continue
        if _rests(event.payload):
            running = False
        if running and before is not None:
            worked += max(0.0, event.at - before) * 1000
        before = event.at
        yield event, round(worked, 3)
        if isinstance(event.payload, TurnFinished):
            running = False
        elif isinstance(event.payload, TurnStarted | IterationStarted | ModelRequested):
            running = True


def _rests(payload: Payload) -> bool:
    """Whether nothing was at work up to this event, whatever came before it."""
    return isinstance(payload, RunStarted | RunResumed | RunFinished | SessionForked | SessionHeadMoved)
