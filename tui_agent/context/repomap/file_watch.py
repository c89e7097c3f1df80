"""A repository's current list of files, updated with as little disk access as possible.

On Linux, inotify reports changes, so that files need not be checked one by one. Other changes are found within
`FULL_SCAN_S`.

Invariant: the list includes every change that inotify has reported.
"""

import ctypes
import errno
import os
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from struct import Struct

from tui_agent.config.project.git_query import locate_repository
from tui_agent.context.repomap.file_list import (
    Entry,
    FileList,
    bare_folders,
    exclusion_reason,
    index_key,
    list_once,
    refresh_list,
    with_folders,
)

# `watchfiles` is not used: it cannot report lost events, and its watch cannot get new folders.
MAX_WATCHED_FOLDERS = 20_000
USER_LIMIT_DIVISOR = 4
"""A watch uses at most this fraction (1/4) of the inotify watches that the system allows a user."""
# Editors need watches too.
_USER_LIMIT_FILE = Path("/proc/sys/fs/inotify/max_user_watches")
_EVENT = Struct("iIII")
_READ_BYTES = 65_536
# These numbers are defined in linux/inotify.h.
_MODIFY, _ATTRIB, _WRITTEN = 0x2, 0x4, 0x8
_MOVED, _CREATE, _DELETE = 0x40 | 0x80, 0x100, 0x200
_WATCH_ENDED = 0x400 | 0x800 | 0x2000
"""Event mask of a watched folder that was deleted, moved or unmounted."""
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_FOLDERS, _NO_UNLINKED = 0x1000000, 0x4000000
_IS_FOLDER = 0x40000000
_REPORTED_EVENTS = (
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

    def __init__(self, root: str, max_folders: int = MAX_WATCHED_FOLDERS) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "inotify is not available")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._root = os.fsencode(root)
        self._folders: dict[int, str] = {}
        self._watched: set[str] = set()
        self._max_folders = min(max_folders, _user_limit() // USER_LIMIT_DIVISOR)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def close(self) -> None:
        """Stop watching all folders."""
        os.close(self._fd)

    def follow(self, folders: Iterable[str]) -> None:
        """Add these folders to the watched folders. Raise `OSError` if a folder cannot be watched."""
        new = [folder for folder in folders if folder not in self._watched]
        if len(new) + len(self._watched) > self._max_folders:
            raise OSError(errno.ENOSPC, "too many folders to watch")
        for folder in new:
            path = self._root + b"/" + os.fsencode(folder)
            descriptor = self._libc.inotify_add_watch(self._fd, path, _REPORTED_EVENTS)
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
            # After a folder was moved, the stored paths of the watched folders below it are wrong.
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
            while data := os.read(self._fd, _READ_BYTES):
                offset = 0
                while offset < len(data):
                    number, mask, _, size = _EVENT.unpack_from(data, offset)
                    offset += _EVENT.size + size
                    events.append((number, mask, os.fsdecode(data[offset - size : offset].rstrip(b"\0"))))
        return events


def _user_limit() -> int:
    try:
        return int(_USER_LIMIT_FILE.read_text())
    except (OSError, ValueError):
        return 8_192


FULL_SCAN_S = 10.0
"""Maximum seconds between two checks of all files."""


class FileScanner:
    """Lists the files of one folder repeatedly.

    `full_scan_s`: seconds between checks of all files.
    `start_watch`: starts watching a folder; raises `OSError` if watching is impossible.
    """

    def __init__(
        self,
        root: Path,
        may_show: Callable[[str], bool],
        *,
        full_scan_s: float = FULL_SCAN_S,
        start_watch: Callable[[str], InotifyWatch] = InotifyWatch,
    ) -> None:
        self._root, self._may_show = root, may_show
        self._full_scan_s, self._start_watch = full_scan_s, start_watch
        self._listing: FileList | None = None
        self._last_full_scan = float("-inf")
        self._folder = (0, 0)
        self._since = 0
        self._names: list[str] | None = None
        self._listed_folders: dict[str, int] = {}
        self._watch: InotifyWatch | None = None
        self._watchable = True

    def list_files(self, *, rescan: bool = False) -> FileList:
        """Return the files. If nothing changed, return the list object of the last call.

        `rescan`: check all files, even if no change was reported.

        Raise `OSError` if the folder cannot be read.
        """
        if rescan:
            self._listing = None
        if self._listing is None:
            self._folder, self._since = self._identity(), time.time_ns()
            self._listing, self._names = list_once(self._root, self._may_show)
        else:
            self._listing = self._list_watched(self._listing) or self._rescan(self._listing)
        return self._listing

    def close(self) -> None:
        """Stop watching the folder."""
        if self._watch is not None:
            self._watch.close()
        self._watch, self._last_full_scan = None, float("-inf")

    def _identity(self) -> tuple[int, int]:
        info = self._root.stat()
        return (info.st_dev, info.st_ino)

    def _list_watched(self, known: FileList) -> FileList | None:
        """Apply the watcher's changes to the list. Return None if all files must be checked instead."""
        if self._watch is None or time.monotonic() - self._last_full_scan > self._full_scan_s:
            return None
        try:
            changed = self._watch.read_changes()
        except WatchLost:
            self.close()
            return None
        if (
            changed is None
            or self._identity() != self._folder
            or index_key(locate_repository(self._root)) != known.index_key
        ):
            return None
        return self._with_changes(known, changed) if changed else known

    def _with_changes(self, known: FileList, changed: Iterable[str]) -> FileList | None:
        entries = list(known.entries)
        for path in changed:
            index = bisect_left(entries, (path,))
            if path.endswith(".gitignore"):
                return None
            if index == len(entries) or entries[index].path != path:
                continue
            try:
                info = os.lstat(f"{self._root}/{path}")
            except OSError:
                return None
            if exclusion_reason(path, info):
                return None
            entries[index] = Entry(path, info.st_size, info.st_mtime_ns, info.st_ino)
        same = all(new is old or new == old for new, old in zip(entries, known.entries, strict=True))
        return known if same else known._replace(entries=tuple(entries))

    def _rescan(self, known: FileList) -> FileList:
        """Start watching, and only then check every file, so that no change is missed."""
        if self._names is not None:
            known = with_folders(self._root, known, self._names, self._since)
            self._names = None
        if known.folders is not self._listed_folders:
            bare = bare_folders(self._root, known.folders, self._since)
            known = known._replace(folders=known.folders | bare)
            self._listed_folders = known.folders
        self._follow(known)
        folder = self._identity()
        if folder != self._folder:
            self.close()
        self._folder, since = folder, time.time_ns()
        fresh = refresh_list(self._root, known, self._may_show)
        self._last_full_scan = time.monotonic()
        if fresh.folders is not known.folders:
            # The new folders are not watched yet, so the next call checks all files again.
            self._last_full_scan, self._since = float("-inf"), since
        return fresh

    def _follow(self, known: FileList) -> None:
        """Watch the folders of `known` and discard the changes reported so far."""
        if not self._watchable:
            return
        try:
            if self._watch is None:
                self._watch = self._start_watch(os.fspath(self._root))
            self._watch.follow(known.folders)
            self._watch.read_changes()
        except WatchLost:
            self.close()
        except OSError:
            self.close()
            # Without inotify, or with too many folders, another attempt would fail in the same way.
            self._watchable = False
