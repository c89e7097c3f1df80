"""Files below one folder, reached component by component and never through a link."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["file", "link", "absent", "folder", "special", "unreadable", "behind"]
"""`behind`: a parent is a link or a file, so that nothing of the workspace can be there."""

PLAIN, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000
CHUNK = 1 << 20
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Blocked(OSError):
    """A parent of the path is not a folder of the workspace."""


@dataclass(frozen=True, slots=True)
class Stand:
    """What stands at a path. `content` is there when it was asked for and is not too large; `oid` when it was read."""

    kind: Kind
    bits: int = 0
    size: int = 0
    oid: str = ""
    content: bytes | None = None
    stat: os.stat_result | None = None

    @property
    def kept(self) -> bool:
        """Whether a checkpoint holds such a thing."""
        return self.kind in ("file", "link")

    @property
    def git_mode(self) -> int:
        """Git's mode of it; 0 for what a checkpoint does not hold."""
        if self.kind == "link":
            return LINK
        return 0 if self.kind != "file" else EXECUTABLE if self.bits & 0o100 else PLAIN


ABSENT = Stand("absent")


def object_id(content: bytes) -> str:
    """Git's name of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Anchored:
    """The files below `root`. Paths are relative, with `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextlib.contextmanager
    def folder(self, parts: list[str]) -> Iterator[int]:
        """A descriptor of a folder. Raises `Blocked` where a part is no folder, FileNotFoundError where it is absent."""
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                try:
                    deeper = os.open(part, FOLDER_FLAGS, dir_fd=fd)
                except NotADirectoryError as fault:
                    raise Blocked(fault.errno, f"{part} is not a folder") from fault
                except OSError as fault:
                    if isinstance(fault, FileNotFoundError | PermissionError):
                        raise
                    raise Blocked(fault.errno, f"{part} is not a folder") from fault
                os.close(fd)
                fd = deeper
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """A descriptor of the path's folder, and its last name."""
        *parts, name = path.split("/")
        with self.folder(parts) as fd:
            yield fd, name

    @contextlib.contextmanager
    def near(self) -> Iterator["Near"]:
        """For looking at many paths in order."""
        near = Near(self)
        try:
            yield near
        finally:
            near.leave()

    def stand(self, path: str, *, read: bool = True, most: int = 0) -> Stand:
        """What stands there; with `read` its name as an object, with its content where that is up to `most` bytes."""
        with self.near() as near:
            return near.stand(path, read=read, most=most)


class Near:
    """Looks at paths; the folder of the last one stays open for the next."""

    def __init__(self, files: Anchored) -> None:
        self._files = files
        self._parts: list[str] = []
        self._open = contextlib.ExitStack()
        self._fd = -1

    def leave(self) -> None:
        """Close the folder."""
        self._open.close()
        self._fd = -1

    def stand(self, path: str, *, read: bool = True, most: int = 0, whole: bool = False) -> Stand:
        """As `Anchored.stand`; with `whole` what is above `most` bytes is not read at all."""
        *parts, name = path.split("/")
        try:
            if self._fd < 0 or parts != self._parts:
                self.leave()
                self._fd, self._parts = self._open.enter_context(self._files.folder(parts)), parts
            return self._stand(self._fd, name, read, most, whole)
        except Blocked:
            return Stand("behind")
        except FileNotFoundError:
            return ABSENT
        except PermissionError:
            return Stand("unreadable")

    def _stand(self, fd: int, name: str, read: bool, most: int, whole: bool) -> Stand:
        found = os.lstat(name, dir_fd=fd)
        bits = stat.S_IMODE(found.st_mode)
        if stat.S_ISDIR(found.st_mode):
            return Stand("folder", bits)
        if stat.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=fd))
            return Stand("link", bits, len(target), object_id(target), target, found)
        if not stat.S_ISREG(found.st_mode):
            return Stand("special", bits)
        file = os.open(name, FILE_FLAGS, dir_fd=fd)
        with os.fdopen(file, "rb", buffering=0) as reader:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                return Stand("special", bits)
            bits, size = stat.S_IMODE(found.st_mode), found.st_size
            if not read or (whole and size > most):
                return Stand("file", bits, size, stat=found)
            digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            held = bytearray()
            while chunk := reader.read(CHUNK):
                digest.update(chunk)
                if size <= most:
                    held += chunk
        content = bytes(held) if size <= most else None
        return Stand("file", bits, size, digest.hexdigest(), content, found)
