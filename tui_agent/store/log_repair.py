"""Opening a session's log under its lock, and moving the log to a new file when its disk fails.

Invariant: before bytes are cut off, they are saved in a side file.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tui_agent.errors import SessionNotFound, SessionVersionError
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import SCHEMA_VERSION
from tui_agent.protocol.events.session import LogRepaired
from tui_agent.store.file_ops import FileOps, storage_error, sync_path, write_all, write_file
from tui_agent.store.log_line import decode_payload
from tui_agent.store.log_scan import EMPTY_SURVEY, Survey, survey_bytes, survey_lines

EVENTS_FILE = "events.jsonl"
MAX_REPORTED = 1_000
"""Maximum number of bad lines in one `log.repaired` event."""

_APPEND = os.O_RDWR | os.O_APPEND
_PIECE = 1 << 20
_TORN = "events.torn"


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """A log that is ready for the next event.

    `end`: the log's length in bytes.
    """

    fd: int
    end: int
    last_seq: int
    repair: LogRepaired | None
    lines: int = 0


def open_log(folder: Path, ops: FileOps, known: Survey = EMPTY_SURVEY) -> OpenedLog:
    """Open a session's log for writing. The caller holds the session's lock.

    If the result has an event `repair`, the caller must record it. Raise `StoreError` if the log cannot be opened,
    `SessionNotFound` if there is no log, and `SessionVersionError` if another version wrote the log.

    `known`: result of an earlier check. The lines that it covers are not checked again.
    """
    path = folder / EVENTS_FILE
    try:
        scanned = survey_lines(_file_lines(path, known.good_end), known)
    except FileNotFoundError as fault:
        raise session_not_found(folder) from fault
    except OSError as fault:
        raise storage_error(fault, f"The log of session {folder.name} cannot be read", f": {path}") from fault
    require_known_version(folder, scanned.version)
    try:
        torn = _read_from(path, scanned.good_end)
        # These include side files of an earlier opening that failed before recording them.
        earlier = sorted(folder.glob(f"{_TORN}-*"))
        has_damage = bool(scanned.bad_lines or earlier)
        known_lines, known_files = _read_reported(path) if has_damage else (set[int](), set[str]())
        side_files = [side_file for side_file in earlier if side_file.name not in known_files]
        counted_files = [side_file for side_file in side_files if not _is_still_in_log(side_file, torn)]
        # The torn end is saved and synced before it is cut off below: a crash in between loses nothing.
        if torn:
            side_files.append(_save_torn_end(folder, torn, ops))
            counted_files.append(side_files[-1])
        bytes_moved = sum(side_file.stat().st_size for side_file in counted_files)
        fd = ops.open(path, _APPEND)
        if torn:
            ops.truncate(fd, scanned.good_end)
            ops.sync(fd)
    except OSError as fault:
        problem = f"The log of session {folder.name} could not be opened for writing"
        raise storage_error(fault, problem, f": {path}. The session can still be read") from fault
    bad_lines = tuple(number for number in scanned.bad_lines if number not in known_lines)[:MAX_REPORTED]
    names = ", ".join(side_file.name for side_file in side_files)
    repaired = (
        LogRepaired(moved_bytes=bytes_moved, side_file=names, bad_lines=bad_lines)
        if side_files or bad_lines
        else None
    )
    return OpenedLog(fd, scanned.good_end, scanned.last_seq, repaired, scanned.lines)


def session_not_found(folder: Path) -> SessionNotFound:
    """Return the error for a folder without a log."""
    return SessionNotFound(
        f"There is no session {folder.name} in {folder.parent}.",
        hint="Run `tui-agent sessions list` to list all sessions.",
    )


def require_known_version(folder: Path, version: int) -> None:
    """Raise `SessionVersionError` if this release cannot read a version used in the log."""
    if version != SCHEMA_VERSION:
        age = "an older" if version < SCHEMA_VERSION else "a newer"
        raise SessionVersionError(
            f"The session {folder.name} was written by {age} version of tui-agent "
            f"(log version {version}, this one reads {SCHEMA_VERSION}).",
            hint=f"Open it with that version, or delete it: tui-agent sessions rm {folder.name}",
        )


def read_log_version(folder: Path) -> int:
    """Return the version of the log format in a session's log. Raise `OSError` if the log cannot be read."""
    # A version that this release cannot read takes precedence.
    return survey_lines(_file_lines(folder / EVENTS_FILE)).version


def create_log(folder: Path, ops: FileOps) -> OpenedLog:
    """Create a new, empty log in an existing folder. Raise `OSError` if that fails."""
    path = folder / EVENTS_FILE
    fd = ops.open(path, _APPEND | os.O_CREAT | os.O_EXCL)
    try:
        ops.sync(fd)
        for parent in (folder, folder.parent):
            sync_path(ops, parent)
    except OSError:  # an incomplete file would prevent the next attempt
        ops.close(fd)
        ops.unlink(path)
        raise
    return OpenedLog(fd, 0, -1, None)


def copy_to_new_file(folder: Path, end: int, ops: FileOps) -> int:
    """Replace a log by a new file with its first `end` bytes. Return the new file's descriptor."""
    # Needed after a failed sync: pages of the old file can be lost even if the next sync reports success.
    path = folder / EVENTS_FILE
    data = path.read_bytes()[:end]
    if survey_bytes(data).good_end != end:
        raise OSError("the written data cannot be read back completely")
    write_file(ops, path, data, sync=True)
    return ops.open(path, _APPEND)


def rewrite_log(folder: Path, fd: int, end: int, ops: FileOps) -> tuple[int, str]:
    """Write the log to a new file after the open file `fd` was renamed or deleted.

    The first `end` bytes are copied from `fd`. Another file with the log's name becomes a side file. Return the new
    descriptor and the side file's name. Raise `OSError` if that fails.
    """
    # Only the open descriptor still reaches the session's own data: the path may be missing or name another file.
    path = folder / EVENTS_FILE
    # In pieces, because one call reads at most 2 GiB.
    data = b"".join(os.pread(fd, min(_PIECE, end - offset), offset) for offset in range(0, end, _PIECE))
    if len(data) != end:
        raise OSError("the written data cannot be read back completely")
    side_file = ""
    if os.path.lexists(path):
        side_file = _free_name(folder, "events.replaced")
        ops.rename(path, folder / side_file)
    write_file(ops, path, data, sync=True)
    return ops.open(path, _APPEND), side_file


def _free_name(folder: Path, stem: str) -> str:
    number = 1
    while os.path.lexists(folder / f"{stem}-{number}"):
        number += 1
    return f"{stem}-{number}"


def _save_torn_end(folder: Path, torn: bytes, ops: FileOps) -> Path:
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
    with path.open("rb") as log:
        log.seek(start)
        for line in log:
            if line.endswith(b"\n"):
                yield line[:-1]


def _read_from(path: Path, end: int) -> bytes:
    with path.open("rb") as log:
        log.seek(end)
        return log.read()


def _read_reported(path: Path) -> tuple[set[int], set[str]]:
    bad_lines, side_files = set[int](), set[str]()
    for line in _file_lines(path):
        if b'"log.repaired"' in line:
            repaired = decode_payload(line)
            if isinstance(repaired, LogRepaired):
                bad_lines.update(repaired.bad_lines)
                side_files.update(repaired.side_file.split(", "))
    return bad_lines, side_files


def _is_still_in_log(side_file: Path, torn: bytes) -> bool:
    """Return True if the damaged end of the log, `torn`, begins with the content of `side_file`."""
    # An earlier repair then saved these bytes, but failed before it cut them off the log.
    return torn.startswith(side_file.read_bytes())
