"""A log's bytes split into records, damaged lines and a torn tail.

Invariant: a bad line never ends the reading; `seq` only grows in what is given back.
"""

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.folds.session.branches import Stretch, on_branch
from tui_agent.protocol.envelope import SCHEMA_VERSION, Record
from tui_agent.store.blobs import BlobStore
from tui_agent.store.line import decode, intact, salvage, version_of

_SEQ = re.compile(rb'\{"v":\d+,"seq":(\d+),')
_SEQ_BYTES = 64
_OURS = b'{"v":%d,' % SCHEMA_VERSION
_PAYLOAD = b'"payload":'
_REQUEST = b'"request_id":"'
_DELTA = b'{"kind":"model.delta",'
_CLOSING = (b'{"kind":"model.responded",', b'{"kind":"model.failed",')


@dataclass(frozen=True, slots=True)
class Survey:
    """What a log's bytes hold, without parsing them: `good_end` is where the last whole line ends.

    `lines` stand before it. `bad_lines` count from 1; what lies behind `good_end` is torn and none of them. `version` is
    the highest that any whole line was written in.
    """

    good_end: int
    last_seq: int
    bad_lines: tuple[int, ...]
    version: int = SCHEMA_VERSION
    lines: int = 0


NOTHING_YET = Survey(0, -1, ())


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every whole line without its newline, with the offset behind it. A last piece without newline is left out."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield end + 1, data[start:end]
        start = end + 1


def survey(data: bytes) -> Survey:
    """Check every line's checksum."""
    return survey_lines(line for _, line in lines(data))


def survey_lines(found: Iterable[bytes], known: Survey = NOTHING_YET) -> Survey:
    """Check the checksum of every line of a log, which come without their newlines; `known` is what stands before."""
    good_end, last_seq, good_lines = known.good_end, known.last_seq, known.lines
    bad: list[int] = []
    settled, end = 0, good_end
    version = known.version
    for number, line in enumerate(found, start=known.lines + 1):
        end += len(line) + 1
        whole = intact(line)
        seq = _any_seq(line) if whole else None
        if whole and not line.startswith(_OURS):
            version = max(version, version_of(line))
        if seq is None:
            bad.append(number)
            for piece in salvage(line):
                seq = seq_of(piece)
        if seq is not None and seq > last_seq:
            good_end, last_seq, settled, good_lines = end, seq, len(bad), number
    return Survey(good_end, last_seq, tuple(bad[:settled]), version, good_lines)


def seq_of(line: bytes) -> int | None:
    """The `seq` of a line that this product wrote."""
    match = _SEQ.match(line)
    return int(match.group(1)) if match else None


def end_of(path: Path, seq: int) -> int:
    """The offset behind the last line of a log up to this `seq`, by bisection of its bytes; 0 where it has none."""
    size = path.stat().st_size
    if size == 0:
        return 0
    with path.open("rb") as log, mmap.mmap(log.fileno(), size, access=mmap.ACCESS_READ) as data:
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            if _is_later(data, _line_from(data, middle), seq):
                high = middle
            else:
                low = middle + 1
        return _line_from(data, low)


def _line_from(data: mmap.mmap, offset: int) -> int:
    """Where the first line begins at or behind an offset; the end where none does."""
    end = data.find(b"\n", offset - 1) if offset else -1
    return 0 if not offset else end + 1 if end >= 0 else len(data)


def _is_later(data: mmap.mmap, start: int, seq: int) -> bool:
    while start < len(data):
        found = seq_of(data[start : start + _SEQ_BYTES])
        if found is not None:
            return found > seq
        start = _line_from(data, start + 1)
    return True


def order_of(line: bytes) -> int | None:
    """The `seq` of a line that is whole; None for a damaged one."""
    return _any_seq(line) if intact(line) else None


def _any_seq(line: bytes) -> int | None:
    """The `seq` of a whole line, also of one that another version laid out differently."""
    seq = seq_of(line)
    if seq is None and (record := decode(line)) is not None:
        seq = record.seq
    return seq


@dataclass(frozen=True, slots=True)
class Sieve:
    """What a reader leaves out: deltas of requests that have `ended`, and what is not on the stretches `kept`."""

    ended: frozenset[bytes] = frozenset()
    kept: Sequence[Stretch] | None = None

    def skips(self, line: bytes, after: int) -> bool:
        """Whether a line need not be decoded."""
        if self.ended and _is_delta(line) and _request(line, _DELTA) in self.ended:
            return True
        if after < 0 and self.kept is None:
            return False
        seq = seq_of(line)
        return seq is not None and (seq <= after or not self.keeps(seq))

    def keeps(self, seq: int) -> bool:
        """Whether a record is on the stretches."""
        return self.kept is None or on_branch(seq, self.kept)


EVERYTHING = Sieve()


def records(data: bytes, blobs: BlobStore, *, after: int = -1, skip_deltas: bool = False) -> Iterator[Record]:
    """The records in whole lines with `seq` > `after`, in order; damaged lines are stepped over.

    With `skip_deltas` the deltas of requests that have ended are left out: their text stands in the answer.
    """
    sieve = Sieve(ended_requests(data)) if skip_deltas else EVERYTHING
    return sifted(data, blobs, sieve, after)


def sifted(data: bytes, blobs: BlobStore, sieve: Sieve, after: int = -1) -> Iterator[Record]:
    """The records in whole lines with `seq` > `after` that a sieve lets through."""
    for _, record in sifted_lines(data, blobs, sieve, after):
        yield record


def sifted_lines(
    data: bytes, blobs: BlobStore | None, sieve: Sieve, after: int = -1
) -> Iterator[tuple[bytes, Record]]:
    """The same, each with its line as it stands there (without the newline)."""
    last = after
    whole = data.split(b"\n")
    whole.pop()  # what has no newline behind it
    for line in whole:
        if sieve.skips(line, after):
            continue
        record = decode(line, blobs)
        pieces = [(line, record)] if record else [(piece, decode(piece, blobs)) for piece in salvage(line)]
        for raw, found in pieces:
            if found is not None and found.seq > last and sieve.keeps(found.seq):
                last = found.seq
                yield raw, found


def ended_requests(data: bytes, kept: Sieve = EVERYTHING) -> frozenset[bytes]:
    """The ids of all requests with an answer or a final failure that can be read: where it is damaged, the deltas are
    all that is left of it."""
    found = {
        request
        for closing in _CLOSING
        for line in _lines_with(data, _PAYLOAD + closing)
        if (request := _request(line, closing)) is not None and not kept.skips(line, -1) and intact(line)
    }
    return frozenset(found)


def _lines_with(data: bytes, mark: bytes) -> Iterator[bytes]:
    """The whole lines in which these bytes stand."""
    at = data.find(mark)
    while at >= 0 and (end := data.find(b"\n", at)) >= 0:
        yield data[data.rfind(b"\n", 0, at) + 1 : end]
        at = data.find(mark, end)


def _is_delta(line: bytes) -> bool:
    return line.startswith(_DELTA, line.find(_PAYLOAD) + len(_PAYLOAD))


def _request(line: bytes, kind: bytes) -> bytes | None:
    """The request of a line whose payload begins as `kind` says. Quotes inside strings are escaped, and the
    envelope's own fields come before any JSON value, so the first match is the payload itself."""
    start = line.find(_PAYLOAD) + len(_PAYLOAD)
    if start < len(_PAYLOAD) or not line.startswith(kind, start):
        return None
    start = line.find(_REQUEST, start) + len(_REQUEST)
    return line[start : line.find(b'"', start)]
