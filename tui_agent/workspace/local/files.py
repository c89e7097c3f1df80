"""Reading, replacing and removing files of a local workspace. Blocking: called in threads.

Invariants: only regular files are opened for their content; a file is replaced as a whole or not at all; a change is
made only where the file still is what the caller knows.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from tui_agent.errors import EnvironmentFault, StaleFile
from tui_agent.ports.environment import FileContent, FileInfo
from tui_agent.workspace.local.atomic_write import LEFTOVER, Standing, marks_of, put, sweep
from tui_agent.workspace.local.path_spelling import MAX_LISTED
from tui_agent.workspace.local.paths import FILE_FLAGS, Containment, fault, shown

COMPARE_LIMIT = 1_000_000_000
"""Bytes of a file up to which its digest is taken before it is replaced or removed."""
_CHUNK = 1 << 20


def kind_of(mode: int) -> str:
    """The kind of thing that a mode tells, as `FileInfo.kind`."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def info(path: str, found: os.stat_result) -> FileInfo:
    """A `FileInfo` of what was found at `path`."""
    return FileInfo(
        path=path,
        kind=kind_of(found.st_mode),  # type: ignore[arg-type]
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        mode=stat.S_IMODE(found.st_mode),
    )


def _open_regular(name: str, at: int, path: str) -> tuple[int, os.stat_result]:
    fd = os.open(name, FILE_FLAGS, dir_fd=at)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file (a device, pipe or socket)"
            raise EnvironmentFault(f"{shown(path)} is {what}.")
    except BaseException:
        os.close(fd)
        raise
    return fd, found


