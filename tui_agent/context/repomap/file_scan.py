"""A repository's current list of files, updated with as little disk access as possible.

Invariant: the list includes every change that the watcher has reported.

Other changes are found within `FULL_SCAN_S`.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from pathlib import Path

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
from tui_agent.context.repomap.inotify import InotifyWatch, WatchLost

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
            self._watchable = False
