"""Files and folders of a repository, read again only where they changed.

Invariant: looks only, follows no link in the last place, and every read is bounded. What was read a moment after a change
is not kept: it may have changed again within the same time stamp.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
Stamp = tuple[int, int, int, int, int, int]

_SETTLED_NS = 50_000_000
_MAX_KEPT = 10_000


class SteeredError(Exception):
    """A repository is not understood, or steers git to a program or file of its own choice."""


@dataclass(frozen=True, slots=True)
class _CacheEntry(Generic[T]):
    stamp: Stamp
    value: T | None
    reason: str = ""


class StampedReader(Generic[T]):
    """Remembers what a function read of a path for as long as the file or folder there stays as it is."""

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read
        self._kept: dict[str, _CacheEntry[T]] = {}

    def get(self, path: str) -> T | None:
        """Return what the function reads there; None if there is nothing.

        Raises `SteeredError` as the function does, and for what cannot be read.
        """
        stamp = look_at(path)
        if stamp is None:
            return None
        kept = self._kept.get(path)
        if kept is None or kept.stamp != stamp:
            kept = self._read_now(path, stamp)
        if kept.reason:
            raise SteeredError(kept.reason)
        return kept.value

    def _read_now(self, path: str, stamp: Stamp) -> _CacheEntry[T]:
        try:
            kept = _CacheEntry(stamp, self._read(path))
        except SteeredError as error:
            kept = _CacheEntry(stamp, None, str(error))
        except OSError as error:
            kept = _CacheEntry(stamp, None, f"{path}: {error.strerror}")
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        if time.time_ns() - stamp[1] > _SETTLED_NS and look_at(path) == stamp:
            self._kept[path] = kept
        return kept


def look_at(path: str) -> Stamp | None:
    """Return what tells one state of a file, folder or link from another; None if there is nothing."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SteeredError(f"{path} cannot be looked at") from error
    return (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev, info.st_size, info.st_mode)


def read_small(path: str, max_bytes: int) -> bytes:
    """Read a regular file that is no link.

    Raises `SteeredError` for anything else and for a larger one, `OSError`.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > max_bytes:
            raise SteeredError(f"{path} is no regular file, or too large")
        return file.read(max_bytes)
