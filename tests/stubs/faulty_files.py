"""A file port that fails on demand: the n-th call, or every call of a kind."""

import errno
from pathlib import Path

from tui_agent.store.file_ops import FileOps


class Died(BaseException):
    """The process ends here: nothing after this call happens."""


class FaultyFiles(FileOps):
    """The real files, but for call number `at` (from 1), which fails, is cut short, or is the last.

    `mode`: `fail` raises "no space left"; `short` writes half (other calls fail); `die` does half of a write and
    then ends the process; `broken` lets every call of that kind fail from then on.
    """

    def __init__(self, at: int, mode: str) -> None:
        self.at = at
        self.mode = mode
        self.calls = 0
        self.fired = ""

    def _due(self, kind: str) -> bool:
        if self.mode == "broken" and self.fired == kind:
            return True
        self.calls += 1
        if self.calls != self.at:
            return False
        self.fired = kind
        return True

    def _trouble(self, kind: str) -> None:
        if self._due(kind):
            if self.mode == "die":
                raise Died
            raise OSError(errno.ENOSPC, "No space left on device")

    def open(self, path: Path, flags: int) -> int:
        self._trouble("open")
        return super().open(path, flags)

    def write(self, fd: int, data: bytes) -> int:
        if not self._due("write"):
            return super().write(fd, data)
        if self.mode in ("short", "die"):
            written = super().write(fd, data[: len(data) // 2])
            if self.mode == "short":
                return written
            raise Died
        raise OSError(errno.ENOSPC, "No space left on device")

    def sync(self, fd: int) -> None:
        self._trouble("sync")
        super().sync(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._trouble("truncate")
        super().truncate(fd, size)

    def rename(self, source: Path, target: Path) -> None:
        self._trouble("rename")
        super().rename(source, target)
