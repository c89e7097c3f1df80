"""Moves several files into place: either all of them or none.

Invariant: every move can be undone, even after the program was killed.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json
from tui_agent.workspace.checkpoints.rooted_files import FILE_FLAGS, FOLDER_FLAGS, RootedFiles

JOURNAL = "journal.json"
SAVED_PREFIX = ".tui-agent-saved-"
"""Name prefix of a folder with the old content of files. It is created if a restore cannot be undone completely."""
TEMPORARY_MODE = 0o600
LINK_ERRNOS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


class FileOperations:
    """Operations that change files of the workspace. Tests replace them by operations that fail."""

    def link(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        """Create a second name (a hard link) for a file or a symbolic link; never overwrites."""
        os.link(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd, follow_symlinks=False)

    def rename(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        """Move a file, overwriting the target."""
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)

    def unlink(self, name: str, fd: int) -> None:
        os.unlink(name, dir_fd=fd)

    def mkdir(self, name: str, fd: int) -> None:
        os.mkdir(name, dir_fd=fd)

    def rmdir(self, name: str, fd: int) -> None:
        os.rmdir(name, dir_fd=fd)

    def chmod(self, name: str, fd: int, bits: int) -> None:
        """Set the permission bits of a regular file; a link is not followed."""
        file = os.open(name, FILE_FLAGS, dir_fd=fd)
        try:
            os.fchmod(file, bits)
        finally:
            os.close(file)

    def write(self, name: str, fd: int, content: bytes, bits: int, *, sync: bool = False) -> None:
        """Create a file with the permission bits `bits`.

        `sync`: True to wait until the content is on disk.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, TEMPORARY_MODE, dir_fd=fd)
        with os.fdopen(file, "wb") as writer:
            writer.write(content)
            writer.flush()
            os.fchmod(file, bits)
            if sync:
                os.fsync(file)

    def symlink(self, target: bytes, name: str, fd: int) -> None:
        """Create a symbolic link `name` to `target`."""
        os.symlink(os.fsdecode(target), name, dir_fd=fd)


FileIdentity = tuple[int, int, int]
"""Identity of a file independent of its name: inode, modification time in nanoseconds, size."""


@dataclass(frozen=True, slots=True)
class Move:
    """One file operation of a restore, on one path.

    - `staged`: the number N in the names of this operation's files in the staging folder, `N.new` and `N.old`
    - `identity`: identity of the new file
    - `old_bits`: permission bits before the operation
    """

    kind: Literal["write", "create", "remove", "mode", "mkdir", "rmdir"]
    path: str
    staged: int
    bits: int = 0
    old_bits: int = 0
    identity: FileIdentity | None = None


