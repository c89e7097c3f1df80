"""Reading a session's log without holding it, also while another process writes.

Invariant: only whole lines whose checksum fits are delivered; a reader changes nothing. A fork is read as one history:
its parents' events up to the fork, then its own.
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
_OPENING = (
    RunStarted,
    RunResumed,
    RunFinished,
    PluginLoaded,
    PluginFailed,
    EnvStarted,
    EnvStopped,
    AgentStateChanged,
)
"""What opening and closing a session records, whether or not anything was said in between."""
_MARKS = (
    b'"payload":{"kind":"session.head_moved"',
    b'"payload":{"kind":"user.message"',
    b'"goes_on":true',
    b'"payload":{"kind":"checkpoint.taken"',
    b'"payload":{"kind":"checkpoint.restored"',
)
_BEHIND = 512 * 1024
"""Bytes in which the line lies of which only the neighbourhood is known."""


def read_records(
    folder: Path,
    after: int = -1,
    limit: int | None = None,
    *,
    skip_deltas: bool = False,
    branch: bool = False,
    size: int | None = None,
) -> list[Record]:
    """The records with `seq` > `after`, at most `limit`, in order. Raises `SessionNotFound`.

    `skip_deltas` leaves out the deltas of requests that have ended; folds give the same views without them, but for
    the `seq` and `at` at which a streamed entry began. `branch` gives only what `folds.base.branch` would leave of
    them. `size`: of the session's own log only so many bytes.
    """
    found: list[Record] = []
    if limit is not None and limit <= 0:
        return found
    with many_objects():
        for record in _walk(folder, _size(folder, size), after, skip_deltas=skip_deltas, branch=branch):
            found.append(record)
            if limit is not None and len(found) >= limit:
                break
    return found


def iterate_records(
    folder: Path, after: int = -1, *, branch: bool = False, on: Sequence[Stretch] | None = None
) -> Iterator[Record]:
    """The records with `seq` > `after` one by one, without the deltas of requests that have ended.

    `branch` gives only those on the current branch, `on` those on the one with these stretches. Gives what stands in the
    log now, and reads it as it is pulled. Raises `SessionNotFound`.
    """
    return _walk(folder, _size(folder), after, skip_deltas=True, branch=branch, on=on)


def read_marks(folder: Path) -> list[Record]:
    """Where the head was moved, turns began and checkpoints were taken, on the branch or not: what the folds `Branches`
    and `Commits` need.

    Found by a search of the bytes; nothing else is parsed. Raises `SessionNotFound`.
    """
    size, line, blobs = _size(folder), lineage(folder), blobs_of(folder)
    found: list[Record] = []
    for strand in line.strands:
        end = size if strand is line.own else None
        raw = [each for mark in _MARKS for each in lines_with(strand.folder, mark, size=end)]
        sieve = Sieve(kept=strand.kept)
        found += (one for each in raw for one in sifted(each + b"\n", blobs, sieve) if _is_mark(one))
    return sorted(found, key=lambda record: record.seq)


def _is_mark(record: Record) -> bool:
    match record:
        case Envelope(payload=SessionHeadMoved() | UserMessageReceived() | TurnStarted(goes_on=True)):
            return True
        case Envelope(payload=CheckpointTaken() | CheckpointRestored()):
            return True
        case _:
            return False


def stored_lines(folder: Path, after: int = -1) -> Iterator[tuple[int, str]]:
    """The log's whole lines as they stand there, without the newline, each with its `seq`. Raises `SessionNotFound`."""
    for line, record in history_lines(folder, after):
        yield record.seq, line.decode("utf-8", "replace")


def history_lines(folder: Path, after: int = -1) -> Iterator[tuple[bytes, Record]]:
    """Every record of a session's history with its line, in order. Raises `SessionNotFound`."""
    size, line, blobs = _size(folder), lineage(folder), blobs_of(folder)
    last = after
    for strand in line.strands:
        for piece in _pieces(strand, line, last, size):
            for raw, record in sifted_lines(piece, blobs, Sieve(kept=strand.kept), last):
                last = record.seq
                yield raw, record


def _size(folder: Path, size: int | None = None) -> int:
    try:
        there = (folder / EVENTS).stat().st_size
    except FileNotFoundError as fault:
        raise SessionNotFound(
            f"There is no session {folder.name} in {folder.parent}.", hint="`sessions list` shows them."
        ) from fault
    return there if size is None else min(size, there)


