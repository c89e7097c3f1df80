"""Reading, replacing and removing files of a local workspace.

The methods block: call them in a thread.

Invariant: only regular files are opened, and a file is replaced only as a whole.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from tui_agent.errors import EnvironmentFault, StaleFile
from tui_agent.ports.environment import FileContent, FileInfo
from tui_agent.units import format_bytes, format_number
from tui_agent.workspace.local.atomic_write import (
    LEFTOVER_NAME,
    FileState,
    read_attributes,
    remove_leftovers,
    replace_file,
)
from tui_agent.workspace.local.containment import FILE_FLAGS, Containment, path_error, printable_path
from tui_agent.workspace.local.path_spelling import MAX_LISTED

MAX_DIGEST_BYTES = 1_000_000_000
"""Maximum size of a file to replace or remove, in bytes: the whole file is hashed first."""
_CHUNK = 1 << 20


def file_kind(mode: int) -> str:
    """Return the kind of a file with the mode `mode`, as a value of `FileInfo.kind`."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def make_info(path: str, status: os.stat_result) -> FileInfo:
    """Convert the result of a `stat` call on a path to a `FileInfo`."""
    return FileInfo(
        path=path,
        kind=file_kind(status.st_mode),  # type: ignore[arg-type]
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        mode=stat.S_IMODE(status.st_mode),
    )


def _open_regular(name: str, folder_fd: int, path: str) -> tuple[int, os.stat_result]:
    fd = os.open(name, FILE_FLAGS, dir_fd=folder_fd)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            special = "a device, pipe or socket, not a regular file"
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else special
            raise EnvironmentFault(f"{printable_path(path)} is {kind}.")
    except BaseException:
        os.close(fd)
        raise
    return fd, status