class StagingFolder:
    """The staging folder of a restore: it holds the new files before the moves, and the old files after the moves."""

    def __init__(self, files: RootedFiles, name: str, operations: FileOperations) -> None:
        self._files = files
        self._name = name
        self._operations = operations
        self._lock_fd: int | None = None

    def open(self) -> None:
        """Create the staging folder, and lock it until this process ends or `clear` is called."""
        with self._files.folder([]) as root:
            self._operations.mkdir(self._name, root)
            os.chmod(self._name, 0o700, dir_fd=root)  # the files in it may be private
        self.lock()

    def lock(self) -> bool:
        """Lock the staging folder; return False if another process is using it."""
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
            os.close(fd)  # the file system does not support locks
            return True
        self._lock_fd = fd
        return True

    def _unlock(self) -> None:
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def stage(self, number: int, content: bytes, bits: int, *, link: bool) -> None:
        """Write a new file or link into the staging folder. `number`: the field `staged` of its later `Move`."""
        with self._files.folder([self._name]) as stage:
            if link:
                self._operations.symlink(content, f"{number}.new", stage)
            else:
                self._operations.write(f"{number}.new", stage, content, bits)

    def apply(self, moves: Sequence[Move]) -> None:
        """Run the moves of a restore; after an `OSError`, the caller must call `undo`."""
        with self._files.folder([self._name]) as stage:
            marked = [replace(move, identity=_read_mark(f"{move.staged}.new", stage)) for move in moves]
            # The journal must be complete and on disk before the first move: after a crash, it is all that `undo` knows.
            journal = json.dumps([asdict(move) for move in marked]).encode()
            self._operations.write(f"{JOURNAL}.new", stage, journal, TEMPORARY_MODE, sync=True)
            self._operations.rename(f"{JOURNAL}.new", stage, JOURNAL, stage)
            for move in moves:
                self._do(stage, move)

    def _do(self, stage: int, move: Move) -> None:
        new, old = f"{move.staged}.new", f"{move.staged}.old"
        with self._files.parent(move.path) as (fd, name):
            match move.kind:
                case "create":
                    self._link_or_move(new, stage, name, fd)
                case "write":
                    # A link, not a move: the path exists at every moment, for programs that have the workspace open.
                    self._link_or_move(name, fd, old, stage)
                    self._operations.rename(new, stage, name, fd)
                case "remove":
                    self._operations.rename(name, fd, old, stage)
                case "mode":
                    self._operations.chmod(name, fd, move.bits)
                case "mkdir":
                    self._operations.mkdir(name, fd)
                case "rmdir":
                    self._operations.rmdir(name, fd)

    def _link_or_move(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        """Give a file its target name by a hard link, or by a rename if the file cannot be linked."""
        # A link fails if the target exists, while a rename would overwrite a file that someone else just created.
        try:
            self._operations.link(source, source_fd, target, target_fd)
        except OSError as fault:
            if fault.errno not in LINK_ERRNOS:
                raise
            self._operations.rename(source, source_fd, target, target_fd)

    def undo(self) -> tuple[str, ...]:
        """Undo the moves. Skip and return the paths that someone else changed after the move.

        The old content of the skipped paths is saved in `saved_folder`. Raise `OSError` if undoing or saving fails.
        """
        skipped: list[Move] = []
        try:
            with self._files.folder([self._name]) as stage:
                for move in reversed(_read_journal(stage)):
                    with contextlib.suppress(
                        FileNotFoundError
                    ):  # this move was not reached, or was undone already
                        self._undo(stage, move, skipped)
            self._save([move for move in skipped if move.kind != "create"])
            self.clear()
        except FileNotFoundError:
            return ()  # the folder was never created
        finally:
            self._unlock()
        return tuple(sorted(move.path for move in skipped))

    def _undo(self, stage: int, move: Move, skipped: list[Move]) -> None:
        old = f"{move.staged}.old"
        with self._files.parent(move.path) as (fd, name):
            match move.kind:
                case "create":
                    if _read_mark(name, fd) == move.identity:
                        self._operations.unlink(name, fd)
                    elif _read_mark(f"{move.staged}.new", stage) is None:
                        skipped.append(move)
                case "write" | "remove":
                    before = os.lstat(old, dir_fd=stage)
                    if _is_free(name, fd, move, before):
                        self._operations.rename(old, stage, name, fd)
                    else:
                        skipped.append(move)
                case "mode":
                    if stat.S_IMODE(os.lstat(name, dir_fd=fd).st_mode) == move.bits:
                        self._operations.chmod(name, fd, move.old_bits)
                case "mkdir":
                    with _ignore_error(errno.ENOTEMPTY):
                        self._operations.rmdir(name, fd)
                case "rmdir":
                    with _ignore_error(errno.EEXIST):
                        self._operations.mkdir(name, fd)
                        os.chmod(name, move.old_bits, dir_fd=fd)

    def _save(self, moves: Sequence[Move]) -> None:
        if not moves:
            return
        with self._files.folder([]) as root:
            os.mkdir(self.saved_folder, 0o700, dir_fd=root)
        with self._files.folder([self._name]) as stage, self._files.folder([self.saved_folder]) as saved_fd:
            for move in moves:
                name = f"{move.staged}-{move.path.rsplit('/', 1)[-1]}"
                os.rename(f"{move.staged}.old", name, src_dir_fd=stage, dst_dir_fd=saved_fd)

    @property
    def saved_folder(self) -> str:
        """Name of the folder for content that `undo` could not restore."""
        return SAVED_PREFIX + self._name.rsplit("-", 1)[-1]

    def clear(self) -> None:
        """Remove the staging folder and its content; raise `OSError` if this fails."""
        try:
            with self._files.folder([self._name]) as stage:
                with os.scandir(stage) as entries:
                    names = [entry.name for entry in entries]
                # The journal goes first: without it, an interrupted removal is not taken for an unfinished restore.
                for name in sorted(names, key=lambda name: name != JOURNAL):
                    os.unlink(name, dir_fd=stage)
            with self._files.folder([]) as root:
                os.rmdir(self._name, dir_fd=root)
        except FileNotFoundError:
            return
        finally:
            self._unlock()


def _read_journal(stage: int) -> list[Move]:
    try:
        file = os.open(JOURNAL, FILE_FLAGS, dir_fd=stage)
    except FileNotFoundError:
        return []
    with os.fdopen(file, "rb") as reader:
        content = reader.read()
    try:
        return [_parse_move(fields) for fields in parse_json(content)]
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise OSError(errno.EIO, f"the journal of a restore is damaged: {fault}") from fault


def _parse_move(fields: dict[str, Any]) -> Move:
    mark = fields.pop("identity")
    return Move(**fields, identity=None if mark is None else (int(mark[0]), int(mark[1]), int(mark[2])))


def _read_mark(name: str, fd: int) -> FileIdentity | None:
    try:
        status = os.lstat(name, dir_fd=fd)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _is_free(name: str, fd: int, move: Move, before: os.stat_result) -> bool:
    """Return True if undoing `move` would not overwrite anyone else's work at `name`."""
    try:
        current = os.lstat(name, dir_fd=fd)
    except FileNotFoundError:
        return True
    # The old file is still there if the program was killed between the link and the rename of a "write".
    is_old_file = (current.st_dev, current.st_ino) == (before.st_dev, before.st_ino)
    return is_old_file or (current.st_ino, current.st_mtime_ns, current.st_size) == move.identity


@contextlib.contextmanager
def _ignore_error(error_number: int) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        if fault.errno != error_number:
            raise


def read_folder_bits(root: Path, path: str) -> int:
    """Return the permission bits of the folder `path` in the workspace."""
    return stat.S_IMODE((root / path).lstat().st_mode)
