"""Making a fork, finding the forks of a session, and making one whole before its parent goes.

Invariant: a fork's log appears whole or not at all; making it whole changes nothing that a reader of it sees.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from pydantic_core import to_json

from tui_agent.errors import StoreError
from tui_agent.folds.session.branches import on_branch
from tui_agent.protocol.events.session import SessionForked
from tui_agent.protocol.ids import MAIN_AGENT, SessionId
from tui_agent.store.chunks import line_at, pieces
from tui_agent.store.files import FOLDER_MODE, FileOps, sync_path, write_all, write_file
from tui_agent.store.line import body, seal
from tui_agent.store.lineage import CRC_PLACE, blobs_of, lineage, origin_of
from tui_agent.store.payload import Shrinker
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import Sieve, sifted_lines

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_WHOLE_PAYLOAD = re.compile(rb'"payload_blob":"([0-9a-f]{64})"')
_ROOM = 63 * 1024


def fork_point(folder: Path, at_seq: int) -> SessionForked:
    """What a fork of a session at an event refers to: the log in which that event lies. Raises `StoreError`."""
    line = lineage(folder)
    if line.fault is not None:
        raise line.fault
    for strand in line.strands:
        found = line_at(strand.folder, at_seq) if at_seq >= 0 and at_seq <= strand.last else None
        if found is not None and (strand.kept is None or on_branch(at_seq, strand.kept)):
            return SessionForked(
                parent_session=SessionId(strand.folder.name),
                at_seq=at_seq,
                parent_crc=found[CRC_PLACE].decode("ascii"),
            )
    raise StoreError(
        f"The session {folder.name} has no event {at_seq} that could be forked from.",
        hint=f"`sessions show {folder.name}` shows its events.",
    )


def write_fork(folder: Path, forked: SessionForked, at: float, shrinker: Shrinker, ops: FileOps) -> None:
    """Make the log of a fork in its folder, of which the caller holds the lock. Raises OSError, `StoreFull`."""
    sync_path(ops, folder.parent / forked.parent_session / EVENTS)
    raw = shrinker.prepare(forked, _ROOM)
    agent, name = to_json(MAIN_AGENT), to_json(folder.name)
    line = seal(body(forked.at_seq + 1, at, name, agent, forked.at_seq, b"null", raw))
    write_file(ops, folder / EVENTS, line, sync=True)
    sync_path(ops, folder.parent)


def forks_of(folder: Path, others: Iterable[Path]) -> list[Path]:
    """The sessions that refer to this one's log."""
    return by_parent(others).get(folder.name, [])


def by_parent(folders: Iterable[Path]) -> dict[str, list[Path]]:
    """The forks among these sessions, under the id of the one whose log they refer to."""
    found: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        origin = origin_of(folder)
        if origin is not None:
            found.setdefault(origin.parent, []).append(folder)
    return found


def make_whole(folder: Path, ops: FileOps) -> None:
    """Give a fork its own copy of what it takes from its parents. The caller holds its lock.

    Blobs come first (as hard links where that can be), then the log changes places in one rename. Raises `StoreError`
    where a parent is missing, OSError.
    """
    line = lineage(folder)
    if line.fault is not None:
        raise line.fault
    for digest in named_in(chain(_inherited(folder), pieces(folder)), folder):
        _bring(digest, [strand.folder / "blobs" for strand in line.elders], folder / "blobs", ops)
    if (folder / "blobs").is_dir():
        sync_path(ops, folder / "blobs")
    path = folder / EVENTS
    draft = path.with_name(f".{EVENTS}.new")
    fd = ops.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for piece in _inherited(folder):
            write_all(ops, fd, piece)
        write_all(ops, fd, path.read_bytes())
        ops.sync(fd)
    except OSError:
        ops.unlink(draft)
        raise
    finally:
        ops.close(fd)
    ops.rename(draft, path)
    sync_path(ops, folder)


def _inherited(folder: Path) -> Iterator[bytes]:
    """The lines that a fork takes from its parents, as they stand there."""
    last = -1
    for strand in lineage(folder).elders:
        for piece in pieces(strand.folder, after=last):
            found = []
            for raw, record in sifted_lines(piece, blobs_of(strand.folder), Sieve(kept=strand.kept), last):
                last = record.seq
                found.append(raw + b"\n")
            yield b"".join(found)


def _bring(digest: str, elders: list[Path], own: Path, ops: FileOps) -> None:
    target = own / digest
    source = next((elder / digest for elder in elders if (elder / digest).is_file()), None)
    if source is None or target.exists():
        return
    own.mkdir(mode=FOLDER_MODE, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        write_file(ops, target, source.read_bytes(), sync=True)


def named_in(log: Iterable[bytes], folder: Path) -> frozenset[str]:
    """The digests that stand in a log's bytes, and in payloads that lie in blobs as a whole.

    Anything that looks like one counts: a blob too many is no harm.
    """
    blobs = blobs_of(folder)
    found: set[bytes] = set()
    for piece in log:
        found.update(_DIGEST.findall(piece))
        for digest in _WHOLE_PAYLOAD.findall(piece):
            found.update(_DIGEST.findall(blobs.find(digest.decode()) or b""))
    return frozenset(digest.decode() for digest in found)
