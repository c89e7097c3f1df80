"""Reader of a session's log without its lock, even while another process writes.

Invariant: only whole lines with a matching checksum are returned.
"""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.env import EnvStarted, EnvStopped
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.session import RunFinished, RunResumed, RunStarted, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.store.lineage import HistoryPart, Lineage, cut_stretches, load_lineage, open_blobs
from tui_agent.store.log_chunks import (
    find_end_offset,
    find_lines,
    find_offset_before,
    read_chunks,
    read_first_line,
)
from tui_agent.store.log_line import is_intact, line_version
from tui_agent.store.log_repair import EVENTS_FILE, require_known_version, session_not_found
from tui_agent.store.log_scan import (
    RecordFilter,
    filter_lines,
    filter_records,
    find_ended_requests,
    read_records_from,
)

TAIL_BYTES = 256 * 1024
_END_BYTES = 4 * TAIL_BYTES
_LIFECYCLE = (
    RunStarted,
    RunResumed,
    RunFinished,
    PluginLoaded,
    PluginUnloaded,
    PluginFailed,
    EnvStarted,
    EnvStopped,
    AgentStateChanged,
)
"""The kinds of events that opening and closing a session records."""
_MARKS = (
    b'"payload":{"kind":"session.head_moved"',
    b'"payload":{"kind":"user.message"',
    b'"payload":{"kind":"turn.started"',
    b'"payload":{"kind":"checkpoint.taken"',
    b'"payload":{"kind":"checkpoint.restored"',
)
_LOOKAHEAD_BYTES = 512 * 1024
"""Number of extra bytes to read if the end position is only approximate, so that the last line is complete."""


@contextmanager
def pause_gc() -> Iterator[None]:
    """Disable garbage collection during a short piece of work that only creates objects. Do not `await` inside."""
    # Decoding 100,000 events takes 0.5 s in this way, and 2.1 s with the collector (benchmarks/log_append.py).
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_records(
    folder: Path,
    after: int = -1,
    limit: int | None = None,
    *,
    skip_deltas: bool = False,
    current_branch_only: bool = False,
    size: int | None = None,
) -> list[Record]:
    """Return at most `limit` records with `seq` > `after`, in order.

    - `skip_deltas`: True to leave out the streamed pieces of finished answers.
    - `current_branch_only`: True to leave out undone events.
    - `size`: maximum number of bytes to read of the session's own log.

    Raise `SessionNotFound` if there is no log.
    """
    collected: list[Record] = []
    if limit is not None and limit <= 0:
        return collected
    with pause_gc():
        for record in _iterate(
            folder, _log_size(folder, size), after, skip_deltas=skip_deltas, branch=current_branch_only
        ):
            collected.append(record)
            if limit is not None and len(collected) >= limit:
                break
    return collected


def iterate_records(
    folder: Path,
    after: int = -1,
    *,
    current_branch_only: bool = False,
    stretches: Sequence[Stretch] | None = None,
    last: int | None = None,
) -> Iterator[Record]:
    """Yield the records with `seq` > `after`, without the streamed pieces of finished answers.

    - `current_branch_only`: True to yield only records of the current branch.
    - `stretches`: ranges of event numbers that select another branch.
    - `last`: last event of the session's own log to read.

    Raise `SessionNotFound` if there is no log.
    """
    size = _log_size(folder)
    if last is not None:
        size = min(size, find_end_offset(folder / EVENTS_FILE, last))
    return _iterate(folder, size, after, skip_deltas=True, branch=current_branch_only, on=stretches)


