"""History of a forked session: its parents' events up to the fork, then its own.

Invariant: a fork's own events are readable even if its parent is missing or has changed.
"""
# A fork refers to an event of its parent's log by session, seq and checksum, and copies nothing.

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_agent.errors import StoreError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.projection import fold
from tui_agent.folds.session.branches import Branches, HeadMove, Stretch, is_on_branch, stretches
from tui_agent.protocol.events.session import SessionForked, SessionHeadMoved
from tui_agent.protocol.ids import is_session_id
from tui_agent.store.blobs import BlobStore
from tui_agent.store.file_ops import FileOps
from tui_agent.store.log_chunks import find_line, find_lines, read_first_line
from tui_agent.store.log_line import decode_payload, payload_mark
from tui_agent.store.log_scan import NO_FILTER, filter_lines

if TYPE_CHECKING:
    from tui_agent.store.redaction.redactor import Redactor

MAX_SEQ: Final = 1 << 62
"""A number greater than the `seq` of any event."""

CRC_SLICE = slice(-10, -2)
"""Slice of the checksum in a log line (without its newline)."""


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """A part of a session's history: some events of the log in `folder`.

    `stretches`: ranges of event numbers in the history (None: all events).
    """

    folder: Path
    stretches: tuple[Stretch, ...] | None = None

    @property
    def last(self) -> int:
        """The `seq` of the newest event in this part of the history."""
        return self.stretches[-1].last if self.stretches else MAX_SEQ


@dataclass(frozen=True, slots=True)
class Lineage:
    """The parts of a session's history, oldest first. The last part is the session's own log.

    `fault`: the reason why older parts are missing.
    """

    parts: tuple[HistoryPart, ...]
    head_moves: tuple[HeadMove, ...] = ()
    """The inherited events that moved the session back to an earlier event, such as an undo."""
    fault: StoreError | None = None

    @property
    def own(self) -> HistoryPart:
        """The part of the history in the session's own log."""
        return self.parts[-1]

    @property
    def ancestors(self) -> tuple[HistoryPart, ...]:
        """The parts of the history in the parents' logs, oldest first."""
        return self.parts[:-1]

    def current_branch(self, size: int | None = None) -> tuple[Stretch, ...] | None:
        """Return the ranges of event numbers on the current branch, or None if no event was undone.

        `size`: number of bytes to read of the session's own log (None: all). Raise `OSError` if the log cannot be read.
        """
        return stretches_of_branch((*self.head_moves, *find_head_moves(self.own.folder, size=size)))


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a fork: event `at_seq` of the session `parent`.

    - `folder`: folder of the parent session.
    - `crc`: checksum of that event's line.
    """

    folder: Path
    parent: str
    at_seq: int
    crc: str


def read_origin(folder: Path) -> Origin | None:
    """Return the event where a session was forked; None if the session is not a fork."""
    try:
        payload = decode_payload(read_first_line(folder))
    except OSError:
        return None
    if not isinstance(payload, SessionForked):
        return None
    parent = payload.parent_session
    parent_folder = folder.parent / parent if is_session_id(parent) else folder
    return Origin(parent_folder, parent, payload.at_seq, payload.parent_crc)


def find_head_moves(folder: Path, *, size: int | None = None) -> list[HeadMove]:
    """Return the events that moved a session to an earlier event, up to byte `size` of its log.

    Raise `OSError` if the log cannot be read.
    """
    lines = b"".join(line + b"\n" for line in find_lines(folder, payload_mark(SessionHeadMoved), size=size))
    records = (record for _, record in filter_lines(lines, None, NO_FILTER))
    return list(fold(Branches(), records).moves)


def stretches_of_branch(head_moves: Sequence[HeadMove], last: int = MAX_SEQ) -> tuple[Stretch, ...] | None:
    """Return the ranges of event numbers on the branch that ends at event `last`.

    `head_moves`: moves to earlier events. Return None if every event up to `last` is on that branch.
    """
    return stretches(head_moves, last) if any(move.seq <= last for move in head_moves) else None


def load_lineage(folder: Path) -> Lineage:
    """Return the parts of a session's history. A missing or wrong parent is reported in `fault`, not raised."""
    chain, fault = _origin_chain(folder)
    if not chain:
        return Lineage((HistoryPart(folder),), fault=fault)
    head_moves: list[HeadMove] = []
    inherited: tuple[Stretch, ...] = ()
    for origin in reversed(chain):
        head_moves += find_head_moves(origin.folder)
        inherited = stretches_of_branch(head_moves, origin.at_seq) or (Stretch(0, origin.at_seq),)
        # The next fork does not inherit an undo that was itself undone.
        head_moves = [move for move in head_moves if is_on_branch(move.seq, inherited)]
    ancestors = (
        HistoryPart(origin.folder, cut_stretches(inherited, origin.at_seq)) for origin in reversed(chain)
    )
    return Lineage((*ancestors, HistoryPart(folder)), tuple(head_moves), fault)


