"""Summary of a session for lists, made from the start and end of the session's log and the counts of `session_stats`.

Invariant: only the first line, the last lines, and lines with a title or a count are parsed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeGuard, TypeVar

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Stretch, is_on_branch
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.session import SessionForked, SessionStarted, SessionTitled, WorkspaceMoved
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import SessionId
from tui_agent.store.blobs import BlobStore
from tui_agent.store.lineage import HistoryPart, load_lineage, open_blobs
from tui_agent.store.log_chunks import find_end_offset, read_chunks_backwards, read_first_line
from tui_agent.store.log_line import decode_line, intact_lines, payload_mark
from tui_agent.store.log_reader import read_span, read_tail_bytes
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import lines_with, read_records_from, read_seq, split_lines
from tui_agent.store.session_stats import Outcome, SessionStats, count_lines, count_log, read_outcome
from tui_agent.store.writer_lock import is_locked

_MAX_HEAD_MOVES = 8
_HEAD_BYTES, _TAIL_BYTES, _LONG_TAIL_BYTES = 16 * 1024, 4 * 1024, 128 * 1024
PayloadT = TypeVar("PayloadT", bound=Payload)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in a list.

    - `updated`: time of the session's last event in seconds since the epoch.
    - `stats`: None if the log is too long to read whole.
    - `outcome`: state of the newest turn.
    - `parent`, `forked_at`: session and event from which a fork was created.
    - `is_damaged`: True if the log's start is unreadable. `workspace` can then be empty.
    - `is_other_version`: True if another version of tui-agent wrote the log. The session can be read but not opened.
    """

    id: SessionId
    path: Path
    workspace: str
    started: float
    updated: float
    title: str
    events: int
    is_locked: bool
    size_bytes: int
    is_damaged: bool = False
    is_other_version: bool = False
    stats: SessionStats | None = None
    outcome: Outcome = "empty"
    model: str = ""
    parent: str = ""
    forked_at: int | None = None
    last_seq: int = -1
    """The `seq` of the newest event."""
    # In a fork, some lower numbers are missing: events that the parent has undone.

    @property
    def state(self) -> str:
        """The state of the newest turn, for a list.

        `open` becomes `running` or, if the session's process has ended, `stopped`.
        """
        return self.outcome if self.outcome != "open" else "running" if self.is_locked else "stopped"

    def to_json(self) -> dict[str, object]:
        """Return the session's facts for JSON output, without its id and folder."""
        return {
            "title": self.title,
            "workspace": self.workspace,
            "model": self.model,
            "started": self.started,
            "updated": self.updated,
            "events": self.events,
            "last_seq": self.last_seq,
            "size_bytes": self.size_bytes,
            "turns": self.stats.turns if self.stats else None,
            "cost_usd": self.stats.cost_usd if self.stats else None,
            "cost_precision": self.stats.cost_precision if self.stats else "exact",
            "outcome": self.state,
            "open": self.is_locked,
            "other_version": self.is_other_version,
            "parent": self.parent or None,
            "forked_at": self.forked_at,
        }


def summarise_session(folder: Path, known: SessionStats | None = None) -> SessionSummary | None:
    """Return a session's summary, read from the start and end of its log, or None if neither can be read.

    `known`: earlier counts of the log, to which new counts are added.
    """
    path = folder / EVENTS_FILE
    blobs = open_blobs(folder)
    try:
        size = path.stat().st_size
        last, state = _read_end(path, size, blobs)
        sums = count_log(folder, size, blobs, known)
        counts = sums or _count_ends(path, blobs, known)
        first = decode_line(read_first_line(folder), blobs)
    except OSError:
        return None
    start = first if isinstance(first, Envelope) else None
    if first is None and last is None:
        return None
    foreign_record = first if _is_other_version(first) else None
    workspace, title = _initial_values(folder, start)
    origin = start.payload if start is not None and isinstance(start.payload, SessionForked) else None
    if start is None:
        start = last if isinstance(last, Envelope) else None
        workspace = _foreign_field(foreign_record, "workspace") or _find_workspace(path)
        title = _foreign_field(foreign_record, "title")
    return SessionSummary(
        id=SessionId(folder.name),
        path=folder,
        workspace=counts.workspace or workspace,
        started=foreign_record.time if foreign_record else (start.time if start else 0.0),
        updated=last.time if last else (start.time if start else 0.0),
        title=counts.title or title,
        events=_count_events(folder, last, sums, is_fork=origin is not None),
        last_seq=last.seq if last else -1,
        is_locked=is_locked(folder / "lock"),
        size_bytes=size,
        is_damaged=not isinstance(first, Envelope) and foreign_record is None,
        is_other_version=foreign_record is not None or _is_other_version(last),
        stats=sums,
        outcome=state,
        model=counts.model,
        parent=origin.parent_session if origin else "",
        forked_at=origin.at_seq if origin else None,
    )


def _count_ends(path: Path, blobs: BlobStore, known: SessionStats | None) -> SessionStats:
    """Find the title, model and workspace of a long session. Read only the start and end of its log."""
    end = count_lines(read_tail_bytes(path, _LONG_TAIL_BYTES), known or SessionStats(), blobs)
    if end.title and end.model and end.workspace:
        return end
    with path.open("rb") as log:
        head = count_lines(log.read(_HEAD_BYTES), SessionStats(), blobs)
    return replace(
        end,
        title=end.title or head.title,
        model=end.model or head.model,
        workspace=end.workspace or head.workspace,
    )


def _is_other_version(record: Record | None) -> TypeGuard[UnknownEvent]:
    return isinstance(record, UnknownEvent) and record.is_other_version


