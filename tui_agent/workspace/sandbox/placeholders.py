"""Names that must not come to be while a command runs: something harmless stands there meanwhile.

A sandbox can protect only what is there. So an empty folder is made at each such name that is free, and taken away when
no command of any process runs in the workspace any more; what was left behind by a killed process is taken away by the
next. Invariant: only what was made here, and is still as it was made, is ever taken away.
"""

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

_FILES = {"commondir": b".\n", "config.worktree": b""}
"""Names that a repository's own folder has as files, with a content that changes nothing."""
_LARGEST = 100_000


class Placeholders:
    """Those of one workspace, by a lock in `records` that all processes share. Blocking: meant for a thread."""

    def __init__(self, root: str, records: Path) -> None:
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._root = root.rstrip("/")
        self._file = records / f"{digest}.json"

    @contextmanager
    def held(self, paths: Sequence[str], one_of: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
        """Make what is free of these, and yield all that stands in the workspace so, whoever holds it; while any holds them,
        nobody takes them away. Of `one_of` the first that is free is one of these.

        Raises OSError where one can neither be made nor is there.
        """
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _opened(self._file)
        try:
            with self._alone():
                self._leave(descriptor)
                known = _noted(descriptor)
                free = (path for path in one_of if path in known or not os.path.lexists(path))
                paths = (*paths, *islice(free, 1))
                made = [path for path in paths if not os.path.lexists(path)]
                standing = {*known, *made}
                _note(descriptor, sorted(standing))
                for path in made:
                    _make(path, self._content(path))
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield tuple(sorted(standing))
        finally:
            with self._alone():
                self._leave(descriptor)
                os.close(descriptor)

    def _content(self, path: str) -> bytes | None:
        """What stands in it; None: it is a folder. At the top of the workspace each is one: git passes over a folder that
        is empty, and stops at one where it would read a file."""
        folder, _, name = path.rpartition("/")
        return None if folder == self._root else _FILES.get(name)

    def _leave(self, descriptor: int) -> None:
        """Take away what was made, unless somebody else still holds it."""
        if _try_alone(descriptor):
            for path in _noted(descriptor):
                _take_away(path, self._content(path))
            _note(descriptor, ())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The short time in which it is told who holds what."""
        descriptor = _opened(self._file.with_suffix(".lock"))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _opened(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try_alone(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make(path: str, content: bytes | None) -> None:
    with suppress(FileExistsError):  # somebody was quicker: then it is there
        if content is None:
            Path(path).mkdir(0o700)
            return
        descriptor, named = _new_file(path)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(content)
            if (
                not named
            ):  # only with a folder's descriptor, which an absolute path needs not, links are followed
                os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def _new_file(path: str) -> tuple[int, bool]:
    """Return a new file, and if it has its name already. Where it can, it gets its name after its content: git, which another
    program may run at that moment, stops at a `commondir` that is empty."""
    if sys.platform == "linux":
        with suppress(OSError):  # not every file system has files without a name
            return os.open(Path(path).parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600), False
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), True


def _take_away(path: str, content: bytes | None) -> None:
    with suppress(OSError):  # gone, or no longer as it was made: then it is somebody's
        if content is None:
            Path(path).rmdir()
        elif not Path(path).is_symlink() and Path(path).read_bytes() in (
            content,
            b"",
        ):  # empty: killed meanwhile
            Path(path).unlink()


def _noted(descriptor: int) -> list[str]:
    data = os.pread(descriptor, _LARGEST, 0)
    try:
        found = json.loads(data) if data else []
    except ValueError:  # cut by a crash: nothing is known to be ours
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _note(descriptor: int, paths: Sequence[str]) -> None:
    os.ftruncate(descriptor, 0)
    if paths:
        os.pwrite(descriptor, json.dumps(list(paths)).encode(), 0)
