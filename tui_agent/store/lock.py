"""The lock that makes one process the writer of a session.

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
        self._path = path
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            self._acquire(self._fd, path, wait_s, pause)
        except BaseException:
            self.release()
            raise
        with contextlib.suppress(OSError):  # only a hint for people; a full disk must not keep a session shut
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d %d\n" % (os.getpid(), time.time()), 0)

    @staticmethod
    def _acquire(fd: int, path: Path, wait_s: float, pause: Callable[[float], None]) -> None:
        end = time.monotonic() + wait_s
        while not _try(fd, fcntl.LOCK_EX):
            if time.monotonic() >= end:
                session = path.parent.name
                raise SessionLocked(
                    f"The session {session} is in use by {_holder(os.pread(fd, 64, 0))}.",
                    hint=f"Close it there first. To look on from here: tui-agent sessions show {session}, "
                    f"or tui-agent trace {session}.",
                )
            pause(_PAUSE_S)

    def again(self) -> "WriterLock":
        """This lock, or a new one where its file was removed. Raises `SessionLocked` where another holds that one."""
        try:
            if self._fd is not None and os.path.samestat(os.fstat(self._fd), self._path.stat()):
                return self
        except FileNotFoundError:
            pass
        taken = WriterLock(self._path, wait_s=0.0)
        self.release()
        return taken

    def release(self) -> None:
        """Let go; harmless when repeated."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _holder(written: bytes) -> str:
    """Who has the lock, as far as the file tells: `process 4711 since 14:02`."""
    pid, _, since = written.decode("ascii", "replace").strip().partition(" ")
    if not pid.isdigit():
        return "another process"
    if not since.isdigit():
        return f"process {pid}"
    moment = time.localtime(int(since))
    today = time.strftime("%x", moment) == time.strftime("%x")
    return f"process {pid} since {time.strftime('%H:%M' if today else '%Y-%m-%d %H:%M', moment)}"


def is_locked(path: Path | str) -> bool:
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
