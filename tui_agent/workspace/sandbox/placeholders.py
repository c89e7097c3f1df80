"""Protection of names that commands must not create: placeholders, and renaming of new files with these names.

A sandbox can protect only existing paths, so an empty folder is created at each missing name. New settings of other
programs, such as `.vscode`, are renamed when the command has ended, because other programs would use them without
asking. This file is also a program: it removes the placeholders of a killed process, with only the standard library.

Invariant: a placeholder is removed only if it is unchanged. Nothing that existed before the command is touched.
"""

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path

SUFFIX = ".sandboxed"


@contextmanager
def rename_new(root: str, names: Iterable[str], more: Callable[[], Iterable[str]]) -> Iterator[list[str]]:
    """Rename new files at the top of the workspace that have one of the `names`, at the end of the `with` block.

    A file is new if it appeared during the block. Yield a list that gets a note on each renamed file.

    `more`: function that returns further names at the end of the block, such as `HEAD`.
    """
    before = set(os.listdir(root))  # noqa: PTH208 - only names are needed
    notes: list[str] = []
    try:
        yield notes
    finally:
        for name in (*names, *more()):
            path = f"{root.rstrip('/')}/{name}"
            if name not in before and os.path.lexists(path):
                notes.append(f"{name} appeared while the command ran. {_rename(path)}")


def _rename(path: str) -> str:
    free = next(free for number in count() if not os.path.lexists(free := f"{path}{SUFFIX}{number or ''}"))
    try:
        os.rename(path, free)  # noqa: PTH104 - a link is renamed, not followed
    except OSError as error:
        return f"It could not be renamed ({error.strerror}), although other programs use it without asking."
    new_name = free.rpartition("/")[2]
    return f"It was renamed to {new_name}, because other programs use it without asking. Only the user may rename it back."


_FILES = {"commondir": b".\n", "config.worktree": b""}
"""Maps a name in a git folder to a placeholder's content. Git ignores this content."""
_MAX_RECORD_BYTES = 100_000


class Placeholders:
    """Placeholders of one workspace, shared by all processes through a file in the folder `records`.

    The methods block: call them in a thread.
    """

    def __init__(self, root: str, records: Path) -> None:
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._root = root.rstrip("/")
        self._file = records / f"{digest}.json"

    @contextmanager
    def hold(self, paths: Sequence[str], one_of: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
        """Create placeholders at the missing `paths`, and yield all existing placeholders.

        No placeholder is removed during the `with` block. Raise `OSError` if a placeholder cannot be created.

        `one_of`: further paths. Of these, only the first missing path gets a placeholder.
        """
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _open_lock_file(self._file)
        try:
            with self._lock_registry():
                self._remove_if_unused(descriptor)
                recorded = _read_record(descriptor)
                free = (path for path in one_of if path in recorded or not os.path.lexists(path))
                paths = (*paths, *islice(free, 1))
                created = [path for path in paths if not os.path.lexists(path)]
                existing = {*recorded, *created}
                # The record comes first: after a crash, each placeholder on disk must be known as ours.
                _write_record(descriptor, sorted(existing))
                for path in created:
                    _create_placeholder(path, self._content_of(path))
                # All holders share this lock. Who can lock it exclusively is the last one, and removes the
                # placeholders.
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield tuple(sorted(existing))
        finally:
            with self._lock_registry():
                self._remove_if_unused(descriptor)
                os.close(descriptor)

    def removal_command(self) -> tuple[str, ...]:
        """Return the command that removes a killed process's placeholders."""
        program = (os.path.realpath(sys.executable), "-I", "-S", "-B", __file__)
        return (*program, self._root or "/", str(self._file.parent))

    def remove_unused(self) -> None:
        """Remove the placeholders if no process holds them any more."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self._file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                with self._lock_registry():
                    self._remove_if_unused(descriptor)
            finally:
                os.close(descriptor)

    def _content_of(self, path: str) -> bytes | None:
        """Return the content of a placeholder, or None if it is a folder."""
        # At the top of the workspace, placeholders are folders: git skips an empty folder, but would read a file.
        folder, _, name = path.rpartition("/")
        return None if folder == self._root else _FILES.get(name)

    def _remove_if_unused(self, descriptor: int) -> None:
        if _try_exclusive_lock(descriptor):
            for path in _read_record(descriptor):
                _remove_placeholder(path, self._content_of(path))
            _write_record(descriptor, ())

    @contextmanager
    def _lock_registry(self) -> Iterator[None]:
        descriptor = _open_lock_file(self._file.with_suffix(".lock"))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _open_lock_file(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try_exclusive_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _create_placeholder(path: str, content: bytes | None) -> None:
    with suppress(FileExistsError):  # another process created it first
        if content is None:
            Path(path).mkdir(0o700)
            return
        descriptor, has_name = _new_file(path)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(content)
            if not has_name:
                # `os.link` follows the link in /proc only if it gets a folder descriptor, although the paths are absolute.
                os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def _new_file(path: str) -> tuple[int, bool]:
    """Open a new file at `path`, and return (descriptor, True if the file already has its name)."""
    # If possible, the file gets its name only when its content is written: git would fail on an empty `commondir`.
    if sys.platform == "linux":
        with suppress(OSError):  # not every file system supports nameless files
            return os.open(Path(path).parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600), False
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), True


def _remove_placeholder(path: str, content: bytes | None) -> None:
    with suppress(OSError):  # deleted or changed by someone else
        if content is None:
            Path(path).rmdir()
        # The file is empty if the process was killed while writing.
        elif not Path(path).is_symlink() and Path(path).read_bytes() in (content, b""):
            Path(path).unlink()


def _read_record(descriptor: int) -> list[str]:
    data = os.pread(descriptor, _MAX_RECORD_BYTES, 0)
    try:
        paths = json.loads(data) if data else []
    except ValueError:  # truncated by a crash, so no placeholder is known to be ours
        return []
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def _write_record(descriptor: int, paths: Sequence[str]) -> None:
    os.ftruncate(descriptor, 0)
    if paths:
        os.pwrite(descriptor, json.dumps(list(paths)).encode(), 0)


if __name__ == "__main__":
    Placeholders(sys.argv[1], Path(sys.argv[2])).remove_unused()
