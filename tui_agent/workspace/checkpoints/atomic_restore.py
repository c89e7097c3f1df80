"""Moving files into their places, all of them or none.

Everything is laid out first in a staging folder in the workspace; the moves that follow are written down there as a
journal, and each of them can be undone from what the staging folder then holds, also after the program was killed.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tui_agent.workspace.checkpoints.rooted_files import FILE_FLAGS, FOLDER_FLAGS, Anchored

JOURNAL = "journal.json"
SAVED = ".tui-agent-saved-"
"""How the folder's name begins in which an undone restore keeps what it could not put back."""
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


Mark = tuple[int, int, int]
"""By which a file is known again, under whatever name: its inode, time of change and size."""


@dataclass(frozen=True, slots=True)
class Move:
    """One act on a path. `staged` numbers what is laid out for it, which `mark` tells; `before` is the bits that it
    had."""

    kind: Literal["write", "create", "remove", "mode", "mkdir", "rmdir"]
    path: str
    staged: int
    bits: int = 0
    before: int = 0
    mark: Mark | None = None


class Staging:
    """The staging folder `name` of one restore."""

    def __init__(self, files: Anchored, name: str, acts: FileActs) -> None:
        self._files = files
        self._name = name
        self._acts = acts
        self._held: int | None = None

    def open(self) -> None:
        """Make the folder, and hold it as long as this process lives or until it is cleared."""
        with self._files.folder([]) as root:
            self._acts.mkdir(self._name, root)
            os.chmod(self._name, 0o700, dir_fd=root)
        self.hold()

    def hold(self) -> bool:
        """Take hold of the folder; False where another process is at work in it."""
        try:
            with self._files.folder([]) as root:
                fd = os.open(self._name, FOLDER_FLAGS, dir_fd=root)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError:
            os.close(fd)  # a file system without locks
            return True
        self._held = fd
        return True

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def lay_out(self, number: int, content: bytes, bits: int, *, link: bool) -> None:
        """Put a new file or link there, to be moved later."""
        with self._files.folder([self._name]) as stage:
            if link:
                self._acts.symlink(content, f"{number}.new", stage)
            else:
                self._acts.write(f"{number}.new", stage, content, bits)

    def carry_out(self, moves: Sequence[Move]) -> None:
        """All moves; on a fault none. Raises OSError."""
        with self._files.folder([self._name]) as stage:
            marked = [replace(move, mark=_mark(f"{move.staged}.new", stage)) for move in moves]
            journal = json.dumps([asdict(move) for move in marked]).encode()
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

    def undo(self) -> tuple[str, ...]:
        """Put everything back as it was before, but for what someone else changed since: such a path stays as it is.

        Returns these paths; what stood there before is then kept in a folder beside. Does nothing where nothing was
        moved. Raises OSError.
        """
        left: list[Move] = []
        try:
            with self._files.folder([self._name]) as stage:
                for move in reversed(_journal(stage)):
                    with contextlib.suppress(FileNotFoundError):
                        self._undo(stage, move, left)
            self._save([move for move in left if move.kind != "create"])
            self.clear()
        except FileNotFoundError:
            return ()  # it never was there
        finally:
            self._let_go()
        return tuple(sorted(move.path for move in left))

    def _undo(self, stage: int, move: Move, left: list[Move]) -> None:
        old = f"{move.staged}.old"
        with self._files.parent(move.path) as (fd, name):
            match move.kind:
                case "create":
                    if _mark(name, fd) == move.mark:
                        self._acts.unlink(name, fd)
                    elif not _there(f"{move.staged}.new", stage):
                        left.append(move)
                case "write" | "remove":
                    before = os.lstat(old, dir_fd=stage)
                    if _free(name, fd, move, before):
                        self._acts.rename(old, stage, name, fd)
                    else:
                        left.append(move)
                case "mode":
                    if stat.S_IMODE(os.lstat(name, dir_fd=fd).st_mode) == move.bits:
                        self._acts.chmod(name, fd, move.before)
                case "mkdir":
                    with _tolerated(errno.ENOTEMPTY):
                        self._acts.rmdir(name, fd)
                case "rmdir":
                    with _tolerated(errno.EEXIST):
                        self._acts.mkdir(name, fd)
                        os.chmod(name, move.before, dir_fd=fd)

    def _save(self, moves: Sequence[Move]) -> None:
        """Keep what stood at these paths before in a folder of the workspace."""
        if not moves:
            return
        with self._files.folder([]) as root:
            os.mkdir(self.saved, 0o700, dir_fd=root)
        with self._files.folder([self._name]) as stage, self._files.folder([self.saved]) as saved:
            for move in moves:
                name = f"{move.staged}-{move.path.rsplit('/', 1)[-1]}"
                os.rename(f"{move.staged}.old", name, src_dir_fd=stage, dst_dir_fd=saved)

    @property
    def saved(self) -> str:
        """Where `undo` keeps what it could not put back."""
        return SAVED + self._name.rsplit("-", 1)[-1]

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
        finally:
            self._let_go()


def _journal(stage: int) -> list[Move]:
    try:
        file = os.open(JOURNAL, FILE_FLAGS, dir_fd=stage)
    except FileNotFoundError:
        return []
    with os.fdopen(file, "rb") as reader:
        content = reader.read()
    try:
        return [_move_of(words) for words in json.loads(content)]
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise OSError(errno.EIO, f"the journal of a restore is damaged: {fault}") from fault


def _move_of(words: dict[str, Any]) -> Move:
    mark = words.pop("mark")
    return Move(**words, mark=None if mark is None else (int(mark[0]), int(mark[1]), int(mark[2])))


def _mark(name: str, fd: int) -> Mark | None:
    """By what the file is known again; None where there is none."""
    try:
        found = os.lstat(name, dir_fd=fd)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _there(name: str, fd: int) -> bool:
    return _mark(name, fd) is not None


def _free(name: str, fd: int, move: Move, before: os.stat_result) -> bool:
    """Whether what stood at a path can go back there: nothing is there now, or what was moved there, or it is there
    already."""
    try:
        now = os.lstat(name, dir_fd=fd)
    except FileNotFoundError:
        return True
    same = (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino)
    return same or (now.st_ino, now.st_mtime_ns, now.st_size) == move.mark


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
