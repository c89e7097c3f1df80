"""L1: the few calls of the operating system that the store makes, as a port, so that a test can make each one fail.

Invariant: nothing else in the store writes, syncs, truncates or renames.
"""

import os
from pathlib import Path
from typing import Protocol

FILE_MODE, FOLDER_MODE = 0o600, 0o700


class FileOps(Protocol):
    """Each raises OSError as `os` does; `write` may be short."""

    def open(self, path: Path, flags: int) -> int: ...
    def close(self, fd: int) -> None: ...
    def write(self, fd: int, data: bytes) -> int: ...
    def sync(self, fd: int) -> None: ...
    def truncate(self, fd: int, size: int) -> None: ...
    def rename(self, source: Path, target: Path) -> None: ...
    def unlink(self, path: Path) -> None: ...


class SystemFiles:
    """The real thing: every file is 0600 and closed in child programs."""

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Content to stable storage, with what is needed to read it back."""
        getattr(os, "fdatasync", os.fsync)(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)


def write_all(ops: FileOps, fd: int, data: bytes) -> None:
    """Write all of `data`, going on after short writes. Raises OSError; a write of nothing is one."""
    view = memoryview(data)
    while view:
        written = ops.write(fd, bytes(view))
        if written <= 0:
            raise OSError("the file takes no more bytes")
        view = view[written:]


def sync_path(ops: FileOps, path: Path) -> None:
    """Sync a file or folder that is not open."""
    fd = ops.open(path, os.O_RDONLY)
    try:
        ops.sync(fd)
    finally:
        ops.close(fd)


def write_file(ops: FileOps, path: Path, data: bytes, *, sync: bool) -> None:
    """Make `path` hold exactly `data`, by a new file and a rename: a reader sees the old or the new, never half."""
    draft = path.with_name(f".{path.name}.new")
    fd = ops.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(ops, fd, data)
        if sync:
            ops.sync(fd)
    except OSError:
        ops.close(fd)
        ops.unlink(draft)
        raise
    ops.close(fd)
    ops.rename(draft, path)
    if sync:
        sync_path(ops, path.parent)
