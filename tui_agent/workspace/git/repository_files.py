"""The folders and files that a repository consists of, and the objects that it borrows.

Invariant: looks only, at a bounded number of entries. Nothing of what git reads there is a link or a pipe, and objects are
borrowed only from one of the given homes.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.workspace.git.layout import (
    MAX_POINTER_BYTES,
    SHARED,
    lies_in,
    looks_like_repository,
    read_pointer,
)
from tui_agent.workspace.git.stat_cache import StampedReader, SteeredError, read_small

MAX_ENTRIES = 200_000
"""Entries of all folders of one check."""
MAX_BORROWED = 5
"""Stores of objects behind one another, as many as git follows."""
_READ_WHOLE = ("refs", "logs", "info", "rebase-merge", "rebase-apply", "sequencer")
"""Folders of which git shows files, or reads names of objects."""
_OWN_FOLDERS = frozenset({*_READ_WHOLE, "hooks", "objects", "modules", "worktrees", "branches", "lfs"})
_HOOKS = "hooks"
_WATCHER = "fsmonitor--daemon.ipc"
"""The socket of git's own watcher."""


@dataclass(frozen=True, slots=True)
class _FolderEntries:
    count: int
    folders: tuple[str, ...]
    odd: frozenset[str]
    """Those that are neither folders nor files."""


def _list_folder(path: str) -> _FolderEntries:
    count = 0
    folders: list[str] = []
    odd: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            count += 1
            if count > MAX_ENTRIES:
                raise SteeredError(f"{path} has too many entries")
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif not entry.is_file(follow_symlinks=False):
                odd.append(entry.name)
    return _FolderEntries(count, tuple(folders), frozenset(odd))


def _read_lines(path: str) -> tuple[str, ...]:
    try:
        text = read_small(path, MAX_POINTER_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SteeredError(f"{path} is not UTF-8") from error
    return tuple(line for line in text.split("\n") if line)


_listings = StampedReader(_list_folder)
_lines = StampedReader(_read_lines)


class PartsCheck:
    """Looks at the parts of repositories, up to a number of entries in all."""

    def __init__(self) -> None:
        self._left = MAX_ENTRIES

    def check(self, folder: str, homes: Sequence[str]) -> None:
        """Raise `SteeredError` if something in a repository's folder leads elsewhere, or to objects outside the homes."""
        for name in set(self._folders(folder, _HOOKS, _WATCHER)).intersection(_READ_WHOLE):
            self._check_whole(f"{folder}/{name}")
        for name in self._folders(f"{folder}/worktrees"):
            tree = f"{folder}/worktrees/{name}"
            if read_pointer(f"{tree}/commondir") not in (None, SHARED):
                raise SteeredError(f"{tree} shares another repository")
            for part in set(self._folders(tree)).intersection(_READ_WHOLE):
                self._check_whole(f"{tree}/{part}")
        self._check_objects(f"{folder}/objects", homes)

    def submodules(self, folder: str) -> tuple[str, ...]:
        """Return the folders of the repositories below `modules`, whose names may have slashes."""
        found: list[str] = []
        waiting = [f"{folder}/modules"]
        while waiting:
            path = waiting.pop()
            names = self._folders(path)
            if looks_like_repository(path):
                found.append(path)
                names = tuple(name for name in names if name not in _OWN_FOLDERS)
            waiting += [f"{path}/{name}" for name in names]
        return tuple(found)

    def _folders(self, path: str, *may_be_odd: str) -> tuple[str, ...]:
        """Return the names of the folders in a folder in which nothing else is odd."""
        if (listing := _listings.get(path)) is None:
            return ()
        self._left -= listing.count + 1
        if self._left < 0:
            raise SteeredError("repositories with too many entries")
        if listing.odd.difference(may_be_odd):
            raise SteeredError(f"{path} has links")
        return listing.folders

    def _check_whole(self, path: str) -> None:
        waiting = [path]
        while waiting:
            path = waiting.pop()
            waiting += [f"{path}/{name}" for name in self._folders(path)]

    def _check_objects(self, objects: str, homes: Sequence[str], depth: int = 0) -> None:
        """Make sure that no link stands for objects. Git itself checks those in folders of two digits by their names."""
        for name in {"info", "pack"}.intersection(self._folders(objects)):
            self._check_whole(f"{objects}/{name}")
        for line in _lines.get(f"{objects}/info/alternates") or ():
            other = os.path.realpath(f"{objects}/{line}" if not line.startswith("/") else line)
            if depth >= MAX_BORROWED or line.startswith(('"', "#")) or not lies_in(other, homes):
                raise SteeredError(f"{objects} borrows from elsewhere")
            self._check_objects(other, homes, depth + 1)