def _foreign_field(record: UnknownEvent | None, field: str) -> str:
    """Return a text field of `record`, the first event of another version's log. Return "" if the field is missing."""
    payload = record.raw.get("payload") if record is not None else None
    value = payload.get(field) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def _find_workspace(path: Path) -> str:
    started = (start.workspace for start in _search_backwards(path, SessionStarted))
    environments = _search_backwards(path, EnvStarted)
    roots = (environment.root for environment in environments)
    return next(chain(started, roots), "")


def _count_events(folder: Path, last: Record | None, sums: SessionStats | None, *, is_fork: bool) -> int:
    """Return the number of events in a session's history. For a fork, also count the events inherited from its parents."""
    if sums is None:
        return last.seq + 1 if last else 0
    parents = load_lineage(folder).ancestors if is_fork else ()
    inherited = parents[-1].stretches or () if parents else ()
    return sum(stretch.last - stretch.first + 1 for stretch in inherited) + sums.lines


def _first_event(folder: Path) -> Envelope | None:
    record = decode_line(read_first_line(folder), open_blobs(folder))
    return record if isinstance(record, Envelope) else None


def _initial_values(folder: Path, start: Envelope | None) -> tuple[str, str]:
    """Return a session's workspace and first title.

    A fork without its own workspace has the workspace of its parents.
    """
    match start and start.payload:
        case SessionStarted(workspace=workspace, title=title):
            if start is not None and start.session != folder.name:
                workspace = _fork_workspace(folder / EVENTS_FILE) or workspace
            return workspace, title
        case SessionForked(changes=changed):
            parents = load_lineage(folder).ancestors
            return changed.workspace or _inherited_workspace(parents), _inherited_title(parents)
    return "", ""


def _inherited_workspace(parents: Sequence[HistoryPart]) -> str:
    for part in reversed(parents):
        workspace = _moved_workspace(part.folder / EVENTS_FILE, part.stretches)
        if workspace:
            return workspace
        start = _first_event(part.folder)
        if start is not None and isinstance(start.payload, SessionStarted):
            return start.payload.workspace
        payload = start.payload if start is not None else None
        if isinstance(payload, SessionForked) and payload.changes.workspace:
            return payload.changes.workspace
    return ""


def _moved_workspace(path: Path, stretches: Sequence[Stretch] | None) -> str:
    moves = _search_backwards(path, WorkspaceMoved, stretches)
    return next((move.workspace for move in moves), "")


def _inherited_title(parents: Sequence[HistoryPart]) -> str:
    for part in reversed(parents):
        title = _newest_title(part.folder / EVENTS_FILE, part.stretches)
        if title:
            return title
    start = _first_event(parents[0].folder) if parents else None
    return start.payload.title if start and isinstance(start.payload, SessionStarted) else ""


def _read_end(path: Path, size: int, blobs: BlobStore) -> tuple[Record | None, Outcome]:
    """Return the last whole record of a log and the state of the session's newest turn."""
    # The last 4 KB are nearly always enough. More is read only if a long turn or a long line fills them.
    last: Record | None = None
    data, moved_to = b"", None
    for max_bytes in (_TAIL_BYTES, _LONG_TAIL_BYTES):
        is_whole = size <= max(max_bytes, _HEAD_BYTES)
        data = path.read_bytes() if is_whole else read_tail_bytes(path, max_bytes)
        last = last or _last_record(data, blobs)
        state, moved_to = read_outcome(data, blobs, is_complete=is_whole)
        if is_whole or (last is not None and state):
            return last, state
    return last, _outcome_before(path, data, moved_to, blobs)


def _outcome_before(path: Path, data: bytes, moved_to: int | None, blobs: BlobStore) -> Outcome:
    """Return the state of the newest turn of a session that was moved back to event `moved_to`.

    `data`: the last lines of the log. The event `moved_to` is in an earlier line.
    """
    state: Outcome = ""
    visited: set[int] = set()
    while moved_to is not None and moved_to not in visited and len(visited) < _MAX_HEAD_MOVES:
        visited.add(moved_to)
        end = find_end_offset(path, moved_to)
        data = read_span(path, end - _LONG_TAIL_BYTES, end) + data
        state, moved_to = read_outcome(data, blobs, is_complete=end <= _LONG_TAIL_BYTES)
        if state:
            return state
    return "open"  # one turn fills all lines that were read


def _last_record(data: bytes, blobs: BlobStore) -> Record | None:
    for _, line in reversed(list(split_lines(data))):
        if read_seq(line) is None:
            continue
        readable = list(read_records_from(line + b"\n", blobs))
        if readable:
            return readable[-1]
    return None


def _newest_title(path: Path, stretches: Sequence[Stretch] | None) -> str:
    titles = _search_backwards(path, SessionTitled, stretches)
    return next((titled.title for titled in titles), "")


def _fork_workspace(path: Path) -> str:
    workspaces = (fork.changes.workspace for fork in _search_backwards(path, SessionForked))
    return next(filter(None, workspaces), "")


def _search_backwards(
    path: Path, payload_class: type[PayloadT], stretches: Sequence[Stretch] | None = None
) -> Iterator[PayloadT]:
    """Yield the payloads of a class in a log, newest first.

    `stretches`: ranges of event numbers to search; None for all.
    """
    mark = payload_mark(payload_class)
    for chunk in read_chunks_backwards(path):
        for line in reversed(list(lines_with(chunk, mark))):
            for record in map(decode_line, reversed(list(intact_lines(line)))):
                if record is None or not isinstance(record.payload, payload_class):
                    continue
                if stretches is None or is_on_branch(record.seq, stretches):
                    yield record.payload
