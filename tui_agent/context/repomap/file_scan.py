"""The list of a repository's files as it is now, with as little looking as will do.

Invariant: a list is never older than the changes that the kernel tells of, nor, for those that it does not tell of, than
`WHOLE_S`; where the kernel tells nothing every file is looked at each time.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from tui_agent.config.git import repository_of
from tui_agent.context.repomap.file_list import (
    Entry,
    Listing,
    bare_folders,
    index_key,
    list_once,
    looked_again,
    unfit,
    with_folders,
)

WATCHING = "tui_agent.context.repomap.inotify"
WHOLE_S = 10.0
"""Time after which all files are looked at again, whatever the kernel says."""


class Unwatched(Exception):
    """What is watched can no longer be told: begin anew, with a look at everything."""


class Watches(Protocol):
    """Watches folders. See `watching.Watch`, which is loaded when there is something to watch."""

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these too."""

    def changed(self) -> set[str] | None:
        """The files that were written since the last call; None where names came or went."""

    def close(self) -> None:
        """Let go of all watches."""


class Look:
    """Lists the files of one folder, again and again. `whole_s`: seconds for which the kernel is believed; `watching`: the
    module that watches."""

    def __init__(
        self,
        root: Path,
        may_show: Callable[[str], bool],
        *,
        whole_s: float = WHOLE_S,
        watching: str = WATCHING,
    ) -> None:
        self._root, self._may_show = root, may_show
        self._whole_s, self._watching = whole_s, watching
        self._listing: Listing | None = None
        self._whole = float("-inf")
        self._folder = (0, 0)
        self._since = 0
        self._names: list[str] | None = None
        self._widened: dict[str, int] = {}
        self._watch: Watches | None = None
        self._watchable = True

    def now(self, *, anew: bool = False) -> Listing:
        """The files; the same object as before where nothing changed. `anew`: whatever is known. Raises OSError where the
        folder cannot be read."""
        if anew:
            self._listing = None
        if self._listing is None:
            self._folder, self._since = self._identity(), time.time_ns()
            self._listing, self._names = list_once(self._root, self._may_show)
        else:
            self._listing = self._told(self._listing) or self._again(self._listing)
        return self._listing

    def close(self) -> None:
        """Let go of what watches."""
        if self._watch is not None:
            self._watch.close()
        self._watch, self._whole = None, float("-inf")

    def _identity(self) -> tuple[int, int]:
        seen = self._root.stat()
        return (seen.st_dev, seen.st_ino)

    def _told(self, known: Listing) -> Listing | None:
        """The list by what the kernel tells; None where that does not do."""
        if self._watch is None or time.monotonic() - self._whole > self._whole_s:
            return None
        try:
            changed = self._watch.changed()
        except Unwatched:
            self.close()
            return None
        if (
            changed is None
            or self._identity() != self._folder
            or index_key(repository_of(self._root)) != known.index_key
        ):
            return None
        return self._with(known, changed) if changed else known

    def _with(self, known: Listing, changed: Iterable[str]) -> Listing | None:
        entries = list(known.entries)
        for path in changed:
            at = bisect_left(entries, (path,))
            if path.endswith(".gitignore"):
                return None
            if at == len(entries) or entries[at].path != path:
                continue
            try:
                seen = os.lstat(f"{self._root}/{path}")
            except OSError:
                return None
            if unfit(path, seen):
                return None
            entries[at] = Entry(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)
        same = all(new is old or new == old for new, old in zip(entries, known.entries, strict=True))
        return known if same else known._replace(entries=tuple(entries))

    def _again(self, known: Listing) -> Listing:
        """Every file looked at; what is watched from before on need not be for a while."""
        if self._names is not None:
            known = with_folders(self._root, known, self._names, self._since)
            self._names = None
        if known.folders is not self._widened:
            bare = bare_folders(self._root, known.folders, self._since)
            known = known._replace(folders=known.folders | bare)
            self._widened = known.folders
        self._begin(known)
        folder = self._identity()
        if folder != self._folder:
            self.close()
        self._folder, since = folder, time.time_ns()
        found = looked_again(self._root, known, self._may_show)
        self._whole = time.monotonic()
        if found.folders is not known.folders:
            self._whole, self._since = float("-inf"), since
        return found

    def _begin(self, known: Listing) -> None:
        """Watch the folders, and let go of what was told until now."""
        if not self._watchable:
            return
        try:
            if self._watch is None:
                self._watch = cast(Watches, import_module(self._watching).Watch(os.fspath(self._root)))
            self._watch.follow(known.folders)
            self._watch.changed()
        except Unwatched:
            self.close()
        except OSError:
            self.close()
            self._watchable = False