class LocalFiles:
    """Files below one root."""

    def __init__(self, containment: Containment) -> None:
        self._contain = containment
        self._swept: set[tuple[int, int]] = set()

    def read(self, path: str, max_bytes: int) -> FileContent:
        """See `ports.environment.Environment.read`."""
        parts = self._contain.parts(path)
        if not parts:
            raise EnvironmentFault(f"{shown(path)} is a folder.")
        try:
            with self._contain.folder(parts[:-1]) as at:
                fd, found = _open_regular(parts[-1], at, path)
                try:
                    data = _read_up_to(fd, found.st_size, max_bytes, path)
                finally:
                    os.close(fd)
        except OSError as error:
            raise fault(path, error) from error
        return FileContent(
            path="/".join(parts),
            data=data,
            digest=hashlib.sha256(data).hexdigest(),
            mtime_ns=found.st_mtime_ns,
            mode=stat.S_IMODE(found.st_mode),
        )

    def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        """See `ports.environment.Environment.write`."""
        parts = self._contain.parts(path)
        if not parts:
            raise EnvironmentFault(f"{shown(path)} is a folder.")
        try:
            with self._contain.folder(parts[:-1], make=expect is None) as at:
                self._sweep(at)
                standing = _standing(parts[-1], at, path)
                _must_match(standing, expect, path)
                found = _replace(parts[-1], at, path, data, standing)
        except OSError as error:
            raise fault(path, error) from error
        return FileContent(
            path="/".join(parts),
            data=data,
            digest=hashlib.sha256(data).hexdigest(),
            mtime_ns=found.st_mtime_ns,
            mode=stat.S_IMODE(found.st_mode),
        )

    def remove(self, path: str, expect: str) -> None:
        """See `ports.environment.Environment.remove`. A link is refused, not followed."""
        parts = self._contain.entry(path)
        if not parts:
            raise EnvironmentFault(f"{shown(path)} is a folder.")
        try:
            with self._contain.folder(parts[:-1]) as at:
                standing = _standing(parts[-1], at, path)
                _must_match(standing, expect, path)
                os.unlink(parts[-1], dir_fd=at)
                os.fsync(at)
        except OSError as error:
            raise fault(path, error) from error

    def stat(self, path: str) -> FileInfo | None:
        """What is at `path`, a link at its end not followed; None where nothing is."""
        parts = self._contain.entry(path)
        try:
            with self._contain.folder(parts[:-1]) as at:
                found = os.stat(parts[-1] if parts else ".", dir_fd=at, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise fault(path, error) from error
        return info("/".join(parts) or ".", found)

    def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """A folder's entries, sorted by name; what vanishes meanwhile is left out."""
        parts = self._contain.parts(path)
        try:
            with self._contain.folder(parts) as at:
                found = scan(at, "/".join(parts))
        except OSError as error:
            raise fault(path, error) from error
        if len(found) > MAX_LISTED:
            raise EnvironmentFault(f"{shown(path)} holds more than {MAX_LISTED:,} entries.")
        return tuple(found)

    def _sweep(self, at: int) -> None:
        """At the first change in a folder: what killed processes left there goes."""
        found = os.fstat(at)
        if (found.st_dev, found.st_ino) not in self._swept:
            self._swept.add((found.st_dev, found.st_ino))
            sweep(at)


def scan(at: int, base: str) -> list[FileInfo]:
    """The entries of an open folder, sorted by name; of more than `MAX_LISTED` one more than that."""
    prefix = base + "/" if base else ""
    found: list[FileInfo] = []
    with os.scandir(at) as entries:
        for entry in islice(entries, MAX_LISTED + 1):
            if LEFTOVER.fullmatch(entry.name):
                continue
            with suppress(FileNotFoundError):
                found.append(info(prefix + entry.name, entry.stat(follow_symlinks=False)))
    found.sort(key=lambda item: item.path)
    return found


def _read_up_to(fd: int, size: int, max_bytes: int, path: str) -> bytes:
    """All of a file, refused as soon as it proves longer than `max_bytes` (its size may be a lie or grow)."""
    if size > max_bytes:
        raise EnvironmentFault(
            f"{shown(path)} is too big: {size:,} bytes, the limit is {max_bytes:,}.",
            hint="Look at a piece of it with a command.",
        )
    return b"".join(_pieces(fd, max_bytes, path))


def _pieces(fd: int, limit: int, path: str) -> Iterator[bytes]:
    left = limit + 1
    while left > 0 and (piece := os.read(fd, min(left, _CHUNK))):
        yield piece
        left -= len(piece)
    if left <= 0:
        raise EnvironmentFault(f"{shown(path)} is too big: more than {limit:,} bytes.")


def _standing(name: str, at: int, path: str) -> Standing | None:
    try:
        fd, found = _open_regular(name, at, path)
    except FileNotFoundError:
        return None
    try:
        if found.st_size > COMPARE_LIMIT:
            raise EnvironmentFault(f"{shown(path)} is too big to be changed here: {found.st_size:,} bytes.")
        digest = hashlib.sha256()
        for piece in _pieces(fd, COMPARE_LIMIT, path):
            digest.update(piece)
        return Standing(digest.hexdigest(), found, marks_of(fd))
    finally:
        os.close(fd)


def _must_match(standing: Standing | None, expect: str | None, path: str) -> None:
    if standing is None:
        if expect is not None:
            raise StaleFile(f"{shown(path)} is no longer there.", hint="Look at the folder again.")
        return
    if expect is None:
        raise StaleFile(f"{shown(path)} exists already.", hint="Read it before replacing it.")
    if standing.digest != expect:
        raise StaleFile(f"{shown(path)} has changed since it was read.", hint="Read it again.")


def _replace(name: str, at: int, path: str, data: bytes, standing: Standing | None) -> os.stat_result:
    if standing is not None and not standing.found.st_mode & 0o222:
        raise EnvironmentFault(
            f"{shown(path)} is write-protected (mode {stat.S_IMODE(standing.found.st_mode):03o}).",
            hint="Change its mode first if it really is to be changed.",
        )

    def ready() -> None:
        if standing is None:
            _must_match(_standing(name, at, path), None, path)
        else:
            _still_the_same(name, at, path, standing)

    try:
        return put(name, at, data, standing, ready)
    except FileExistsError as error:
        raise StaleFile(f"{shown(path)} exists already.", hint="Read it before replacing it.") from error


def _still_the_same(name: str, at: int, path: str, standing: Standing) -> None:
    now = os.stat(name, dir_fd=at, follow_symlinks=False)
    before = standing.found
    if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
        raise StaleFile(f"{shown(path)} has changed since it was read.", hint="Read it again.")
