"""Check of the folders and files of a repository, and of the objects it borrows.

Invariant: only reads a bounded number of entries. Nothing that git reads there is a link or a pipe, and
objects are borrowed only from one of the given homes.
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
"""Most entries of all folders in one check."""
MAX_BORROWED = 5
"""Most object stores that borrow from one another, the limit of git itself."""
_READ_WHOLE = ("refs", "logs", "info", "rebase-merge", "rebase-apply", "sequencer")
"""Folders whose files git displays, or reads object names from."""
_OWN_FOLDERS = frozenset({*_READ_WHOLE, "hooks", "objects", "modules", "worktrees", "branches", "lfs"})
_HOOKS = "hooks"
_WATCHER = "fsmonitor--daemon.ipc"
"""The socket of git's own file monitor."""


@dataclass(frozen=True, slots=True)
class _FolderEntries:
    count: int
    folders: tuple[str, ...]
    odd: frozenset[str]
    """Entries that are neither folders nor files."""


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
    """Checks the parts of repositories, with a limit of entries in total."""

    def __init__(self) -> None:
        self._remaining = MAX_ENTRIES

    def check(self, folder: str, homes: Sequence[str]) -> None:
        """Raise `SteeredError` if something in a repository's folder leads outside the homes."""
        for name in set(self._folders(folder, _HOOKS, _WATCHER)).intersection(_READ_WHOLE):
            self._check_tree(f"{folder}/{name}")
        for name in self._folders(f"{folder}/worktrees"):
            tree = f"{folder}/worktrees/{name}"
            if read_pointer(f"{tree}/commondir") not in (None, SHARED):
                raise SteeredError(f"{tree} shares another repository")
            for part in set(self._folders(tree)).intersection(_READ_WHOLE):
                self._check_tree(f"{tree}/{part}")
        self._check_objects(f"{folder}/objects", homes)

    def submodules(self, folder: str) -> tuple[str, ...]:
        """Return the folders of the repositories below `modules`, whose names may contain slashes."""
        repositories: list[str] = []
        pending = [f"{folder}/modules"]
        while pending:
            path = pending.pop()
            names = self._folders(path)
            if looks_like_repository(path):
                repositories.append(path)
                names = tuple(name for name in names if name not in _OWN_FOLDERS)
            pending += [f"{path}/{name}" for name in names]
        return tuple(repositories)

    def _folders(self, path: str, *may_be_odd: str) -> tuple[str, ...]:
        """Return the names of the subfolders; raise if another entry is neither a folder nor a file."""
        if (listing := _listings.get(path)) is None:
            return ()
        self._remaining -= listing.count + 1
        if self._remaining < 0:
            raise SteeredError("repositories with too many entries")
        if listing.odd.difference(may_be_odd):
            raise SteeredError(f"{path} has links")
        return listing.folders

    def _check_tree(self, path: str) -> None:
        pending = [path]
        while pending:
            path = pending.pop()
            pending += [f"{path}/{name}" for name in self._folders(path)]

    def _check_objects(self, objects: str, homes: Sequence[str], depth: int = 0) -> None:
        """Raise if a link replaces objects. Git itself verifies those in two-digit folders by their names."""
        for name in {"info", "pack"}.intersection(self._folders(objects)):
            self._check_tree(f"{objects}/{name}")
        for line in _lines.get(f"{objects}/info/alternates") or ():
            other = os.path.realpath(f"{objects}/{line}" if not line.startswith("/") else line)
            if depth >= MAX_BORROWED or line.startswith(('"', "#")) or not lies_in(other, homes):
                raise SteeredError(f"{objects} borrows from elsewhere")
            self._check_objects(other, homes, depth + 1)
