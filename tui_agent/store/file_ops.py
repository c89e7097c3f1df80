"""The file operations of the store as methods of one class, so that tests can make each operation fail.

Invariant: nothing else in the store writes, syncs, truncates or renames.
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from tui_agent.errors import StoreError, StoreFull, StoreUnusable

FILE_MODE, FOLDER_MODE = 0o600, 0o700


class FileOps:
    """File operations that raise `OSError` like their counterparts in `os`. Tests replace single operations.

    `write` can write only a part of the data. Files are created with mode 0600.
    """

    def open(self, path: Path, flags: int) -> int:
        # `O_NOFOLLOW`: a link at this path must not send the writes to another file.
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Bring the content of an open file, and the metadata needed to read it, to stable storage."""
        getattr(os, "fdatasync", os.fsync)(fd)  # macOS has no `fdatasync`

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def is_current(self, fd: int, path: Path) -> bool:
        """Return True if the name `path` still refers to the open file `fd`."""
        try:
            return os.path.samestat(os.fstat(fd), path.lstat())
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # unknown; continue with the open file


_ADVICE = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space in your quota",
    errno.EACCES: "Check the permissions of the folder and its files",
    errno.EPERM: "Check the permissions of the folder and its files",
    errno.EROFS: "Remount the disk as writable; it is read-only",
    errno.ENOTDIR: "Rename the file that is used as a folder in this path",
    errno.EEXIST: "Rename the file that is used as a folder in this path",
    errno.EISDIR: "Rename the folder that has this file's name",
    errno.ENOENT: "Create the missing folder",
    errno.ELOOP: "Fix the symbolic links on this path: they form a loop",
    errno.ENAMETOOLONG: "Use a shorter name",
}


def is_disk_fault(fault: OSError) -> bool:
    """Return True if a file operation failed because the disk is full or failing."""
    return fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or fault.errno not in _ADVICE


def advice_for(fault: OSError) -> str:
    """Return a sentence of advice for a failed file operation, without its final period."""
    return _ADVICE.get(fault.errno or 0, "Check the disk")


def storage_error(fault: OSError, problem: str, extra: str = "") -> StoreError:
    """Return the error for a failed operation of the store.

    `problem` says which operation failed. The hint is the sentence from `advice_for`, followed by `extra`. The error is
    `StoreFull` if the disk is full or failing, otherwise `StoreUnusable`.
    """
    kind = StoreFull if is_disk_fault(fault) else StoreUnusable
    return kind(f"{problem}: {fault.strerror or fault}.", hint=f"{advice_for(fault)}{extra}.")


def make_folder(path: Path) -> None:
    """Create a private folder and its parents. Raise `OSError` if that fails."""
    if not path.is_dir():
        # Not `mkdir(parents=True)`: it creates the parents with the default permissions.
        if path.parent != path:
            make_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)


def write_all(ops: FileOps, fd: int, data: bytes) -> None:
    """Write all of `data`. Raise `OSError` if writing fails or the file accepts no more bytes."""
    view = memoryview(data)
    while view:
        written = ops.write(fd, bytes(view))
        if written <= 0:
            raise OSError("no more data can be written to the file")
        view = view[written:]


def sync_path(ops: FileOps, path: Path) -> None:
    """Sync a file or folder that is not open."""
    fd = ops.open(path, os.O_RDONLY)
    try:
        ops.sync(fd)
    finally:
        ops.close(fd)


def write_file(ops: FileOps, path: Path, data: bytes | Iterable[bytes], *, sync: bool) -> None:
    """Replace the file `path` atomically by `data`."""
    draft = path.with_name(f".{path.name}.new")
    fd = ops.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for piece in (data,) if isinstance(data, bytes) else data:
            write_all(ops, fd, piece)
        if sync:  # before the rename, or else a power failure could leave an empty file of the new name
            ops.sync(fd)
    except OSError:
        ops.close(fd)
        ops.unlink(draft)
        raise
    ops.close(fd)
    ops.rename(draft, path)
    if sync:  # the rename itself is stored in the folder
        sync_path(ops, path.parent)
