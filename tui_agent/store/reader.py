"""Reader of a session's log without its lock, even while another process writes.

Invariant: only whole lines with a matching checksum are returned; a reader changes nothing. A fork is read as
one history: its parents' events up to the fork, then its own.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.errors import SessionNotFound
from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.env import EnvStarted, EnvStopped
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded
from tui_agent.protocol.events.session import RunFinished, RunResumed, RunStarted, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.store.chunks import lines_with, offset_before, pieces
from tui_agent.store.gc_pause import many_objects
from tui_agent.store.lineage import Lineage, Strand, blobs_of, cut, lineage
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import Sieve, ended_requests, records, sifted, sifted_lines

TAIL_BYTES = 256 * 1024
_END_BYTES = 4 * TAIL_BYTES
_LIFECYCLE = (
    RunStarted,
    RunResumed,
    RunFinished,
    PluginLoaded,
    PluginFailed,
    EnvStarted,
    EnvStopped,
    AgentStateChanged,
)
"""Events recorded by opening and closing a session, whether or not it was used in between."""
_MARKS = (
    b'"payload":{"kind":"session.head_moved"',
    b'"payload":{"kind":"user.message"',
    b'"goes_on":true',
    b'"payload":{"kind":"checkpoint.taken"',
    b'"payload":{"kind":"checkpoint.restored"',
)
_LOOKAHEAD_BYTES = 512 * 1024
"""Bytes read past an approximate end, enough to contain the last line."""


def read_records(
    folder: Path,
    after: int = -1,
    limit: int | None = None,
    *,
    skip_deltas: bool = False,
    branch: bool = False,
    size: int | None = None,
) -> list[Record]:
    """Return the records with `seq` > `after`, at most `limit`, in order. Raises `SessionNotFound`.

    `skip_deltas` leaves out the deltas of finished requests; folds give the same views without them, except
    for the `seq` and `at` at which a streamed entry began. `branch` returns only what `folds.base.branch`
    would keep. `size` limits the bytes read of the session's own log.
    """
    collected: list[Record] = []
    if limit is not None and limit <= 0:
        return collected
    with many_objects():
        for record in _iterate(
            folder, _log_size(folder, size), after, skip_deltas=skip_deltas, branch=branch
        ):
            collected.append(record)
            if limit is not None and len(collected) >= limit:
                break
    return collected


def iterate_records(
    folder: Path, after: int = -1, *, branch: bool = False, on: Sequence[Stretch] | None = None
) -> Iterator[Record]:
    """Yield the records with `seq` > `after`, without the deltas of finished requests.

    `branch` yields only those on the current branch, `on` those on the branch with these stretches. Yields
    the current content of the log, read while iterating. Raises `SessionNotFound`.
    """
    return _iterate(folder, _log_size(folder), after, skip_deltas=True, branch=branch, on=on)


def read_marks(folder: Path) -> list[Record]:
    """Return head moves, turn starts and checkpoints, on the branch or not, for the folds `Branches` and
    `Commits`.

    Found by searching the bytes; nothing else is parsed. Raises `SessionNotFound`.
    """
    size, history, blobs = _log_size(folder), lineage(folder), blobs_of(folder)
    marks: list[Record] = []
    for strand in history.strands:
        end = size if strand is history.own else None
        raw_lines = [raw_line for mark in _MARKS for raw_line in lines_with(strand.folder, mark, size=end)]
        sieve = Sieve(kept=strand.kept)
        marks += (
            record
            for raw_line in raw_lines
            for record in sifted(raw_line + b"\n", blobs, sieve)
            if _is_mark(record)
        )
    return sorted(marks, key=lambda record: record.seq)


def _is_mark(record: Record) -> bool:
    match record:
        case Envelope(payload=SessionHeadMoved() | UserMessageReceived() | TurnStarted(goes_on=True)):
            return True
        case Envelope(payload=CheckpointTaken() | CheckpointRestored()):
            return True
        case _:
            return False


def stored_lines(folder: Path, after: int = -1) -> Iterator[tuple[int, str]]:
    """Yield the log's whole lines as stored, without the newline, each with its `seq`. Raises
    `SessionNotFound`.
    """
    for line, record in history_lines(folder, after):
        yield record.seq, line.decode("utf-8", "replace")


def history_lines(folder: Path, after: int = -1) -> Iterator[tuple[bytes, Record]]:
    """Yield every record of a session's history with its line, in order. Raises `SessionNotFound`."""
    size, history, blobs = _log_size(folder), lineage(folder), blobs_of(folder)
    last = after
    for strand in history.strands:
        for piece in _strand_pieces(strand, history, last, size):
            for raw, record in sifted_lines(piece, blobs, Sieve(kept=strand.kept), last):
                last = record.seq
                yield raw, record


def _log_size(folder: Path, size: int | None = None) -> int:
    try:
        actual = (folder / EVENTS).stat().st_size
    except FileNotFoundError as fault:
        raise SessionNotFound(
            f"There is no session {folder.name} in {folder.parent}.",
            hint="Run `tui-agent sessions list` to list all sessions.",
        ) from fault
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
    history = lineage(folder)
    if branch:
        on = history.branch(size)
    selected = [_intersect(strand.kept, on) for strand in history.strands]
    ended = _ended_requests(history, selected, size, after) if skip_deltas else frozenset()
    blobs = blobs_of(folder)
    last = after
    for strand, stretches in zip(history.strands, selected, strict=True):
        sieve = Sieve(ended, stretches)
        for piece in _strand_pieces(strand, history, last, size):
            for record in sifted(piece, blobs, sieve, last):
                last = record.seq
                yield record