def read_marks(folder: Path) -> list[Record]:
    """Return the records about moves to earlier events, starts of turns, and checkpoints, from all branches.

    Raise `SessionNotFound` if there is no log.
    """
    # The folds `Branches` and `Commits` need only these events. Other events are not parsed, to save time.
    size, history, blobs = _log_size(folder), load_lineage(folder), open_blobs(folder)
    marks: list[Record] = []
    for part in history.parts:
        end = size if part is history.own else None
        raw_lines = [raw_line for mark in _MARKS for raw_line in find_lines(part.folder, mark, size=end)]
        record_filter = RecordFilter(stretches=part.stretches)
        marks += (
            record
            for raw_line in raw_lines
            for record in filter_records(raw_line + b"\n", blobs, record_filter)
            if _is_mark(record)
        )
    return sorted(marks, key=lambda record: record.seq)


def _is_mark(record: Record) -> bool:
    return isinstance(
        record.payload,
        SessionHeadMoved | UserMessageReceived | TurnStarted | CheckpointTaken | CheckpointRestored,
    )


def read_stored_lines(folder: Path, after: int = -1) -> Iterator[tuple[int, str]]:
    """Yield each event as (`seq`, stored line without the newline). Raise `SessionNotFound` if there is no log."""
    for line, record in iterate_history(folder, after):
        yield record.seq, line.decode("utf-8", "replace")


def iterate_history(folder: Path, after: int = -1) -> Iterator[tuple[bytes, Record]]:
    """Yield each record of a session's history in order, as (line of the log, record).

    Raise `SessionNotFound` if there is no log.
    """
    size, history, blobs = _log_size(folder), load_lineage(folder), open_blobs(folder)
    last = after
    for part in history.parts:
        for piece in _part_chunks(part, history, last, size):
            for raw, record in filter_lines(piece, blobs, RecordFilter(stretches=part.stretches), last):
                last = record.seq
                yield raw, record


def require_readable(folder: Path) -> None:
    """Raise `SessionVersionError` if another version wrote the start of a session's log."""
    first = read_first_line(folder)
    if is_intact(first):
        require_known_version(folder, line_version(first))


def _log_size(folder: Path, size: int | None = None) -> int:
    try:
        actual = (folder / EVENTS_FILE).stat().st_size
        require_readable(folder)
    except FileNotFoundError as fault:
        raise session_not_found(folder) from fault
    return actual if size is None else min(size, actual)


def _iterate(
    folder: Path,
    size: int,
    after: int,
    *,
    skip_deltas: bool,
    branch: bool,
    on: Sequence[Stretch] | None = None,
) -> Iterator[Record]:
    history = load_lineage(folder)
    if branch:
        on = history.current_branch(size)
    selected = [_intersect(part.stretches, on) for part in history.parts]
    ended = _ended_requests(history, selected, size, after) if skip_deltas else frozenset()
    blobs = open_blobs(folder)
    last = after
    for part, stretches in zip(history.parts, selected, strict=True):
        record_filter = RecordFilter(ended, stretches)
        for piece in _part_chunks(part, history, last, size):
            for record in filter_records(piece, blobs, record_filter, last):
                last = record.seq
                yield record


def _intersect(
    inherited: Sequence[Stretch] | None, branch: Sequence[Stretch] | None
) -> tuple[Stretch, ...] | None:
    """Return the ranges of the event numbers that occur in both arguments. None means all events."""
    if branch is None or inherited is None:
        return tuple(branch) if branch is not None else (None if inherited is None else tuple(inherited))
    return cut_stretches(branch, inherited[-1].last)


def _ended_requests(
    history: Lineage, selected: Sequence[Sequence[Stretch] | None], size: int, after: int
) -> frozenset[bytes]:
    """Return the ids of model requests that end within the events to be read. Their streamed pieces can be left out."""
    request_ids: set[bytes] = set()
    for part, stretches in zip(history.parts, selected, strict=True):
        for piece in _part_chunks(part, history, after, size):
            request_ids |= find_ended_requests(piece, RecordFilter(stretches=stretches))
    return frozenset(request_ids)


