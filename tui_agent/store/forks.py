"""Forks: creating forks, finding a session's relatives, and copying a parent's events before the parent is removed.

Invariant: a fork's log is created completely or not at all.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from pydantic_core import to_json

from tui_agent.errors import StoreError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import is_on_branch
from tui_agent.protocol.events.session import SessionForked
from tui_agent.protocol.ids import MAIN_AGENT, SessionId
from tui_agent.store.file_ops import FOLDER_MODE, FileOps, sync_path, write_file
from tui_agent.store.lineage import CRC_SLICE, Origin, load_lineage, open_blobs, read_origin
from tui_agent.store.log_chunks import find_line, read_chunks
from tui_agent.store.log_line import encode_body, seal_line
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import RecordFilter, filter_lines
from tui_agent.store.payload_shrinker import Shrinker

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_WHOLE_PAYLOAD = re.compile(rb'"payload_blob":"([0-9a-f]{64})"')
_MAX_PAYLOAD_BYTES = 63 * 1024


def find_fork_point(folder: Path, at_seq: int) -> SessionForked:
    """Return the payload for the first event of a fork's log.

    The payload's `parent_session` names the session that recorded the event `at_seq`: this session or one of its
    parents. Raise `StoreError` if there is no such event.

    `at_seq`: the last event that the fork shares with the session in `folder`.
    """
    history = load_lineage(folder)
    if history.fault is not None:
        raise history.fault
    for part in history.parts:
        event_line = find_line(part.folder, at_seq) if at_seq >= 0 and at_seq <= part.last else None
        if event_line is not None and (part.stretches is None or is_on_branch(at_seq, part.stretches)):
            return SessionForked(
                parent_session=SessionId(part.folder.name),
                at_seq=at_seq,
                parent_crc=event_line[CRC_SLICE].decode("ascii"),
            )
    raise StoreError(
        f"The session {folder.name} has no event {at_seq} to fork from.",
        hint=f"Run `tui-agent sessions show {folder.name}` to list its events.",
    )


def write_fork(folder: Path, forked: SessionForked, time: float, shrinker: Shrinker, ops: FileOps) -> None:
    """Write the first event to the log of a new fork. The caller holds the lock of `folder`.

    Raise `OSError` or `StoreFull` if writing fails.
    """
    # First, because a fork is unusable if a power failure loses the event from which it starts.
    sync_path(ops, folder.parent / forked.parent_session / EVENTS_FILE)
    raw = shrinker.prepare(forked, _MAX_PAYLOAD_BYTES)
    agent, name = to_json(MAIN_AGENT), to_json(folder.name)
    line = seal_line(encode_body(forked.at_seq + 1, time, name, agent, forked.at_seq, b"null", raw))
    write_file(ops, folder / EVENTS_FILE, line, sync=True)
    sync_path(ops, folder.parent)


def group_by_parent(folders: Iterable[Path]) -> dict[str, list[Path]]:
    """Group the folders of forks by the id of the parent session.

    Folders of sessions that are not forks are ignored.
    """
    forks: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        origin = read_origin(folder)
        if origin is not None:
            forks.setdefault(origin.parent, []).append(folder)
    return forks


def copy_inherited(folder: Path, ops: FileOps) -> None:
    """Copy a fork's inherited events and blobs into its own folder. The caller holds the lock of `folder`.

    Raise `OSError` if copying fails. Raise `StoreError` if a parent is missing.
    """
    history = load_lineage(folder)
    if history.fault is not None:
        raise history.fault
    # The log comes last: once it contains the inherited events, every blob that they name is in place.
    for digest in find_digests(chain(_inherited_lines(folder), read_chunks(folder)), folder):
        _copy_blob(digest, [part.folder / "blobs" for part in history.ancestors], folder / "blobs", ops)
    if (folder / "blobs").is_dir():
        sync_path(ops, folder / "blobs")
    path = folder / EVENTS_FILE
    write_file(ops, path, chain(_inherited_lines(folder), (path.read_bytes(),)), sync=True)


def _inherited_lines(folder: Path) -> Iterator[bytes]:
    last = -1
    for part in load_lineage(folder).ancestors:
        for piece in read_chunks(part.folder, after=last):
            inherited = []
            for raw, record in filter_lines(
                piece, open_blobs(part.folder), RecordFilter(stretches=part.stretches), last
            ):
                last = record.seq
                inherited.append(raw + b"\n")
            yield b"".join(inherited)


def _copy_blob(digest: str, ancestors: list[Path], own: Path, ops: FileOps) -> None:
    target = own / digest
    source = next((ancestor / digest for ancestor in ancestors if (ancestor / digest).is_file()), None)
    if source is None or target.exists():
        return
    own.mkdir(mode=FOLDER_MODE, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        write_file(ops, target, source.read_bytes(), sync=True)


def find_digests(log: Iterable[bytes], folder: Path) -> frozenset[str]:
    """Return the digests of all blobs to which a log refers, including references inside payloads stored as blobs.

    `log`: the log's bytes. `folder`: the session's folder.
    """
    # Everything that looks like a digest is included, because an unneeded blob does no harm.
    blobs = open_blobs(folder)
    digests: set[bytes] = set()
    for piece in log:
        digests.update(_DIGEST.findall(piece))
        for digest in _WHOLE_PAYLOAD.findall(piece):
            digests.update(_DIGEST.findall(blobs.find(digest.decode()) or b""))
    return frozenset(digest.decode() for digest in digests)


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """A session and, for a fork, the event where it was forked (`origin`)."""

    folder: Path
    origin: Origin | None


def find_family(folder: Path, folders: Iterable[Path]) -> tuple[FamilyMember, ...]:
    """Return the session and its relatives among `folders`, parents before forks."""
    oldest = folder
    visited = {folder.name}  # a damaged log could name a descendant as its parent
    while (origin := read_origin(oldest)) is not None:
        if origin.parent in visited or not (origin.folder / EVENTS_FILE).is_file():
            break
        visited.add(origin.parent)
        oldest = origin.folder
    forks = group_by_parent(folders)
    relatives: dict[str, FamilyMember] = {}
    pending = [oldest]
    while pending:
        current = pending.pop(0)
        if current.name not in relatives:
            relatives[current.name] = FamilyMember(current, read_origin(current))
            pending.extend(forks.get(current.name, []))
    if folder.name not in relatives:
        relatives[folder.name] = FamilyMember(folder, read_origin(folder))
    return tuple(relatives.values())