def _intersect(
    inherited: Sequence[Stretch] | None, branch: Sequence[Stretch] | None
) -> tuple[Stretch, ...] | None:
    """Return the stretches on both. The branch contains all inherited parts and continues after them."""
    if branch is None or inherited is None:
        return tuple(branch) if branch is not None else (None if inherited is None else tuple(inherited))
    return cut(branch, inherited[-1].last)


def _ended_requests(
    history: Lineage, selected: Sequence[Sequence[Stretch] | None], size: int, after: int
) -> frozenset[bytes]:
    """Return the requests that have ended in the part that is read."""
    request_ids: set[bytes] = set()
    for strand, stretches in zip(history.strands, selected, strict=True):
        for piece in _strand_pieces(strand, history, after, size):
            request_ids |= ended_requests(piece, Sieve(kept=stretches))
    return frozenset(request_ids)


def _strand_pieces(strand: Strand, history: Lineage, after: int, size: int) -> Iterator[bytes]:
    """Yield a strand's bytes from about `after`; a parent's part ends shortly after the fork."""
    if strand is history.own:
        yield from pieces(strand.folder, after=after, size=size)
        return
    last = strand.last
    if after >= last:
        return
    with (strand.folder / EVENTS).open("rb") as log:
        end = offset_before(log, os.fstat(log.fileno()).st_size, last)
    yield from pieces(strand.folder, after=after, size=end + _LOOKAHEAD_BYTES)


def read_tail(folder: Path, count: int = 200, *, max_bytes: int = TAIL_BYTES) -> list[Record]:
    """Return the last `count` records, from at most the last `max_bytes` of the log and of each of its
    parents.
    """
    if count <= 0:
        return []
    blobs = blobs_of(folder)
    data = tail_bytes(folder / EVENTS, max_bytes)
    tail = list(records(data, blobs))[-count:]
    if len(tail) < count and len(data) == (folder / EVENTS).stat().st_size:
        for strand in reversed(lineage(folder).elders):
            inherited = list(sifted(_strand_end(strand, max_bytes), blobs, Sieve(kept=strand.kept)))
            tail = [*inherited, *tail][-count:]
    return tail


def read_end(folder: Path, count: int) -> list[Record]:
    """Return the last `count` records that are not lifecycle events, with everything between and after them.

    So the last messages are included however often the session was opened since. Reads at most the last MiB.
    """
    tail = read_tail(folder, _END_BYTES, max_bytes=_END_BYTES)
    positions = [
        index
        for index, record in enumerate(tail)
        if not isinstance(record, Envelope) or not isinstance(record.payload, _LIFECYCLE)
    ]
    return tail[positions[-count] :] if 0 < count <= len(positions) else tail


def _strand_end(strand: Strand, size: int) -> bytes:
    """Return the last bytes of the inherited part of a parent's log, and a little more."""
    with (strand.folder / EVENTS).open("rb") as log:
        end = offset_before(log, os.fstat(log.fileno()).st_size, strand.last)
        start = max(0, end - size)
        log.seek(start)
        data = log.read(end + _LOOKAHEAD_BYTES - start)
    return data if start == 0 else data[data.find(b"\n") + 1 :]


class LogTail:
    """Reads a log on from its last position while another process writes. `poll` reads only new bytes."""

    def __init__(self, folder: Path, after: int = -1) -> None:
        self._folder = folder
        self._blobs = blobs_of(folder)
        self._after = after
        self._offset = 0
        self._file: tuple[int, int] | None = None

    def poll(self) -> list[Record]:
        """Return the whole records since the last call; an unfinished line waits for the next call."""
        inherited = self._read_parents() if self._file is None else []
        try:
            with (self._folder / EVENTS).open("rb") as log:
                status = os.fstat(log.fileno())
                if (status.st_dev, status.st_ino) != self._file or status.st_size < self._offset:
                    self._file, self._offset = (status.st_dev, status.st_ino), 0
                log.seek(self._offset)
                data = log.read()
        except FileNotFoundError:
            return []
        end = data.rfind(b"\n") + 1
        self._offset += end
        with many_objects():
            records_read = [*inherited, *records(data[:end], self._blobs, after=self._after)]
        if records_read:
            self._after = records_read[-1].seq
        return records_read

    def _read_parents(self) -> list[Record]:
        """Return the inherited part of the history."""
        inherited: list[Record] = []
        for strand in lineage(self._folder).elders:
            data = b"".join(pieces(strand.folder, after=self._after))
            inherited += sifted(data, self._blobs, Sieve(kept=strand.kept), self._after)
            self._after = inherited[-1].seq if inherited else self._after
        return inherited


def tail_bytes(path: Path, size: int) -> bytes:
    """Return the last `size` bytes of a log, from the start of a line."""
    with path.open("rb") as log:
        start = max(0, log.seek(0, os.SEEK_END) - size)
        log.seek(start)
        data = log.read()
    return data if start == 0 else data[data.find(b"\n") + 1 :]
