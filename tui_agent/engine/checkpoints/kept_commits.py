"""The commits that git made during turns. An undo of these turns keeps the commits."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tui_agent.config.project.reflog import find_new_commits
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import MAX_KEPT_COMMITS
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted


def find_kept_commits(recorder: Recorder, after: int) -> tuple[str, ...]:
    """Return the newest commits made during turns after an event of the current branch, oldest first. Blocking."""
    spans = list(_turn_spans(recorder.records_after(after - 1)))
    commits = find_new_commits(Path(recorder.state.workspace), spans) if spans else []
    return tuple(commits[-MAX_KEPT_COMMITS:])


def _turn_spans(records: Iterable[Record]) -> Iterator[tuple[float, float]]:
    """Yield the start and the end of each turn after the first record. The first of these turns can have begun earlier.

    The times of commits are whole seconds. A commit in the second in which one turn ended and the next began belongs to
    the turn that ended.
    """
    start, ended = 0.0, 0.0
    for number, record in enumerate(records):
        payload = record.payload if isinstance(record, Envelope) else None
        if number == 0:
            ended = record.time
        elif number == 1 or isinstance(payload, TurnStarted):
            is_first = isinstance(payload, TurnStarted) and payload.turn == 1
            start = record.time if is_first else max(record.time, int(ended) + 1.0)
        elif isinstance(payload, TurnFinished):
            yield start, record.time
            ended = record.time
