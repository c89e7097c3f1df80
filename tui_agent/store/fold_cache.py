"""A fold that is kept beside the log it was made of, so that a long log need not be read to its beginning.

Invariant: derived and never trusted further than it fits: it names the line it stands behind, by place, `seq` and
checksum; where the log has another line there, or a byte of the file is wrong, there is none. Deleting it costs time.
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
"""Events from which on a fold is worth keeping."""
_HEAD_BYTES: Final = 4_096
_MOVED: Final = b'"payload":{"kind":"session.head_moved"'


class Place(NamedTuple):
    """A line of the log: the event `seq` with its checksum, ending at the byte `offset` as line number `lines`."""

    seq: int
    offset: int
    lines: int
    crc: str


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line of the file: whose it is, where it stands, and what follows."""

    product: str
    format: int
    session: str
    place: Place
    size: int
    crc: int
    own: int = 0
    """The checksum of this line without it."""

    def sum(self) -> int:
        """What `own` has to be."""
        return zlib.crc32(to_json(asdict(replace(self, own=0))))


_HEADS = TypeAdapter(_Head)


def keep(folder: Path, place: Place, format: int, data: bytes, ops: FileOps) -> None:
    """Write a fold as of a line of the log, in place of the one before. Raises OSError: then there is none, or that one."""
    head = _Head(__version__, format, folder.name, place, len(data), zlib.crc32(data))
    head = replace(head, own=head.sum())
    write_file(ops, folder / KEPT, to_json(asdict(head)) + b"\n" + data, sync=False)


def known_of(folder: Path) -> Survey:
    """What is known of a log by the fold that is kept beside it: it was read up to there, and its damage told."""
    try:
        with (folder / KEPT).open("rb") as file:
            head = _head(file, folder)
        if head is None or not _stands(folder, head.place):
            return NOTHING_YET
    except OSError:
        return NOTHING_YET
    return Survey(head.place.offset, head.place.seq, (), lines=head.place.lines)


def kept(folder: Path, format: int) -> tuple[Place, bytes] | None:
    """The kept fold and its line; None where there is none that can be used."""
    try:
        with (folder / KEPT).open("rb") as file:
            head = _head(file, folder)
            if head is None or head.product != __version__ or head.format != format:
                return None
            data = file.read(head.size + 1)
        if len(data) != head.size or zlib.crc32(data) != head.crc or not _stands(folder, head.place):
            return None
    except OSError:
        return None
    return head.place, data


def _head(file: BinaryIO, folder: Path) -> _Head | None:
    line = file.readline(_HEAD_BYTES)
    try:
        head = _HEADS.validate_json(line)
    except ValidationError:
        return None
    return head if head.session == folder.name and head.own == head.sum() else None


def _stands(folder: Path, place: Place) -> bool:
    """Whether the log has that line at that place, whole."""
    with (folder / EVENTS).open("rb") as log:
        start = max(0, place.offset - LINE_LIMIT)
        log.seek(start)
        data = log.read(place.offset - start)
    if len(data) != place.offset - start or not data.endswith(b"\n"):
        return False
    line = data[data.rfind(b"\n", 0, -1) + 1 : -1]
    return seq_of(line) == place.seq and intact(line) and line[CRC_PLACE] == place.crc.encode()


def rest(folder: Path, place: Place, size: int) -> Iterator[Record] | None:
    """The records behind a line, up to the byte `size`, without the deltas of requests that have ended.

    None where the head was moved there: what is kept is then no longer the branch. Raises OSError.
    """
    ended: set[bytes] = set()
    for piece in pieces_from(folder, place.offset, size):
        if _MOVED in piece:
            return None
        ended |= ended_requests(piece)
    return _behind(folder, place, size, Sieve(frozenset(ended)))


def _behind(folder: Path, place: Place, size: int, sieve: Sieve) -> Iterator[Record]:
    blobs, last = blobs_of(folder), place.seq
    for piece in pieces_from(folder, place.offset, size):
        for record in sifted(piece, blobs, sieve, last):
            last = record.seq
            yield record
