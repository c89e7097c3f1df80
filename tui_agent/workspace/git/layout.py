"""Where git finds a repository: its folder, the one that it shares with others, its work trees and those it links to.

Invariant: looks only. A repository lies in one of the given homes, or is the usual folder of a linked work tree or a submodule,
which names its work tree itself; and git sees it, too, for else it goes on to one above.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_agent.workspace.git.config import GitConfig, read_config
from tui_agent.workspace.git.index import read_gitlinks
from tui_agent.workspace.git.stat_cache import StampedReader, SteeredError, look_at, read_small

MAX_POINTER_BYTES = 8_192
MAX_GITLINKS = 1_000
_POINTER = re.compile(r"([^\x00-\x1f\x7f]+)\n?")
_GITDIR = "gitdir: "
SHARED = "../.."
"""What a linked work tree's folder names as the main repository's."""
_ITSELF = "."
"""What a folder names that shares nothing: so stands in for a missing `commondir` while a sandboxed command runs."""
_HEAD = re.compile(r"ref: refs/\S+|[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as git finds it from a folder; all paths are real ones."""

    work_tree: str
    """Empty where git is called in the repository's own folder."""
    folder: str
    shared: str


def _read_pointer(path: str) -> str:
    """Read a file of one line."""
    try:
        text = read_small(path, MAX_POINTER_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SteeredError(f"{path} is not UTF-8") from error
    if (pointer := _POINTER.fullmatch(text)) is None:
        raise SteeredError(f"{path} has more than one plain line")
    return pointer[1]


_pointers = StampedReader(_read_pointer)
_configs = StampedReader(read_config)
_indexes = StampedReader(read_gitlinks)


def read_pointer(path: str) -> str | None:
    """Return the only line of a small file; None if there is no file. Raises `SteeredError` for another one."""
    return _pointers.get(path)


def find_repository(folder: str, homes: Sequence[str]) -> Repository | None:
    """Return the repository that git finds from a real folder upwards; None if there is none.

    Raises `SteeredError` if its parts lie in none of the homes and do not belong to its work tree.
    """
    path = folder
    while True:
        if found := open_repository(path, homes):
            return found
        if looks_like_repository(path):
            found = open_folder("", path)
            if found.shared != path and not lies_in(found.shared, homes):
                raise SteeredError(f"{path} shares a repository elsewhere")
            return found
        above = os.path.dirname(path)  # noqa: PTH120 - many paths, quickly
        if above == path:
            return None
        path = above


def open_repository(work_tree: str, homes: Sequence[str]) -> Repository | None:
    """Return the repository of a real folder with a `.git`; None if git sees none there.

    Raises `SteeredError` as `find_repository` does.
    """
    dot = os.path.join(work_tree, ".git")  # noqa: PTH118
    stamp = look_at(dot)
    if stamp is None:
        return None
    folder = _folder_of(work_tree, dot, stamp[-1])
    if stat.S_ISDIR(stamp[-1]) and not looks_like_repository(folder):
        return None
    found = open_folder(work_tree, folder)
    homes = (*homes, work_tree)
    if not (lies_in(folder, homes) and lies_in(found.shared, homes)) and not _points_back(found):
        raise SteeredError(f"{dot} leads to a repository elsewhere")
    return found


def _folder_of(work_tree: str, dot: str, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return dot
    if stat.S_ISLNK(mode):
        return os.path.realpath(dot)
    named = read_pointer(dot) or ""
    if not named.startswith(_GITDIR):
        raise SteeredError(f"{dot} names no repository")
    return os.path.realpath(os.path.join(work_tree, named.removeprefix(_GITDIR)))  # noqa: PTH118


def looks_like_repository(folder: str) -> bool:
    """Return False only if git surely sees no repository in a folder, and goes on to the one above."""
    if look_at(f"{folder}/HEAD") is None:
        return False
    parts = (look_at(f"{folder}/{name}") is not None for name in ("objects", "refs"))
    return look_at(f"{folder}/commondir") is not None or all(parts)


def open_folder(work_tree: str, folder: str) -> Repository:
    """Return the repository whose folder this is, with what it shares with the main work tree.

    Raises `SteeredError` if it shares anything else, or if git may take it for no repository.
    """
    found = Repository(work_tree, folder, folder)
    if (shared := read_pointer(f"{folder}/commondir")) not in (None, _ITSELF):
        worktrees, _ = os.path.split(folder)
        main, name = os.path.split(worktrees)
        if shared != SHARED or name != "worktrees":
            raise SteeredError(f"{folder} shares another repository")
        found = Repository(work_tree, folder, main)
    if not _HEAD.fullmatch(read_pointer(f"{folder}/HEAD") or ""):
        raise SteeredError(f"{folder} has no plain HEAD")
    for path in (f"{found.shared}/objects", f"{found.shared}/refs"):
        stamp = look_at(path)
        if stamp is None or not stat.S_ISDIR(stamp[-1]) or not os.access(path, os.X_OK):
            raise SteeredError(f"{path} is no folder")
    return found


def _points_back(found: Repository) -> bool:
    """Return True if a repository elsewhere names this work tree as its own."""
    if found.shared != found.folder:
        back = read_pointer(f"{found.folder}/gitdir")
        return back is not None and _real(found.folder, back) == f"{found.work_tree}/.git"
    return found.work_tree in work_trees(found.folder)


def lies_in(path: str, homes: Sequence[str]) -> bool:
    """Return True if a real path is one of the homes or lies below one."""
    return any(path == home or path.startswith(home.rstrip("/") + "/") for home in homes)


def _real(base: str, path: str) -> str:
    return os.path.realpath(os.path.join(base, path))  # noqa: PTH118


def settings(folder: str) -> Iterator[GitConfig]:
    """Read the configuration in a repository's folder. Raises `SteeredError` as `read_config` does."""
    for name in ("config", "config.worktree"):
        if (config := _configs.get(f"{folder}/{name}")) is not None:
            yield config


def work_trees(folder: str) -> tuple[str, ...]:
    """Return the real folders that the configuration names as the repository's work tree."""
    return tuple(_real(folder, value) for config in settings(folder) for value in config.work_trees)


def gitlinks(repository: Repository, work_tree: str) -> Iterator[str]:
    """Find the folders in a work tree that the index links to and that have a repository."""
    found = _indexes.get(f"{repository.folder}/index") or ()
    if len(found) > MAX_GITLINKS:
        raise SteeredError(f"{repository.folder} links to too many repositories")
    for name in found:
        names = os.fsdecode(name).split("/")
        path = "/".join((work_tree, *names))
        if b"\0" in name or {"", ".", "..", ".git"} & set(names) or os.path.realpath(path) != path:
            raise SteeredError(f"the index of {repository.folder} links to another place")
        if look_at(f"{path}/.git") is not None:
            yield path
