"""The few calls of the operating system that the store makes, as a port, so that a test can make each one fail.

Invariant: nothing else in the store writes, syncs, truncates or renames.
"""

import errno
import os
from pathlib import Path
from typing import Protocol

from tui_agent.errors import StoreError, StoreFull, StoreUnusable

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
    def stands(self, fd: int, path: Path) -> bool:
        """Whether the open file is still the one that `path` names."""
        ...


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

    def stands(self, fd: int, path: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), path.lstat())
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # it cannot be told, and the open file takes what comes


_ADVICE = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space of your quota",
    errno.EACCES: "Check its permissions",
    errno.EPERM: "Check its permissions",
    errno.EROFS: "Make its disk writable, which is mounted read-only",
    errno.ENOTDIR: "Move away the file that stands where a folder is needed",
    errno.EEXIST: "Move away the file that stands where a folder is needed",
    errno.EISDIR: "Move away the folder that stands where a file is needed",
    errno.ENOENT: "Make its folder, which is not there",
    errno.ELOOP: "Correct its links, which lead in a circle",
    errno.ENAMETOOLONG: "Take a shorter name",
}


def is_full(fault: OSError) -> bool:
    """Whether it is the space, or the disk itself, that failed: not how the folder was set up."""
    return fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or fault.errno not in _ADVICE


def advice(fault: OSError) -> str:
    """What to do about a file of the store that could not be made, read or written: one sentence without its end."""
    return _ADVICE.get(fault.errno or 0, "Check the disk")


def unusable(fault: OSError, what: str, more: str = "") -> StoreError:
    """`what` failed: `StoreFull` where space or disk did, `StoreUnusable` where the folder is set up so; with advice."""
    kind = StoreFull if is_full(fault) else StoreUnusable
    return kind(f"{what}: {fault.strerror or fault}.", hint=f"{advice(fault)}{more}.")


def make_folder(path: Path) -> None:
    """A folder, with those above it, for this user alone; one that is there stays as it is. Raises OSError."""
    if not path.is_dir():
        if path.parent != path:
            make_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)


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
