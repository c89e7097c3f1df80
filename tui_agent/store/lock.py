"""L1: the lock that makes one process the writer of a session.

Invariant: the kernel holds it, so it ends with its process, however that ends; the file's content is only a hint.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from tui_agent.errors import SessionLocked
from tui_agent.store.files import FILE_MODE

_PAUSE_S = 0.02


class WriterLock:
    """A session's exclusive lock, held from construction to `release`."""

    def __init__(self, path: Path, *, wait_s: float, pause: Callable[[float], None] = time.sleep) -> None:
        """Wait up to `wait_s` seconds, then raise `SessionLocked`."""
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            self._acquire(self._fd, path, wait_s, pause)
        except BaseException:
            self.release()
            raise
        with contextlib.suppress(OSError):  # only a hint for people; a full disk must not keep a session shut
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    @staticmethod
    def _acquire(fd: int, path: Path, wait_s: float, pause: Callable[[float], None]) -> None:
        end = time.monotonic() + wait_s
        while not _try(fd, fcntl.LOCK_EX):
            if time.monotonic() >= end:
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise SessionLocked(
                    f"The session {path.parent.name} is in use by process {holder}.",
                    hint="Close it there, or fork the session to go on from the same point.",
                )
            pause(_PAUSE_S)

    def release(self) -> None:
        """Let go; harmless when repeated."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock now. Looks for a moment only; an opener that waits is not disturbed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not _try(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _try(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as fault:
        if fault.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
