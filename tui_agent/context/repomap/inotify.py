"""Watching of folders with inotify (Linux), so that files need not be checked one by one.

Invariant: `read_changes` can report unchanged files, but raises `WatchLost` if events were possibly lost.

The kernel does not report writes through a memory map, another hard link, or another computer. Therefore the files must
still be checked from time to time.
"""
# `watchfiles` is not used: it cannot report lost events, and its watch cannot get new folders.

import ctypes
import errno
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from struct import Struct

MOST_FOLDERS = 20_000
SHARE = 4
"""A watch uses at most 1/`SHARE` of the inotify watches that the system allows a user."""
# Editors need watches too.
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
_EVENT = Struct("iIII")
_ROOM = 65_536
_MODIFY, _ATTRIB, _WRITTEN = 0x2, 0x4, 0x8
_MOVED, _CREATE, _DELETE = 0x40 | 0x80, 0x100, 0x200
_WATCH_ENDED = 0x400 | 0x800 | 0x2000
"""Event mask of a watched folder that was deleted, moved or unmounted."""
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_FOLDERS, _NO_UNLINKED = 0x1000000, 0x4000000
_IS_FOLDER = 0x40000000
_WANTED = (
    _MODIFY
    | _ATTRIB
    | _WRITTEN
    | _MOVED
    | _CREATE
    | _DELETE
    | _WATCH_ENDED & 0xFFF
    | _ONLY_FOLDERS
    | _NO_UNLINKED
)


class WatchLost(Exception):
    """Raised when watching was interrupted; the caller must check all files again."""


class InotifyWatch:
    """Watches folders below `root`. Raises `OSError` if inotify is not available."""

    def __init__(self, root: str, most: int = MOST_FOLDERS) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "inotify is not available")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._root = os.fsencode(root)
        self._folders: dict[int, str] = {}
        self._watched: set[str] = set()
        self._most = min(most, _watch_limit() // SHARE)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def close(self) -> None:
        """Stop watching all folders."""
        os.close(self._fd)

    def follow(self, folders: Iterable[str]) -> None:
        """Add these folders to the watched folders. Raise `OSError` if a folder cannot be watched."""
        new = [folder for folder in folders if folder not in self._watched]
        if len(new) + len(self._watched) > self._most:
            raise OSError(errno.ENOSPC, "too many folders to watch")
        for folder in new:
            path = self._root + b"/" + os.fsencode(folder)
            descriptor = self._libc.inotify_add_watch(self._fd, path, _WANTED)
            if descriptor < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch")
            self._folders[descriptor] = folder
            self._watched.add(folder)

    def read_changes(self) -> set[str] | None:
        """Return the files written since the last call, or None if files or folders were added or removed.

        Raise `WatchLost` if events were possibly lost.
        """
        files: set[str] | None = set()
        for descriptor, mask, name in self._read_events():
            if mask & (_OVERFLOW | _WATCH_ENDED) or (mask & _IS_FOLDER and mask & _MOVED):
                raise WatchLost
            if mask & _IGNORED:
                self._watched.discard(self._folders.pop(descriptor, ""))
            if mask & (_CREATE | _DELETE | _MOVED | _IGNORED):
                files = None
            elif files is not None and not mask & _IS_FOLDER:
                folder = self._folders.get(descriptor, "")
                files.add(f"{folder}/{name}" if folder else name)
        return files

    def _read_events(self) -> list[tuple[int, int, str]]:
        events = []
        with suppress(BlockingIOError):
            while data := os.read(self._fd, _ROOM):
                offset = 0
                while offset < len(data):
                    number, mask, _, size = _EVENT.unpack_from(data, offset)
                    offset += _EVENT.size + size
                    events.append((number, mask, os.fsdecode(data[offset - size : offset].rstrip(b"\0"))))
        return events


def _watch_limit() -> int:
    try:
        return int(_LIMIT.read_text())
    except (OSError, ValueError):
        return 8_192
