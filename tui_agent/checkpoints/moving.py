"""L3: moving files into their places, all of them or none.

Everything is laid out first in a staging folder in the workspace; the moves that follow are written down there as a
journal, and each of them can be undone from what the staging folder then holds, also after the program was killed.
"""

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tui_agent.checkpoints.anchored import FILE_FLAGS, Anchored

JOURNAL = "journal.json"
TEMPORARY = 0o600
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


class FileActs:
    """The calls of the operating system that change the workspace, so that a test can make each one fail."""

    def link(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        """A second name for a file or a link; never over another."""
        os.link(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd, follow_symlinks=False)

    def rename(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        """Move over whatever file stands there."""
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)

    def unlink(self, name: str, fd: int) -> None:
        """Remove a file or link."""
        os.unlink(name, dir_fd=fd)

    def mkdir(self, name: str, fd: int) -> None:
        """Make a folder."""
        os.mkdir(name, dir_fd=fd)

    def rmdir(self, name: str, fd: int) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=fd)

    def chmod(self, name: str, fd: int, bits: int) -> None:
        """Set the bits of a regular file, not of what a link points to."""
        file = os.open(name, FILE_FLAGS, dir_fd=fd)
        try:
            os.fchmod(file, bits)
        finally:
            os.close(file)

    def write(self, name: str, fd: int, content: bytes, bits: int, *, sync: bool = False) -> None:
        """A new file with these bits; with `sync` it is on the disk when this returns."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, TEMPORARY, dir_fd=fd)
        with os.fdopen(file, "wb") as writer:
            writer.write(content)
            writer.flush()
            os.fchmod(file, bits)
            if sync:
                os.fsync(file)

    def symlink(self, target: bytes, name: str, fd: int) -> None:
        """A new link."""
        os.symlink(os.fsdecode(target), name, dir_fd=fd)


@dataclass(frozen=True, slots=True)
class Move:
    """One act on a path. `staged` numbers what is laid out for it; `before` is the bits that it had."""

    kind: Literal["write", "create", "remove", "mode", "mkdir", "rmdir"]
    path: str
    staged: int
    bits: int = 0
    before: int = 0


class Staging:
    """The staging folder `name` of one restore."""

    def __init__(self, files: Anchored, name: str, acts: FileActs) -> None:
        self._files = files
        self._name = name
        self._acts = acts

    def open(self) -> None:
        """Make the folder."""
        with self._files.folder([]) as root:
            self._acts.mkdir(self._name, root)
            os.chmod(self._name, 0o700, dir_fd=root)

    def lay_out(self, number: int, content: bytes, bits: int, *, link: bool) -> None:
        """Put a new file or link there, to be moved later."""
        with self._files.folder([self._name]) as stage:
            if link:
                self._acts.symlink(content, f"{number}.new", stage)
            else:
                self._acts.write(f"{number}.new", stage, content, bits)

    def carry_out(self, moves: Sequence[Move]) -> None:
        """All moves; on a fault none. Raises OSError."""
        journal = json.dumps([asdict(move) for move in moves]).encode()
        with self._files.folder([self._name]) as stage:
            self._acts.write(f"{JOURNAL}.new", stage, journal, TEMPORARY, sync=True)
            self._acts.rename(f"{JOURNAL}.new", stage, JOURNAL, stage)
            for move in moves:
                self._do(stage, move)

    def _do(self, stage: int, move: Move) -> None:
        new, old = f"{move.staged}.new", f"{move.staged}.old"
        with self._files.parent(move.path) as (fd, name):
            match move.kind:
                case "create":
                    self._second_name(new, stage, name, fd)
                case "write":
                    self._second_name(name, fd, old, stage)
                    self._acts.rename(new, stage, name, fd)
                case "remove":
                    self._acts.rename(name, fd, old, stage)
                case "mode":
                    self._acts.chmod(name, fd, move.bits)
                case "mkdir":
                    self._acts.mkdir(name, fd)
                case "rmdir":
                    self._acts.rmdir(name, fd)

    def _second_name(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        """Link; where the file system or the file's owner forbids it, move."""
        try:
            self._acts.link(source, source_fd, target, target_fd)
        except OSError as fault:
            if fault.errno not in NO_LINKS:
                raise
            self._acts.rename(source, source_fd, target, target_fd)

    def undo(self) -> None:
        """Put everything back as it was before; does nothing where nothing was moved. Raises OSError."""
        try:
            with self._files.folder([self._name]) as stage:
                for move in reversed(_journal(stage)):
                    with contextlib.suppress(FileNotFoundError):
                        self._undo(stage, move)
        except FileNotFoundError:
            return
        self.clear()

    def _undo(self, stage: int, move: Move) -> None:
        old = f"{move.staged}.old"
        with self._files.parent(move.path) as (fd, name):
            match move.kind:
                case "create":
                    if _arrived(f"{move.staged}.new", stage, name, fd):
                        self._acts.unlink(name, fd)
                case "write" | "remove":
                    self._acts.rename(old, stage, name, fd)
                case "mode":
                    self._acts.chmod(name, fd, move.before)
                case "mkdir":
                    with _tolerated(errno.ENOTEMPTY):
                        self._acts.rmdir(name, fd)
                case "rmdir":
                    with _tolerated(errno.EEXIST):
                        self._acts.mkdir(name, fd)
                        os.chmod(name, move.before, dir_fd=fd)

    def clear(self) -> None:
        """Remove the folder and all that is in it, first of all the journal. Raises OSError."""
        try:
            with self._files.folder([self._name]) as stage:
                with os.scandir(stage) as found:
                    names = [entry.name for entry in found]
                for name in sorted(names, key=lambda name: name != JOURNAL):
                    os.unlink(name, dir_fd=stage)
            with self._files.folder([]) as root:
                os.rmdir(self._name, dir_fd=root)
        except FileNotFoundError:
            return


def _journal(stage: int) -> list[Move]:
    try:
        file = os.open(JOURNAL, FILE_FLAGS, dir_fd=stage)
    except FileNotFoundError:
        return []
    with os.fdopen(file, "rb") as reader:
        content = reader.read()
    try:
        return [Move(**move) for move in json.loads(content)]
    except (ValueError, TypeError) as fault:
        raise OSError(errno.EIO, f"the journal of a restore is damaged: {fault}") from fault


def _arrived(new: str, stage: int, name: str, fd: int) -> bool:
    """Whether what stands there is what was laid out: it has both names, or the first is gone."""
    there = os.lstat(name, dir_fd=fd)
    try:
        laid_out = os.lstat(new, dir_fd=stage)
    except FileNotFoundError:
        return True
    return (laid_out.st_dev, laid_out.st_ino) == (there.st_dev, there.st_ino)


@contextlib.contextmanager
def _tolerated(number: int) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        if fault.errno != number:
            raise


def folder_bits(root: Path, path: str) -> int:
    """The permission bits of a folder."""
    return stat.S_IMODE((root / path).lstat().st_mode)