def _walk(
    folder: Path,
    size: int,
    after: int,
    *,
    skip_deltas: bool,
    branch: bool,
    on: Sequence[Stretch] | None = None,
) -> Iterator[Record]:
    line = lineage(folder)
    if branch:
        on = line.branch(size)
    kept = [_both(strand.kept, on) for strand in line.strands]
    ended = _ended(line, kept, size, after) if skip_deltas else frozenset()
    blobs = blobs_of(folder)
    last = after
    for strand, here in zip(line.strands, kept, strict=True):
        sieve = Sieve(ended, here)
        for piece in _pieces(strand, line, last, size):
            for record in sifted(piece, blobs, sieve, last):
                last = record.seq
                yield record


def _both(kept: Sequence[Stretch] | None, branch: Sequence[Stretch] | None) -> tuple[Stretch, ...] | None:
    """What lies on both. The branch never holds a part of its parents' logs that is not kept, but goes beyond them."""
    if branch is None or kept is None:
        return tuple(branch) if branch is not None else (None if kept is None else tuple(kept))
    return cut(branch, kept[-1].last)


def _ended(
    line: Lineage, kept: Sequence[Sequence[Stretch] | None], size: int, after: int
) -> frozenset[bytes]:
    """The requests that have ended in what is read."""
    found: set[bytes] = set()
    for strand, here in zip(line.strands, kept, strict=True):
        for piece in _pieces(strand, line, after, size):
            found |= ended_requests(piece, Sieve(kept=here))
    return frozenset(found)


def _pieces(strand: Strand, line: Lineage, after: int, size: int) -> Iterator[bytes]:
    """A strand's bytes from about `after` on. A parent's end where it was forked, or where its file is gone by now."""
    if strand is line.own:
        yield from pieces(strand.folder, after=after, size=size)
        return
    top = strand.last
    if after >= top:
        return
    with (strand.folder / EVENTS).open("rb") as log:
        end = offset_before(log, os.fstat(log.fileno()).st_size, top)
    yield from pieces(strand.folder, after=after, size=end + _BEHIND)


def read_tail(folder: Path, count: int = 200, *, max_bytes: int = TAIL_BYTES) -> list[Record]:
    """The last records, at most `count`, from at most the last `max_bytes` of the log (and of each of its parents')."""
    if count <= 0:
        return []
    blobs = blobs_of(folder)
    data = tail_bytes(folder / EVENTS, max_bytes)
    found = list(records(data, blobs))[-count:]
    if len(found) < count and len(data) == (folder / EVENTS).stat().st_size:
        for strand in reversed(lineage(folder).elders):
            before = list(sifted(_end_of(strand, max_bytes), blobs, Sieve(kept=strand.kept)))
            found = [*before, *found][-count:]
    return found


def read_end(folder: Path, count: int) -> list[Record]:
    """The last `count` records of more than an opening and a closing, and those between and behind them.

    So what was last said is among them however often the session was opened since; from at most the last MiB.
    """
    found = read_tail(folder, _END_BYTES, max_bytes=_END_BYTES)
    told = [
        index
        for index, record in enumerate(found)
        if not isinstance(record, Envelope) or not isinstance(record.payload, _OPENING)
    ]
    return found[told[-count] :] if 0 < count <= len(told) else found


def _end_of(strand: Strand, size: int) -> bytes:
    """The last bytes of what is kept of a parent's log, and a little of what stands behind it."""
    with (strand.folder / EVENTS).open("rb") as log:
        end = offset_before(log, os.fstat(log.fileno()).st_size, strand.last)
        start = max(0, end - size)
        log.seek(start)
        data = log.read(end + _BEHIND - start)
    return data if start == 0 else data[data.find(b"\n") + 1 :]


class LogTail:
    """Reads on from where it stopped, while another process writes. `poll` costs the new bytes only."""

    def __init__(self, folder: Path, after: int = -1) -> None:
        self._folder = folder
        self._blobs = blobs_of(folder)
        self._after = after
        self._offset = 0
        self._file: tuple[int, int] | None = None

    def poll(self) -> list[Record]:
        """The whole records that have come since the last call; a half line waits for the next one."""
        older = self._older() if self._file is None else []
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
            new = [*older, *records(data[:end], self._blobs, after=self._after)]
        if new:
            self._after = new[-1].seq
        return new

    def _older(self) -> list[Record]:
        """What the session's parents hold of its history."""
        found: list[Record] = []
        for strand in lineage(self._folder).elders:
            data = b"".join(pieces(strand.folder, after=self._after))
            found += sifted(data, self._blobs, Sieve(kept=strand.kept), self._after)
            self._after = found[-1].seq if found else self._after
        return found


def tail_bytes(path: Path, size: int) -> bytes:
    """The last bytes of a log, from the beginning of a line on."""
    with path.open("rb") as log:
        start = max(0, log.seek(0, os.SEEK_END) - size)
        log.seek(start)
        data = log.read()
    return data if start == 0 else data[data.find(b"\n") + 1 :]
