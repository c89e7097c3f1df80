"""Opening a log under its lock, and bringing it over to a new file when its disk fails.

Invariant: what is cut off is first kept in a side file; whole lines are never moved or changed.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tui_agent.errors import SessionNotFound, SessionTooNew
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope
from tui_agent.protocol.events.session import LogRepaired
from tui_agent.store.files import FileOps, sync_path, unusable, write_all, write_file
from tui_agent.store.line import decode
from tui_agent.store.scan import NOTHING_YET, Survey, survey, survey_lines

EVENTS = "events.jsonl"
MAX_REPORTED = 1_000
"""Bad lines that one `log.repaired` names; the rest are stepped over all the same."""

_APPEND = os.O_RDWR | os.O_APPEND
_PIECE = 1 << 20
_TORN = "events.torn"


@dataclass(frozen=True, slots=True)
class Opened:
    """A log that is ready for the next event: its last line is whole, and `end` bytes stand in it."""

    fd: int
    end: int
    last_seq: int
    repaired: LogRepaired | None
    lines: int = 0


def open_log(folder: Path, ops: FileOps, known: Survey = NOTHING_YET) -> Opened:
    """Open a session's log for writing; the caller holds its lock. Raises `SessionNotFound`, `StoreError`.

    A log that a newer version wrote into raises `SessionTooNew`, and stays as it is. What is `repaired` is told again
    by every opening until a `log.repaired` with it stands in the log; with several side files it names them all. What is
    `known` is not read again: whoever meets a line there that was damaged since steps over it, and says so.
    """
    path = folder / EVENTS
    try:
        found = survey_lines(_file_lines(path, known.good_end), known)
    except FileNotFoundError as fault:
        raise SessionNotFound(
            f"There is no session {folder.name} in {folder.parent}.", hint="`sessions list` shows them."
        ) from fault
    except OSError as fault:
        raise unusable(fault, f"The log of session {folder.name} cannot be read", f": {path}") from fault
    require_known(folder, found.version)
    try:
        torn = _behind(path, found.good_end)
        moved = _moved_before(folder)
        reported = _reported(path) if found.bad_lines or moved else NOTHING
        sides = [side for side in moved if side.name not in reported.sides]
        counted = [side for side in sides if not _stands_in(side, torn)]
        if torn:
            sides.append(_set_aside(folder, torn, ops))
            counted.append(sides[-1])
        bytes_moved = sum(side.stat().st_size for side in counted)
        fd = ops.open(path, _APPEND)
        if torn:
            ops.truncate(fd, found.good_end)
            ops.sync(fd)
    except OSError as fault:
        what = f"The log of session {folder.name} could not be opened for writing"
        raise unusable(fault, what, f": {path}. Reading it still works") from fault
    bad = tuple(number for number in found.bad_lines if number not in reported.bad_lines)[:MAX_REPORTED]
    names = ", ".join(side.name for side in sides)
    repaired = LogRepaired(moved_bytes=bytes_moved, side_file=names, bad_lines=bad) if sides or bad else None
    return Opened(fd, found.good_end, found.last_seq, repaired, found.lines)


def require_known(folder: Path, version: int) -> None:
    """Raises `SessionTooNew` for a log with lines of a version that this product does not know."""
    if version > SCHEMA_VERSION:
        raise SessionTooNew(
            f"The session {folder.name} was written by a newer version of tui-agent "
            f"(log version {version}, this one knows {SCHEMA_VERSION}); nothing was changed.",
            hint=f"Open it with that version. `tui-agent sessions show {folder.name}` shows what this one can read.",
        )


def version_of_log(folder: Path) -> int:
    """The highest version in which a line of a log was written. Raises OSError."""
    return survey_lines(_file_lines(folder / EVENTS)).version


def create_log(folder: Path, ops: FileOps) -> Opened:
    """Make a new, empty log in an existing folder, durable with its name."""
    path = folder / EVENTS
    fd = ops.open(path, _APPEND | os.O_CREAT | os.O_EXCL)
    try:
        ops.sync(fd)
        for place in (folder, folder.parent):
            sync_path(ops, place)
    except OSError:  # what is half made would be in the way of the next try
        ops.close(fd)
        ops.unlink(path)
        raise
    return Opened(fd, 0, -1, None)


def rescue(folder: Path, end: int, ops: FileOps) -> int:
    """Copy the first `end` bytes to a new file that takes the log's place, and open that.

    For a log whose sync has failed: its pages may be gone though the next sync would report success.
    """
    path = folder / EVENTS
    data = path.read_bytes()[:end]
    if survey(data).good_end != end:
        raise OSError("what was written cannot be read back whole")
    write_file(ops, path, data, sync=True)
    return ops.open(path, _APPEND)


def rewrite(folder: Path, fd: int, end: int, ops: FileOps) -> tuple[int, str]:
    """Write the log anew under its name from the first `end` bytes of the open file, which has lost it.

    What stands in its place is kept beside it. Returns the new descriptor, and that side file's name. Raises OSError.
    """
    path = folder / EVENTS
    data = b"".join(os.pread(fd, min(_PIECE, end - at), at) for at in range(0, end, _PIECE))
    if len(data) != end:
        raise OSError("what was written cannot be read back whole")
    side = ""
    if os.path.lexists(path):
        side = _free_name(folder, "events.replaced")
        ops.rename(path, folder / side)
    write_file(ops, path, data, sync=True)
    return ops.open(path, _APPEND), side


def _free_name(folder: Path, stem: str) -> str:
    number = 1
    while os.path.lexists(folder / f"{stem}-{number}"):
        number += 1
    return f"{stem}-{number}"


def _set_aside(folder: Path, torn: bytes, ops: FileOps) -> Path:
    path = folder / _free_name(folder, _TORN)
    fd = ops.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        write_all(ops, fd, torn)
        ops.sync(fd)
    except OSError:
        ops.unlink(path)
        raise
    finally:
        ops.close(fd)
    sync_path(ops, folder)
    return path


def _file_lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """The whole lines of a file from a place on, without their newlines, one at a time."""
    with path.open("rb") as log:
        log.seek(start)
        for line in log:
            if line.endswith(b"\n"):
                yield line[:-1]


def _behind(path: Path, end: int) -> bytes:
    with path.open("rb") as log:
        log.seek(end)
        return log.read()


@dataclass(frozen=True, slots=True)
class Reported:
    """What the `log.repaired` of a log have named."""

    bad_lines: frozenset[int]
    sides: frozenset[str]


NOTHING = Reported(frozenset(), frozenset())


def _reported(path: Path) -> Reported:
    bad, sides = set[int](), set[str]()
    for line in _file_lines(path):
        if b'"log.repaired"' in line:
            record = decode(line)
            if isinstance(record, Envelope) and isinstance(record.payload, LogRepaired):
                bad.update(record.payload.bad_lines)
                sides.update(record.payload.side_file.split(", "))
    return Reported(frozenset(bad), frozenset(sides))


def _moved_before(folder: Path) -> list[Path]:
    """The side files with ends that were moved: also by an opening that failed before it could record it."""
    return sorted(folder.glob(f"{_TORN}-*"))


def _stands_in(side: Path, torn: bytes) -> bool:
    """Whether a side file holds nothing that the log's end does not still hold: its opening was cut off then, and its
    bytes are counted with that end."""
    return torn.startswith(side.read_bytes())
