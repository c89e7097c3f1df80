"""A forked session's history: its parent's events up to the fork, and its own.

Invariant: a fork refers to its parent's log by (session, seq, checksum of that line) and copies nothing; where the
parent is gone or another, what is the fork's own is still read, and the fault says what is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tui_agent.errors import StoreError
from tui_agent.folds.session.branches import Move, Stretch, on_branch
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionForked
from tui_agent.store.blobs import BlobStore, Redacting
from tui_agent.store.chunks import first_line, line_at
from tui_agent.store.files import FileOps
from tui_agent.store.head_moves import NEWEST, branch_of, moves
from tui_agent.store.line import decode
from tui_agent.store.names import is_session_id

CRC_PLACE = slice(-10, -2)
"""Where the checksum stands in a line without its newline."""


@dataclass(frozen=True, slots=True)
class Strand:
    """A part of a history: what lies in the log of `folder`, and of it only the stretches `kept` (None: all)."""

    folder: Path
    kept: tuple[Stretch, ...] | None = None

    @property
    def last(self) -> int:
        """The newest event of what is kept."""
        return self.kept[-1].last if self.kept else NEWEST


@dataclass(frozen=True, slots=True)
class Lineage:
    """The strands of a session's history, the oldest first, its own last. `fault` says why older ones are missing."""

    strands: tuple[Strand, ...]
    moved: tuple[Move, ...] = ()
    """The moves of the head in all strands but the own, as far as they are kept."""
    fault: StoreError | None = None

    @property
    def own(self) -> Strand:
        """What lies in the session's own log."""
        return self.strands[-1]

    @property
    def elders(self) -> tuple[Strand, ...]:
        """What lies in the logs of its parents."""
        return self.strands[:-1]

    def branch(self, size: int | None = None) -> tuple[Stretch, ...] | None:
        """The stretches of the current branch (None: everything), of an own log of `size` bytes. Raises OSError."""
        return branch_of((*self.moved, *moves(self.own.folder, size=size)))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fork comes from: the event `at_seq` of the log in `folder`. `parent` is the session as the log names it."""

    folder: Path
    parent: str
    at_seq: int
    crc: str


def origin_of(folder: Path) -> Origin | None:
    """Where a session was forked from; None where its log begins itself."""
    try:
        record = decode(first_line(folder))
    except OSError:
        return None
    payload = record.payload if isinstance(record, Envelope) else None
    if not isinstance(payload, SessionForked):
        return None
    parent = payload.parent_session
    place = folder.parent / parent if is_session_id(parent) else folder
    return Origin(place, parent, payload.at_seq, payload.parent_crc)


def lineage(folder: Path) -> Lineage:
    """What a session's history is made of. Never raises: a fault is told in what it gives."""
    chain, fault = _chain(folder)
    if not chain:
        return Lineage((Strand(folder),), fault=fault)
    found: list[Move] = []
    kept: tuple[Stretch, ...] = ()
    for origin in reversed(chain):
        found += moves(origin.folder)
        kept = branch_of(found, origin.at_seq) or (Stretch(0, origin.at_seq),)
        found = [move for move in found if on_branch(move.seq, kept)]
    elders = (Strand(origin.folder, cut(kept, origin.at_seq)) for origin in reversed(chain))
    return Lineage((*elders, Strand(folder)), tuple(found), fault)


def stands(folder: Path, seq: int) -> bool:
    """Whether a session's history holds this event, whole. Only the neighbourhood of its place is read."""
    strands = (one for one in lineage(folder).strands if one.kept is None or on_branch(seq, one.kept))
    return any(line_at(strand.folder, seq) is not None for strand in strands)


def cut(kept: Sequence[Stretch], last: int) -> tuple[Stretch, ...]:
    """What of these stretches ends at `last`: a parent may go on with numbers that its fork uses, too."""
    return tuple(Stretch(one.first, min(one.last, last)) for one in kept if one.first <= last)


def _chain(folder: Path) -> tuple[list[Origin], StoreError | None]:
    """Where a session was forked from, and where that was, up to a log that begins itself or a parent that is not it."""
    chain: list[Origin] = []
    child, before = folder, None
    while (origin := origin_of(child)) is not None:
        fault = _fault(child, origin, before)
        if fault is not None:
            return chain, fault
        chain.append(origin)
        child, before = origin.folder, origin.at_seq
    return chain, None


def _fault(child: Path, origin: Origin, before: int | None) -> StoreError | None:
    """Why an origin is not what it should be. A parent forks off before its child does, so no chain is endless."""
    parent = origin.parent
    if not is_session_id(parent) or (before is not None and origin.at_seq >= before):
        return _broken(child, parent, "which cannot be")
    try:
        line = line_at(origin.folder, origin.at_seq)
    except OSError:
        return _broken(child, parent, "which is not there")
    if line is None:
        return _broken(child, parent, f"whose event {origin.at_seq} is missing or damaged")
    if line[CRC_PLACE].decode("ascii", "replace") != origin.crc:
        return _broken(child, parent, f"whose event {origin.at_seq} is not the one it was forked from")
    return None


def _broken(child: Path, parent: str, why: str) -> StoreError:
    return StoreError(
        f"The session {child.name} was forked from {parent}, {why}.",
        hint=f"Bring the folder of {parent} back beside it; `sessions show {child.name}` shows what is its own.",
    )


def elder_blobs(folder: Path) -> Sequence[Path]:
    """The blob folders of a session's parents."""
    chain, _ = _chain(folder)
    return [origin.folder / "blobs" for origin in chain]


def blobs_of(folder: Path, *, redactor: Redacting | None = None, ops: FileOps | None = None) -> BlobStore:
    """The blobs of a session: its own and, for reading, its parents'."""
    return BlobStore(folder / "blobs", redactor=redactor, ops=ops, elders=cache(partial(elder_blobs, folder)))
