"""Cache of the state computed from a session's log (a *fold*). With a cached state, only the end of the log must be read.

Invariant: a cache that is damaged or does not match the log is ignored.
"""

import zlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tui_agent import __version__
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Record
from tui_agent.store.file_ops import FileOps, write_file
from tui_agent.store.lineage import CRC_SLICE, open_blobs
from tui_agent.store.log_chunks import read_chunk_range
from tui_agent.store.log_line import MAX_LINE_BYTES, is_intact
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import (
    EMPTY_SURVEY,
    RecordFilter,
    Survey,
    filter_records,
    find_ended_requests,
    read_seq,
)

CACHE_FILE: Final = "fold.json"
MIN_EVENTS: Final = 20_000
"""Minimum number of events in a log whose computed state is cached."""
_HEAD_BYTES: Final = 4_096
_MOVED: Final = b'"payload":{"kind":"session.head_moved"'


class LinePosition(NamedTuple):
    """The position just after a line of the log.

    - `seq`, `crc`: number and checksum of the line's event.
    - `offset`, `lines`: number of bytes and of lines up to this position.
    """

    seq: int
    offset: int
    lines: int
    crc: str


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line of the cache file. `product`: the version of tui-agent that wrote the file."""

    product: str
    format: int
    session: str
    place: LinePosition
    size: int
    crc: int
    own: int = 0
    """Checksum of this first line, computed with 0 in this field."""

    def checksum(self) -> int:
        return zlib.crc32(to_json(asdict(replace(self, own=0))))


_HEAD_ADAPTER = TypeAdapter(_Head)


def save_fold(folder: Path, place: LinePosition, format_version: int, data: bytes, ops: FileOps) -> None:
    """Cache the state computed from the log up to the line at `place`.

    `data` is the state, and `format_version` the version of its format. Raise `OSError` if saving fails.
    """
    head = _Head(__version__, format_version, folder.name, place, len(data), zlib.crc32(data))
    head = replace(head, own=head.checksum())
    # Not synced: a cache that a power failure damages is noticed by its checksums, and is then computed again.
    write_file(ops, folder / CACHE_FILE, to_json(asdict(head)) + b"\n" + data, sync=False)


def load_survey(folder: Path) -> Survey:
    """Return the cached result of an earlier check of the log.

    The result covers the log up to the cached position, so these lines need no new check. Without a valid cache, return
    `EMPTY_SURVEY`.
    """
    try:
        with (folder / CACHE_FILE).open("rb") as file:
            head = _read_head(file, folder)
        if head is None or not _matches_log(folder, head.place):
            return EMPTY_SURVEY
    except OSError:
        return EMPTY_SURVEY
    return Survey(head.place.offset, head.place.seq, (), lines=head.place.lines)


def load_fold(folder: Path, format_version: int) -> tuple[LinePosition, bytes] | None:
    """Return the cached state and its position in the log.

    Return None if the cache is missing, does not match the log, or has another format.
    """
    try:
        with (folder / CACHE_FILE).open("rb") as file:
            head = _read_head(file, folder)
            if head is None or head.product != __version__ or head.format != format_version:
                return None
            data = file.read(head.size + 1)  # one byte more, to notice a file that is too long
        if len(data) != head.size or zlib.crc32(data) != head.crc or not _matches_log(folder, head.place):
            return None
    except OSError:
        return None
    return head.place, data


def _read_head(file: BinaryIO, folder: Path) -> _Head | None:
    line = file.readline(_HEAD_BYTES)
    try:
        head = _HEAD_ADAPTER.validate_json(line)
    except ValidationError:
        return None
    return head if head.session == folder.name and head.own == head.checksum() else None


def _matches_log(folder: Path, place: LinePosition) -> bool:
    """Return True if a line with the number and the checksum of `place` ends at the offset of `place`."""
    with (folder / EVENTS_FILE).open("rb") as log:
        start = max(0, place.offset - MAX_LINE_BYTES)
        log.seek(start)
        data = log.read(place.offset - start)
    if len(data) != place.offset - start or not data.endswith(b"\n"):
        return False
    line = data[data.rfind(b"\n", 0, -1) + 1 : -1]
    return read_seq(line) == place.seq and is_intact(line) and line[CRC_SLICE] == place.crc.encode()


def read_records_after(folder: Path, place: LinePosition, size: int) -> Iterator[Record] | None:
    """Return the records between a position of the log and byte `size`. Streamed pieces of finished answers are left
    out.

    If one of these records moved the session to an earlier event, return None. Raise `OSError` if the log cannot be
    read.
    """
    # After such a move, the cached state can contain undone events.
    ended: set[bytes] = set()
    for piece in read_chunk_range(folder, place.offset, size):
        if _MOVED in piece:
            return None
        ended |= find_ended_requests(piece)
    return _read_after(folder, place, size, RecordFilter(frozenset(ended)))


def _read_after(
    folder: Path, place: LinePosition, size: int, record_filter: RecordFilter
) -> Iterator[Record]:
    blobs, last = open_blobs(folder), place.seq
    for piece in read_chunk_range(folder, place.offset, size):
        for record in filter_records(piece, blobs, record_filter, last):
            last = record.seq
            yield record