def _part_chunks(part: HistoryPart, history: Lineage, after: int, size: int) -> Iterator[bytes]:
    """Yield the chunks of one part of the history, from shortly before event `after`."""
    if part is history.own:
        yield from read_chunks(part.folder, after=after, size=size)
    elif after < part.last:
        yield from read_chunks(part.folder, after=after, size=_inherited_end(part))


def read_tail(folder: Path, count: int = 200, *, max_bytes: int = TAIL_BYTES) -> list[Record]:
    """Return the last `count` records, reading at most `max_bytes` of the log and of each parent's log."""
    if count <= 0:
        return []
    blobs = open_blobs(folder)
    data = read_tail_bytes(folder / EVENTS_FILE, max_bytes)
    tail = list(read_records_from(data, blobs))[-count:]
    if len(tail) < count and len(data) == (folder / EVENTS_FILE).stat().st_size:
        for part in reversed(load_lineage(folder).ancestors):
            end = _inherited_end(part)
            inherited = read_span(part.folder / EVENTS_FILE, end - _LOOKAHEAD_BYTES - max_bytes, end)
            records = filter_records(inherited, blobs, RecordFilter(stretches=part.stretches))
            tail = [*records, *tail][-count:]
    return tail


def read_content_tail(folder: Path, count: int) -> list[Record]:
    """Return a session's newest records. Lifecycle events are included, but do not count towards `count`."""
    # Reads at most the last MiB. Lifecycle events are not counted, so that the newest messages are included.
    tail = read_tail(folder, _END_BYTES, max_bytes=_END_BYTES)
    positions = [index for index, record in enumerate(tail) if not isinstance(record.payload, _LIFECYCLE)]
    return tail[positions[-count] :] if 0 < count <= len(positions) else tail


def _inherited_end(part: HistoryPart) -> int:
    with (part.folder / EVENTS_FILE).open("rb") as log:
        return find_offset_before(log, os.fstat(log.fileno()).st_size, part.last) + _LOOKAHEAD_BYTES


class LogTail:
    """Reads a log while another process writes it."""

    def __init__(self, folder: Path, after: int = -1) -> None:
        self._folder = folder
        self._blobs = open_blobs(folder)
        self._after = after
        self._offset = 0
        self._file: tuple[int, int] | None = None
        """Device and inode of the log that was read last."""

    def poll(self) -> list[Record]:
        """Return the records in the complete lines since the last call."""
        inherited = self._read_parents() if self._file is None else []
        try:
            with (self._folder / EVENTS_FILE).open("rb") as log:
                status = os.fstat(log.fileno())
                # Another file of this name, or a shorter one: the log was repaired, so it is read from its start.
                if (status.st_dev, status.st_ino) != self._file or status.st_size < self._offset:
                    self._file, self._offset = (status.st_dev, status.st_ino), 0
                log.seek(self._offset)
                data = log.read()
        except FileNotFoundError:
            return []
        end = data.rfind(b"\n") + 1
        self._offset += end
        with pause_gc():
            records_read = [*inherited, *read_records_from(data[:end], self._blobs, after=self._after)]
        if records_read:
            self._after = records_read[-1].seq
        return records_read

    def _read_parents(self) -> list[Record]:
        inherited: list[Record] = []
        for part in load_lineage(self._folder).ancestors:
            data = b"".join(read_chunks(part.folder, after=self._after))
            inherited += filter_records(
                data, self._blobs, RecordFilter(stretches=part.stretches), self._after
            )
            self._after = inherited[-1].seq if inherited else self._after
        return inherited


def read_tail_bytes(path: Path, size: int) -> bytes:
    """Return the whole lines in the last `size` bytes of a log."""
    end = path.stat().st_size
    return read_span(path, end - size, end)


def read_span(path: Path, start: int, end: int) -> bytes:
    """Return the bytes of a log between two offsets. If `start` is inside a line, begin with the next line."""
    start = max(0, start)
    with path.open("rb") as log:
        log.seek(start)
        data = log.read(end - start)
    return data if start == 0 else data[data.find(b"\n") + 1 :]
