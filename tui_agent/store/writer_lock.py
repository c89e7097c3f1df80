"""The lock that makes one process the only writer of a session.

Invariant: the lock is a `flock`. The kernel releases it when the process ends.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from tui_agent.errors import SessionLocked
from tui_agent.store.file_ops import FILE_MODE
from tui_agent.units import format_recent_time

_PAUSE_S = 0.02


class WriterLock:
    """The exclusive lock of a session, held from construction to `release`."""

    def __init__(self, path: Path, *, wait_s: float, pause: Callable[[float], None] = time.sleep) -> None:
        """Acquire the lock, waiting up to `wait_s` seconds. Raise `SessionLocked` if another process still holds it."""
        self._path = path
        # `O_CLOEXEC`: any process with the open file holds the lock, so a child gets it only on request (see `fileno`).
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            self._acquire(self._fd, path, wait_s, pause)
        except BaseException:
            self.release()
            raise
        with contextlib.suppress(OSError):  # informs users only; a full disk must not prevent locking
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d %d\n" % (os.getpid(), time.time()), 0)

    @staticmethod
    def _acquire(fd: int, path: Path, wait_s: float, pause: Callable[[float], None]) -> None:
        end = time.monotonic() + wait_s
        while not _try_lock(fd, fcntl.LOCK_EX):
            if time.monotonic() >= end:
                session = path.parent.name
                raise SessionLocked(
                    f"The session {session} is in use by {_describe_holder(os.pread(fd, 64, 0))}.",
                    hint=f"Close it there first. To watch it, open it in the app: tui-agent --resume {session}",
                )
            pause(_PAUSE_S)

    def reacquire(self) -> "WriterLock":
        """Return this lock, or a new lock if the lock file was removed.

        Raise `SessionLocked` if another process holds the lock on the new file.
        """
        try:
            if self._fd is not None and os.path.samestat(os.fstat(self._fd), self._path.stat()):
                return self
        except FileNotFoundError:
            pass
        # The old lock is kept until the new one is held, so that a failure leaves this process with a lock.
        replacement = WriterLock(self._path, wait_s=0.0)
        self.release()
        return replacement

    def fileno(self) -> int:
        """Return the lock file's descriptor. Raise `ValueError` if the lock was released.

        A process that inherits the descriptor holds the lock too.
        """
        if self._fd is None:
            raise ValueError("the lock was released")
        return self._fd

    def release(self) -> None:
        """Release the lock; repeated calls do nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _describe_holder(content: bytes) -> str:
    """Describe the process that holds the lock, such as `process 4711 since 14:02`.

    `content`: the content of the lock file.
    """
    pid, _, since = content.decode("ascii", "replace").strip().partition(" ")
    if not pid.isdigit():
        return "another process"
    if not since.isdigit():
        return f"process {pid}"
    return f"process {pid} since {format_recent_time(int(since), time.time())}"


def is_locked(path: Path | str) -> bool:
    """Return True if a process holds the session's lock now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        # Shared, so that two processes that ask at the same time do not see each other's lock.
        return not _try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _try_lock(fd: int, kind: int) -> bool:
    # The lock file is never removed. Otherwise, two processes could lock two different files of the same name.
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as fault:
        if fault.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