class LocalFiles:
    """Reads and changes the files below one root folder, with the methods of `ports.environment.Environment` for files."""

    def __init__(self, containment: Containment) -> None:
        self._contain = containment
        self._swept: set[tuple[int, int]] = set()

    def read(self, path: str, max_bytes: int) -> FileContent:
        parts = self._contain.resolve_parts(path)
        with self._open_parent(parts, path) as folder_fd:
            fd, status = _open_regular(parts[-1], folder_fd, path)
            try:
                data = _read_up_to(fd, status.st_size, max_bytes, path)
            finally:
                os.close(fd)
        return _content(parts, data, status)

    def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        parts = self._contain.resolve_parts(path)
        with self._open_parent(parts, path, create=expect is None) as folder_fd:
            self._sweep_once(folder_fd)
            state = _read_state(parts[-1], folder_fd, path)
            _check_expected(state, expect, path)
            status = _replace_file(parts[-1], folder_fd, path, data, state)
        return _content(parts, data, status)

    def remove(self, path: str, expect: str) -> None:
        """Remove a file like `ports.environment.Environment.remove`; refuses links."""
        parts = self._contain.resolve_entry(path)
        with self._open_parent(parts, path) as folder_fd:
            state = _read_state(parts[-1], folder_fd, path)
            _check_expected(state, expect, path)
            os.unlink(parts[-1], dir_fd=folder_fd)
            os.fsync(folder_fd)

    def stat(self, path: str) -> FileInfo | None:
        """Return the properties of a path, without following a link at its end; None if it does not exist."""
        parts = self._contain.resolve_entry(path)
        try:
            with self._contain.open_folder(parts[:-1]) as folder_fd:
                status = os.stat(parts[-1] if parts else ".", dir_fd=folder_fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise path_error(path, error) from error
        return make_info("/".join(parts) or ".", status)

    def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """Return the entries of a folder, sorted by name."""
        parts = self._contain.resolve_parts(path)
        try:
            with self._contain.open_folder(parts) as folder_fd:
                entries = scan_folder(folder_fd, "/".join(parts))
        except OSError as error:
            raise path_error(path, error) from error
        if len(entries) > MAX_LISTED:
            raise EnvironmentFault(
                f"{printable_path(path)} has more than {format_number(MAX_LISTED)} entries."
            )
        return tuple(entries)

    @contextmanager
    def _open_parent(self, parts: tuple[str, ...], path: str, *, create: bool = False) -> Iterator[int]:
        """Yield a descriptor of a file's folder; convert an `OSError` in the `with` block to an `EnvironmentFault`."""
        if not parts:
            raise EnvironmentFault(f"{printable_path(path) or 'The workspace'} is a folder.")
        try:
            with self._contain.open_folder(parts[:-1], create=create) as folder_fd:
                yield folder_fd
        except OSError as error:
            raise path_error(path, error) from error

    def _sweep_once(self, folder_fd: int) -> None:
        status = os.fstat(folder_fd)
        if (status.st_dev, status.st_ino) not in self._swept:
            self._swept.add((status.st_dev, status.st_ino))
            remove_leftovers(folder_fd)


def scan_folder(folder_fd: int, base: str) -> list[FileInfo]:
    """Return the entries of an open folder, sorted by name; at most `MAX_LISTED` + 1."""
    prefix = base + "/" if base else ""
    infos: list[FileInfo] = []
    with os.scandir(folder_fd) as entries:
        for entry in islice(entries, MAX_LISTED + 1):
            if LEFTOVER_NAME.fullmatch(entry.name):
                continue
            with suppress(FileNotFoundError):
                infos.append(make_info(prefix + entry.name, entry.stat(follow_symlinks=False)))
    infos.sort(key=lambda item: item.path)
    return infos


def _content(parts: tuple[str, ...], data: bytes, status: os.stat_result) -> FileContent:
    return FileContent(
        path="/".join(parts),
        data=data,
        digest=hashlib.sha256(data).hexdigest(),
        mtime_ns=status.st_mtime_ns,
        mode=stat.S_IMODE(status.st_mode),
    )


def _read_up_to(fd: int, size: int, max_bytes: int, path: str) -> bytes:
    """Read a whole file, but at most `max_bytes` bytes, because the reported `size` can be wrong."""
    if size > max_bytes:
        raise EnvironmentFault(
            f"{printable_path(path)} is too large: {format_bytes(size)}, the limit is {format_bytes(max_bytes)}.",
            hint="Read a part of it with a command.",
        )
    return b"".join(_read_chunks(fd, max_bytes, path))


def _read_chunks(fd: int, limit: int, path: str) -> Iterator[bytes]:
    remaining = limit + 1
    while remaining > 0 and (piece := os.read(fd, min(remaining, _CHUNK))):
        yield piece
        remaining -= len(piece)
    if remaining <= 0:
        raise EnvironmentFault(f"{printable_path(path)} is too large: more than {format_bytes(limit)}.")


def _read_state(name: str, folder_fd: int, path: str) -> FileState | None:
    try:
        fd, status = _open_regular(name, folder_fd, path)
    except FileNotFoundError:
        return None
    try:
        if status.st_size > MAX_DIGEST_BYTES:
            raise EnvironmentFault(
                f"{printable_path(path)} is too large to change: {format_bytes(status.st_size)}, the limit is {format_bytes(MAX_DIGEST_BYTES)}."
            )
        digest = hashlib.sha256()
        for piece in _read_chunks(fd, MAX_DIGEST_BYTES, path):
            digest.update(piece)
        return FileState(digest.hexdigest(), status, read_attributes(fd))
    finally:
        os.close(fd)


def _check_expected(state: FileState | None, expect: str | None, path: str) -> None:
    if state is None:
        if expect is not None:
            raise StaleFile(f"{printable_path(path)} no longer exists.", hint="List the folder again.")
        return
    if expect is None:
        raise StaleFile(f"{printable_path(path)} already exists.", hint="Read it before replacing it.")
    if state.digest != expect:
        raise StaleFile(f"{printable_path(path)} has changed since it was read.", hint="Read it again.")


def _replace_file(
    name: str, folder_fd: int, path: str, data: bytes, state: FileState | None
) -> os.stat_result:
    # The replacement is a new file, so the system itself would not refuse to replace a write-protected one.
    if state is not None and not state.status.st_mode & 0o222:
        raise EnvironmentFault(
            f"{printable_path(path)} is write-protected (mode {stat.S_IMODE(state.status.st_mode):03o}).",
            hint="Change its mode first if you really want to change the file.",
        )

    def check_again() -> None:
        # Writing the new content took time. Another program may have changed the file meanwhile.
        if state is None:
            _check_expected(_read_state(name, folder_fd, path), None, path)
        else:
            _check_unchanged(name, folder_fd, path, state)

    try:
        return replace_file(name, folder_fd, data, state, check_again)
    except FileExistsError as error:
        raise StaleFile(
            f"{printable_path(path)} already exists.", hint="Read it before replacing it."
        ) from error


def _check_unchanged(name: str, folder_fd: int, path: str, state: FileState) -> None:
    # Only the stat data: hashing a large file again would take long, and leave time for another change.
    current = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    before = state.status
    if (current.st_ino, current.st_size, current.st_mtime_ns) != (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    ):
        raise StaleFile(f"{printable_path(path)} has changed since it was read.", hint="Read it again.")
