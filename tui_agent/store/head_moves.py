"""Where a log's head was moved, found by a search of its bytes, so that a branch is read without the rest.

Invariant: the stretches say of every record what `folds.base.branch` says of it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tui_agent.folds.session.branches import Move, Stretch, stretches
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.store.chunks import lines_with
from tui_agent.store.line import decode, salvage

NEWEST: Final = 1 << 62
"""Behind every event."""
_MOVED = b'"payload":{"kind":"session.head_moved"'


def moves(folder: Path, *, size: int | None = None) -> list[Move]:
    """Every move of the head in one log, up to the byte `size`. Raises OSError."""
    found: list[Move] = []
    last = -1
    for line in lines_with(folder, _MOVED, size=size):
        for record in _whole(line):
            if record.seq > last:
                last = record.seq
                found.extend(_move(record))
    return found


def _whole(line: bytes) -> Iterator[Record]:
    record = decode(line)
    pieces = [record] if record is not None else [decode(piece) for piece in salvage(line)]
    return (piece for piece in pieces if piece is not None)


def _move(record: Record) -> Iterator[Move]:
    payload = record.payload if isinstance(record, Envelope) else None
    if isinstance(payload, SessionHeadMoved):
        yield Move(record.seq, record.at, payload.to_seq, payload.from_seq, payload.reason, payload.files)


def branch_of(found: Sequence[Move], last: int = NEWEST) -> tuple[Stretch, ...] | None:
    """The stretches of the branch that ends at `last`; None where all up to there is on it."""
    return stretches(found, last) if any(move.seq <= last for move in found) else None
