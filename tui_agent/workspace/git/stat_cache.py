"""Cache of values read from a repository's files and folders, valid until the files change.

Invariant: this module only reads, does not follow a link, and limits every read.
"""
# A value read just after a change is not cached: a second change could have the same time stamp.

import os
import stat
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from tui_agent.fast_dataclass import dataclass

T = TypeVar("T")
Stamp = tuple[int, int, int, int, int, int]

_SETTLED_NS = 50_000_000
_MAX_CACHED = 10_000


class UnsafeRepositoryError(Exception):
    """Raised if a git repository is not understood, or could make git run a program or read another file."""


@dataclass(frozen=True, slots=True)
class _CacheEntry(Generic[T]):
    stamp: Stamp
    value: T | None
    reason: str = ""


class StampedReader(Generic[T]):
    """Caches a function's result for each path as long as the file or folder at the path is unchanged."""

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read
        self._cache: dict[str, _CacheEntry[T]] = {}

    def get(self, path: str) -> T | None:
        """Return the function's result for a path, or None if the path does not exist.

        Raise `UnsafeRepositoryError` if the file cannot be read or the function fails.
        """
        stamp = read_stamp(path)
        if stamp is None:
            return None
        cached = self._cache.get(path)
        if cached is None or cached.stamp != stamp:
            cached = self._read_now(path, stamp)
        if cached.reason:
            raise UnsafeRepositoryError(cached.reason)
        return cached.value

    def _read_now(self, path: str, stamp: Stamp) -> _CacheEntry[T]:
        try:
            cached = _CacheEntry(stamp, self._read(path))
        except UnsafeRepositoryError as error:
            cached = _CacheEntry(stamp, None, str(error))
        except OSError as error:
            cached = _CacheEntry(stamp, None, f"{path}: {error.strerror}")
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        if time.time_ns() - stamp[1] > _SETTLED_NS and read_stamp(path) == stamp:
            self._cache[path] = cached
        return cached


def read_stamp(path: str) -> Stamp | None:
    """Return values that change with the file at `path`, or None if the path does not exist."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UnsafeRepositoryError(f"{path} cannot be read") from error
    return (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev, info.st_size, info.st_mode)


def read_small(path: str, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most `max_bytes` bytes.

    Raise `UnsafeRepositoryError` for any other file, and `OSError` for a link or an unreadable file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > max_bytes:
            raise UnsafeRepositoryError(f"{path} is not a regular file or is too large")
        return file.read(max_bytes)
