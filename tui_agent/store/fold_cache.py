"""Cache of a fold beside its log, so that a long log need not be read from the start.

Invariant: derived, and used only if it matches: it names the line it covers by offset, `seq` and checksum. If
the log has another line there, or a byte of the file is wrong, it is ignored. Deleting it costs only time.
"""

import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tui_agent import __version__
from tui_agent.protocol.envelope import Record
from tui_agent.store.chunks import pieces_from
from tui_agent.store.files import FileOps, write_file
from tui_agent.store.line import LINE_LIMIT, intact
from tui_agent.store.lineage import CRC_PLACE, blobs_of
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import NOTHING_YET, Sieve, Survey, ended_requests, seq_of, sifted

KEPT: Final = "fold.json"
LONG: Final = 20_000
"""Number of events from which caching a fold is worthwhile."""
_HEAD_BYTES: Final = 4_096
_MOVED: Final = b'"payload":{"kind":"session.head_moved"'


class Place(NamedTuple):
    """The end of a line of the log: event `seq` with its checksum, byte `offset` and line number `lines`."""

    seq: int
    offset: int
    lines: int
    crc: str


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line of the cache file: product, session, place and checksums."""

    product: str
    format: int
    session: str
    place: Place
    size: int
    crc: int
    own: int = 0
    """Checksum of this line, computed with 0 in this field."""

    def checksum(self) -> int:
        """Return the expected value of `own`."""
        return zlib.crc32(to_json(asdict(replace(self, own=0))))


_HEAD_ADAPTER = TypeAdapter(_Head)


def keep(folder: Path, place: Place, format: int, data: bytes, ops: FileOps) -> None:
    """Write a fold as of one line of the log, replacing the previous one. Raises OSError and leaves the old
    one or none.
    """
    head = _Head(__version__, format, folder.name, place, len(data), zlib.crc32(data))
    head = replace(head, own=head.checksum())
    write_file(ops, folder / KEPT, to_json(asdict(head)) + b"\n" + data, sync=False)


def known_of(folder: Path) -> Survey:
    """Return the survey implied by the cached fold: the log was read and checked up to its line."""
    try:
        with (folder / KEPT).open("rb") as file:
            head = _read_head(file, folder)
        if head is None or not _matches_log(folder, head.place):
            return NOTHING_YET
    except OSError:
        return NOTHING_YET
    return Survey(head.place.offset, head.place.seq, (), lines=head.place.lines)


def kept(folder: Path, format: int) -> tuple[Place, bytes] | None:
    """Return the cached fold and its place in the log; None if there is no usable one."""
    try:
        with (folder / KEPT).open("rb") as file:
            head = _read_head(file, folder)
            if head is None or head.product != __version__ or head.format != format:
                return None
            data = file.read(head.size + 1)
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


def _matches_log(folder: Path, place: Place) -> bool:
    """Return True if the log has exactly this line at this place."""
    with (folder / EVENTS).open("rb") as log:
        start = max(0, place.offset - LINE_LIMIT)
        log.seek(start)
        data = log.read(place.offset - start)
    if len(data) != place.offset - start or not data.endswith(b"\n"):
        return False
    line = data[data.rfind(b"\n", 0, -1) + 1 : -1]
    return seq_of(line) == place.seq and intact(line) and line[CRC_PLACE] == place.crc.encode()


def rest(folder: Path, place: Place, size: int) -> Iterator[Record] | None:
    """Return the records after a line up to byte `size`, without the deltas of finished requests.

    None if the head was moved in between, because the cached fold is then not on the current branch. Raises
    OSError.
    """
    ended: set[bytes] = set()
    for piece in pieces_from(folder, place.offset, size):
        if _MOVED in piece:
            return None
        ended |= ended_requests(piece)
    return _read_after(folder, place, size, Sieve(frozenset(ended)))


def _read_after(folder: Path, place: Place, size: int, sieve: Sieve) -> Iterator[Record]:
    blobs, last = blobs_of(folder), place.seq
    for piece in pieces_from(folder, place.offset, size):
        for record in sifted(piece, blobs, sieve, last):
            last = record.seq
            yield record