def has_event(folder: Path, seq: int) -> bool:
    """Return True if this event exists in a session's history and is not damaged."""
    parts = (
        part
        for part in load_lineage(folder).parts
        if part.stretches is None or is_on_branch(seq, part.stretches)
    )
    return any(find_line(part.folder, seq) is not None for part in parts)


def cut_stretches(stretches: Sequence[Stretch], last: int) -> tuple[Stretch, ...]:
    """Cut off all event numbers after `last` from these ranges."""
    return tuple(
        Stretch(stretch.first, min(stretch.last, last)) for stretch in stretches if stretch.first <= last
    )


def _origin_chain(folder: Path) -> tuple[list[Origin], StoreError | None]:
    """Return the origins of a session, of its parent, of its grandparent and so on.

    If an origin is missing or invalid, return only the origins before it, and the error.
    """
    chain: list[Origin] = []
    child, previous_seq = folder, None
    while (origin := read_origin(child)) is not None:
        fault = _check_origin(child, origin, previous_seq)
        if fault is not None:
            return chain, fault
        chain.append(origin)
        child, previous_seq = origin.folder, origin.at_seq
    return chain, None


def _check_origin(child: Path, origin: Origin, previous_seq: int | None) -> StoreError | None:
    """Return an error if `child` cannot be a fork of `origin`, otherwise None.

    `previous_seq`: event of `child` at which the session before it in the chain was forked. None if `child` is the first
    session of the chain.
    """
    # The origin must be an earlier event, so that following the origins ends.
    parent = origin.parent
    if not is_session_id(parent) or (previous_seq is not None and origin.at_seq >= previous_seq):
        return _origin_error(child, parent, "which is impossible")
    try:
        line = find_line(origin.folder, origin.at_seq)
    except OSError:
        return _origin_error(child, parent, "which is missing")
    if line is None:
        return _origin_error(child, parent, f"whose event {origin.at_seq} is missing or damaged")
    if line[CRC_SLICE].decode("ascii", "replace") != origin.crc:
        return _origin_error(child, parent, f"whose event {origin.at_seq} has changed since the fork")
    return None


def _origin_error(child: Path, parent: str, why: str) -> StoreError:
    return StoreError(
        f"The session {child.name} was forked from {parent}, {why}.",
        hint=f"Restore the folder of {parent} next to the session's folder. "
        f"`tui-agent sessions show {child.name}` shows the session's own events.",
    )


def ancestor_blob_folders(folder: Path) -> Sequence[Path]:
    """Return the folders with the blobs of a session's parents."""
    chain, _ = _origin_chain(folder)
    return [origin.folder / "blobs" for origin in chain]


def open_blobs(folder: Path, *, redactor: "Redactor | None" = None, ops: FileOps | None = None) -> BlobStore:
    """Return the blobs of a session and of its parents."""
    return BlobStore(
        folder / "blobs",
        redactor=redactor,
        ops=ops,
        parent_folders=cache(partial(ancestor_blob_folders, folder)),
    )
