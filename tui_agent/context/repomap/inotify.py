"""What the kernel tells of changes in folders (Linux: inotify), so that files need not be looked at one by one.

Invariant: it only ever says too much, never that nothing changed after something was lost: a queue that ran over, a folder
that was moved, or a limit that is reached end it. What the kernel does not tell (writes through a memory map or another
name of a file, the other side of a network's file system) is for whoever looks at the files themselves from time to time.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from struct import Struct

from tui_agent.context.repomap.file_scan import Unwatched

MOST_FOLDERS = 20_000
SHARE = 4
"""Of the watches that a user may have, one in so many is taken at most: editors need them too."""
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
_EVENT = Struct("iIII")
_ROOM = 65_536
_MODIFY, _ATTRIB, _WRITTEN = 0x2, 0x4, 0x8
_MOVED, _CREATE, _DELETE = 0x40 | 0x80, 0x100, 0x200
_GONE = 0x400 | 0x800 | 0x2000
"""The folder itself was deleted, moved or unmounted."""
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_FOLDERS, _NO_UNLINKED = 0x1000000, 0x4000000
_IS_FOLDER = 0x40000000
_WANTED = (
    _MODIFY | _ATTRIB | _WRITTEN | _MOVED | _CREATE | _DELETE | _GONE & 0xFFF | _ONLY_FOLDERS | _NO_UNLINKED
)


class Watch:
    """Watches folders below `root`. Raises `OSError` where there is none to be had."""

    def __init__(self, root: str, most: int = MOST_FOLDERS) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "there is no inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._root = os.fsencode(root)
        self._folders: dict[int, str] = {}
        self._watched: set[str] = set()
        self._most = min(most, _most_watches() // SHARE)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def close(self) -> None:
        """Let go of all watches."""
        os.close(self._fd)

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these too. Raises `OSError` where that is not possible."""
        new = [folder for folder in folders if folder not in self._watched]
        if len(new) + len(self._watched) > self._most:
            raise OSError(errno.ENOSPC, "too many folders to watch")
        for folder in new:
            path = self._root + b"/" + os.fsencode(folder)
            at = self._libc.inotify_add_watch(self._fd, path, _WANTED)
            if at < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch")
            self._folders[at] = folder
            self._watched.add(folder)

    def changed(self) -> set[str] | None:
        """The files that were written since the last call; None where names came or went. Raises `Unwatched`."""
        found: set[str] | None = set()
        for at, mask, name in self._events():
            if mask & (_OVERFLOW | _GONE) or (mask & _IS_FOLDER and mask & _MOVED):
                raise Unwatched
            if mask & _IGNORED:
                self._watched.discard(self._folders.pop(at, ""))
            if mask & (_CREATE | _DELETE | _MOVED | _IGNORED):
                found = None
            elif found is not None and not mask & _IS_FOLDER:
                folder = self._folders.get(at, "")
                found.add(f"{folder}/{name}" if folder else name)
        return found

    def _events(self) -> list[tuple[int, int, str]]:
        found = []
        with suppress(BlockingIOError):
            while data := os.read(self._fd, _ROOM):
                at = 0
                while at < len(data):
                    number, mask, _, size = _EVENT.unpack_from(data, at)
                    at += _EVENT.size + size
                    found.append((number, mask, os.fsdecode(data[at - size : at].rstrip(b"\0"))))
        return found


def _most_watches() -> int:
    try:
        return int(_LIMIT.read_text())
    except (OSError, ValueError):
        return 8_192
