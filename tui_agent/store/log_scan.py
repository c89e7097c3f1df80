"""Splitting of a log's bytes into records, damaged lines and an incomplete last line.

Invariant: a bad line never stops reading.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Stretch, is_on_branch
from tui_agent.protocol.envelope import SCHEMA_VERSION, Record
from tui_agent.store.blobs import BlobStore
from tui_agent.store.log_line import decode_line, is_intact, line_version, pick_foreign_version, salvage_lines

_SEQ = re.compile(rb'\{"v":\d+,"seq":(\d+),')
_CURRENT_VERSION = b'{"v":%d,' % SCHEMA_VERSION
_PAYLOAD = b'"payload":'
_REQUEST = b'"request_id":"'
_DELTA = b'{"kind":"model.delta",'
_REQUEST_ENDS = (b'{"kind":"model.responded",', b'{"kind":"model.failed",')


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of checking the checksums of a log's lines.

    - `good_end`: offset after the last intact line.
    - `bad_lines`: numbers (from 1) of the damaged lines before `good_end`.
    - `version`: version of the log format in these lines. If the lines have several versions, one that this release
      cannot read.
    - `lines`: number of lines before `good_end`.
    """

    good_end: int
    last_seq: int
    bad_lines: tuple[int, ...]
    version: int = SCHEMA_VERSION
    lines: int = 0


EMPTY_SURVEY = Survey(0, -1, ())


def split_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield every whole line as (offset after the line, line without its newline)."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield end + 1, data[start:end]
        start = end + 1


def survey_bytes(data: bytes) -> Survey:
    """Check the checksum of every line in the bytes of a log."""
    return survey_lines(line for _, line in split_lines(data))


def survey_lines(checked_lines: Iterable[bytes], known: Survey = EMPTY_SURVEY) -> Survey:
    """Check the checksums of a log's lines, given without newlines. `known`: the result for all earlier lines."""
    good_end, last_seq, good_lines = known.good_end, known.last_seq, known.lines
    bad_lines: list[int] = []
    settled, end = 0, good_end
    version = known.version
    for number, line in enumerate(checked_lines, start=known.lines + 1):
        end += len(line) + 1
        is_whole = is_intact(line)
        seq = _decoded_seq(line) if is_whole else None
        if is_whole and not line.startswith(_CURRENT_VERSION):
            version = pick_foreign_version((version, line_version(line)))
        if seq is None:
            # A damaged line can contain whole events, for example after a line that was written only in part.
            bad_lines.append(number)
            for piece in salvage_lines(line):
                seq = read_seq(piece)
        if seq is not None and seq > last_seq:
            good_end, last_seq, settled, good_lines = end, seq, len(bad_lines), number
    # Bad lines after the last good one are not reported: they are the torn end, which the caller cuts off.
    return Survey(good_end, last_seq, tuple(bad_lines[:settled]), version, good_lines)


def read_seq(line: bytes) -> int | None:
    """Return the `seq` of a line of the log, or None if the line does not have the current layout."""
    match = _SEQ.match(line)
    return int(match.group(1)) if match else None


def intact_seq(line: bytes) -> int | None:
    """Return the `seq` of an intact line of the log; None for a damaged line."""
    return _decoded_seq(line) if is_intact(line) else None


def _decoded_seq(line: bytes) -> int | None:
    """Return the `seq` of an intact log line, even if its log format has another version."""
    seq = read_seq(line)
    if seq is None and (record := decode_line(line)) is not None:
        seq = record.seq
    return seq


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """A filter for records of a log.

    - `ended_requests`: ids of model requests. The streamed pieces of their answers are excluded.
    - `stretches`: ranges of event numbers. Events outside of them are excluded.
    """

    ended_requests: frozenset[bytes] = frozenset()
    stretches: Sequence[Stretch] | None = None

    def skips(self, line: bytes, after: int) -> bool:
        """Return True if the filter excludes this line of the log, or if its `seq` is at most `after`."""
        if self.ended_requests and _is_delta(line) and _request_id(line, _DELTA) in self.ended_requests:
            return True
        if after < 0 and self.stretches is None:
            return False
        seq = read_seq(line)
        return seq is not None and (seq <= after or not self.includes(seq))

    def includes(self, seq: int) -> bool:
        """Return True if an event with this number lies in the ranges of the filter."""
        return self.stretches is None or is_on_branch(seq, self.stretches)


NO_FILTER = RecordFilter()


def read_records_from(
    data: bytes, blobs: BlobStore, *, after: int = -1, skip_deltas: bool = False
) -> Iterator[Record]:
    """Yield the records of whole lines with `seq` > `after`, in order. Damaged lines are skipped.

    `skip_deltas`: True to leave out the streamed pieces of finished answers.
    """
    record_filter = RecordFilter(find_ended_requests(data)) if skip_deltas else NO_FILTER
    return filter_records(data, blobs, record_filter, after)


def filter_records(
    data: bytes, blobs: BlobStore, record_filter: RecordFilter, after: int = -1
) -> Iterator[Record]:
    """Yield the records with `seq` > `after` that pass the filter. Partial lines are skipped."""
    for _, record in filter_lines(data, blobs, record_filter, after):
        yield record


def filter_lines(
    data: bytes, blobs: BlobStore | None, record_filter: RecordFilter, after: int = -1
) -> Iterator[tuple[bytes, Record]]:
    """Yield the records of `filter_records`, each as (line without its newline, record)."""
    last = after
    complete = data.split(b"\n")
    complete.pop()  # the unfinished last line
    for line in complete:
        if record_filter.skips(line, after):
            continue
        record = decode_line(line, blobs)
        pieces = (
            [(line, record)]
            if record
            else [(piece, decode_line(piece, blobs)) for piece in salvage_lines(line)]
        )
        # Numbers only increase, so an event that is stored twice is yielded once.
        for raw, event in pieces:
            if event is not None and event.seq > last and record_filter.includes(event.seq):
                last = event.seq
                yield raw, event


def find_ended_requests(data: bytes, record_filter: RecordFilter = NO_FILTER) -> frozenset[bytes]:
    """Return the ids of all ended requests.

    A request has ended if an intact line contains its answer, or a failure that was not retried.
    """
    # If a request's answer is on a damaged line, its streamed pieces are the only copy of the answer.
    request_ids = {
        request
        for closing in _REQUEST_ENDS
        for line in lines_with(data, _PAYLOAD + closing)
        if (request := _request_id(line, closing)) is not None
        and not record_filter.skips(line, -1)
        and is_intact(line)
    }
    return frozenset(request_ids)


def lines_with(data: bytes, mark: bytes) -> Iterator[bytes]:
    """Yield every whole line that contains `mark`."""
    position = data.find(mark)
    while position >= 0 and (end := data.find(b"\n", position)) >= 0:
        yield data[data.rfind(b"\n", 0, position) + 1 : end]
        position = data.find(mark, end)


def _is_delta(line: bytes) -> bool:
    return line.startswith(_DELTA, line.find(_PAYLOAD) + len(_PAYLOAD))


def _request_id(line: bytes, kind: bytes) -> bytes | None:
    """Return the request id in a line of the log, or None if the payload does not begin with `kind`."""
    start = line.find(_PAYLOAD) + len(_PAYLOAD)
    if start < len(_PAYLOAD) or not line.startswith(kind, start):
        return None
    start = line.find(_REQUEST, start) + len(_REQUEST)
    return line[start : line.find(b'"', start)]
