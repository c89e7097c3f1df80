"""Files below one folder, opened one path component at a time and never through a link."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tui_agent.fast_dataclass import dataclass

Kind = Literal["file", "link", "absent", "folder", "special", "unreadable", "behind"]
"""Kind of the file at a path.

`behind`: a parent of the path is a link or a file, so the path is not in the workspace.
"""

PLAIN, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000
CHUNK = 1 << 20
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class BlockedPath(OSError):
    """Raised if a parent of a path is not a folder (but a link, for example)."""


@dataclass(frozen=True, slots=True)
class FileState:
    """State of the file at a path.

    - `content`: set if it was requested and is not too large
    - `oid`: git's id, set if the file was read whole

    A file that another program truncates while it is read has neither.
    """

    kind: Kind
    bits: int = 0
    size: int = 0
    oid: str = ""
    content: bytes | None = None
    stat: os.stat_result | None = None

    @property
    def can_be_saved(self) -> bool:
        """True for files and links; a checkpoint can contain nothing else."""
        return self.kind in ("file", "link")

    @property
    def git_mode(self) -> int:
        """Git's mode of the file; 0 if a checkpoint cannot contain it."""
        if self.kind == "link":
            return LINK
        return 0 if self.kind != "file" else EXECUTABLE if self.bits & 0o100 else PLAIN


ABSENT = FileState("absent")


def object_id(content: bytes) -> str:
    """Return the id that git gives a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class RootedFiles:
    """The files below the folder `root`, addressed by relative paths with `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextlib.contextmanager
    def folder(self, parts: list[str]) -> Iterator[int]:
        """Yield an open descriptor of the folder at the path `parts`.

        Raise `BlockedPath` if a part is not a folder, and `FileNotFoundError` if a part is missing.
        """
        # Each folder is opened from its parent, so that no part of the path can be a link, not even for a moment.
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                try:
                    next_fd = os.open(part, FOLDER_FLAGS, dir_fd=fd)
                except NotADirectoryError as fault:
                    raise BlockedPath(fault.errno, f"{part} is not a folder") from fault
                except OSError as fault:
                    if isinstance(fault, FileNotFoundError | PermissionError):
                        raise
                    raise BlockedPath(fault.errno, f"{part} is not a folder") from fault
                os.close(fd)
                fd = next_fd
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield an open descriptor of `path`'s folder, and the last component of the path."""
        *parts, name = path.split("/")
        with self.folder(parts) as fd:
            yield fd, name

    @contextlib.contextmanager
    def open_reader(self) -> Iterator["PathReader"]:
        """Yield a reader for many paths; sorted paths are read fastest."""
        reader = PathReader(self)
        try:
            yield reader
        finally:
            reader.close()

    def read_state(self, path: str, *, read: bool = True, max_bytes: int = 0) -> FileState:
        """Return the state of the file at a path.

        `read`: True to read the file for its object id. The result has the content if it has at most `max_bytes` bytes.
        """
        with self.open_reader() as reader:
            return reader.read_state(path, read=read, max_bytes=max_bytes)


class PathReader:
    """Reads the files at many paths, and keeps the last folder open for the next path."""

    def __init__(self, files: RootedFiles) -> None:
        self._files = files
        self._parts: list[str] = []
        self._open = contextlib.ExitStack()
        self._fd = -1

    def close(self) -> None:
        self._open.close()
        self._fd = -1

    def read_state(
        self, path: str, *, read: bool = True, max_bytes: int = 0, skip_larger: bool = False
    ) -> FileState:
        """Return the state of the file at a path, like `RootedFiles.read_state`.

        `skip_larger`: True to leave files above `max_bytes` bytes unread.
        """
        *parts, name = path.split("/")
        try:
            if self._fd < 0 or parts != self._parts:
                self.close()
                self._fd, self._parts = self._open.enter_context(self._files.folder(parts)), parts
            return self._read_entry(self._fd, name, read, max_bytes, skip_larger)
        except BlockedPath:
            return FileState("behind")
        except FileNotFoundError:
            return ABSENT
        except PermissionError:
            return FileState("unreadable")

    def _read_entry(self, fd: int, name: str, read: bool, max_bytes: int, skip_larger: bool) -> FileState:
        status = os.lstat(name, dir_fd=fd)
        bits = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return FileState("folder", bits)
        if stat.S_ISLNK(status.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=fd))
            return FileState("link", bits, len(target), object_id(target), target, status)
        if not stat.S_ISREG(status.st_mode):
            return FileState("special", bits)
        file = os.open(name, FILE_FLAGS, dir_fd=fd)
        with os.fdopen(file, "rb", buffering=0) as reader:
            status = os.fstat(file)  # again, because the file may have been replaced before it was opened
            if not stat.S_ISREG(status.st_mode):
                return FileState("special", bits)
            bits, size = stat.S_IMODE(status.st_mode), status.st_size
            if not read or (skip_larger and size > max_bytes):
                return FileState("file", bits, size, stat=status)
            digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            data, remaining = bytearray(), size
            # At most `size` bytes, because a file that another program appends to may never end.
            while remaining and (chunk := reader.read(min(CHUNK, remaining))):
                digest.update(chunk)
                remaining -= len(chunk)
                if size <= max_bytes:
                    data += chunk
        if remaining:  # another program has truncated the file meanwhile
            return FileState("file", bits, size, stat=status)
        content = bytes(data) if size <= max_bytes else None
        return FileState("file", bits, size, digest.hexdigest(), content, status)
