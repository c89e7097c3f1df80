"""L3: where a repository's parts lie: its folder, the one that it shares with others, and the objects that it borrows.

Invariant: looks only. Every part lies in one of the given homes, or is the usual folder of a linked work tree or a submodule,
which names its work tree itself; and nothing in it is a link.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_agent.environments.git_config import GitConfig, read_config
from tui_agent.environments.git_index import read_gitlinks
from tui_agent.environments.stamped import StampedReader, SteeredError, look_at, read_small

MAX_POINTER_BYTES = 8_192
MAX_ENTRIES = 50_000
"""Entries of one folder."""
MAX_BORROWED = 5
"""Stores of objects behind one another, as many as git follows."""
_POINTER = re.compile(r"([^\x00-\x1f\x7f]+)\n?")
_GITDIR = "gitdir: "
_SHARED = "../.."
_LISTED = ("refs", "logs", "info", "rebase-merge", "rebase-apply", "sequencer")
"""Folders of which git shows files, or reads names of objects."""
_HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as git finds it from a folder; all paths are real ones."""

    work_tree: str
    """Empty where git is called in the repository's own folder."""
    folder: str
    shared: str


@dataclass(frozen=True, slots=True)
class _FolderEntries:
    folders: tuple[str, ...]
    links: tuple[str, ...]


def _list_folder(path: str) -> _FolderEntries:
    folders: list[str] = []
    links: list[str] = []
    with os.scandir(path) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_ENTRIES:
                raise SteeredError(f"{path} has too many entries")
            if entry.is_symlink():
                links.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    return _FolderEntries(tuple(folders), tuple(links))


def _read_pointer(path: str) -> str:
    """Read a file of one line."""
    try:
        text = read_small(path, MAX_POINTER_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SteeredError(f"{path} is not UTF-8") from error
    if (pointer := _POINTER.fullmatch(text)) is None:
        raise SteeredError(f"{path} has more than one plain line")
    return pointer[1]


def _read_lines(path: str) -> tuple[str, ...]:
    try:
        text = read_small(path, MAX_POINTER_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SteeredError(f"{path} is not UTF-8") from error
    return tuple(line for line in text.split("\n") if line)


_listings = StampedReader(_list_folder)
_pointers = StampedReader(_read_pointer)
_lines = StampedReader(_read_lines)
_configs = StampedReader(read_config)
_indexes = StampedReader(read_gitlinks)


def find_repository(folder: str, homes: Sequence[str]) -> Repository | None:
    """Return the repository that git finds from a real folder upwards; None if there is none.

    Raises `SteeredError` if its parts lie in none of the homes and do not belong to its work tree.
    """
    path = folder
    while True:
        if found := open_repository(path, homes):
            return found
        if _is_repository(path):
            found = _with_shared("", path)
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
    if stat.S_ISDIR(stamp[-1]) and not _is_repository(folder):
        return None
    found = _with_shared(work_tree, folder)
    homes = (*homes, work_tree)
    if not (lies_in(folder, homes) and lies_in(found.shared, homes)) and not _points_back(found):
        raise SteeredError(f"{dot} leads to a repository elsewhere")
    return found


def _folder_of(work_tree: str, dot: str, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return dot
    if stat.S_ISLNK(mode):
        real = os.path.realpath(dot)
        if not _is_repository(real):
            raise SteeredError(f"{dot} is a link that leads to no repository")
        return real
    named = _pointers.get(dot) or ""
    if not named.startswith(_GITDIR):
        raise SteeredError(f"{dot} names no repository")
    return os.path.realpath(os.path.join(work_tree, named.removeprefix(_GITDIR)))  # noqa: PTH118


def _is_repository(folder: str) -> bool:
    """Return True if a folder may be a repository to git, by what lies in it."""
    if look_at(f"{folder}/HEAD") is None:
        return False
    parts = (look_at(f"{folder}/{name}") is not None for name in ("objects", "refs"))
    return look_at(f"{folder}/commondir") is not None or all(parts)


def _with_shared(work_tree: str, folder: str) -> Repository:
    """Add the folder that a linked work tree shares with the main one; raise for any other sharing."""
    shared = _pointers.get(f"{folder}/commondir")
    if shared is None:
        return Repository(work_tree, folder, folder)
    worktrees, _ = os.path.split(folder)
    main, name = os.path.split(worktrees)
    if shared != _SHARED or name != "worktrees":
        raise SteeredError(f"{folder} shares another repository")
    return Repository(work_tree, folder, main)


def _points_back(found: Repository) -> bool:
    """Return True if a repository elsewhere names this work tree as its own."""
    if found.shared != found.folder:
        back = _pointers.get(f"{found.folder}/gitdir")
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
    for name in _indexes.get(f"{repository.folder}/index") or ():
        names = os.fsdecode(name).split("/")
        path = "/".join((work_tree, *names))
        if b"\0" in name or {"", ".", "..", ".git"} & set(names) or os.path.realpath(path) != path:
            raise SteeredError(f"the index of {repository.folder} links to another place")
        if look_at(f"{path}/.git") is not None:
            yield path


def submodules(folder: str) -> tuple[str, ...]:
    """Return the folders of the repositories below `modules`, whose names may have slashes."""
    found: list[str] = []
    waiting = [f"{folder}/modules"]
    while waiting:
        path = waiting.pop()
        if look_at(f"{path}/HEAD") is not None:
            found.append(path)
        elif (listing := _listings.get(path)) is not None:
            if listing.links:
                raise SteeredError(f"{path} has links")
            waiting += [f"{path}/{name}" for name in listing.folders]
    return tuple(found)


def check_parts(folder: str, homes: Sequence[str]) -> None:
    """Raise `SteeredError` if something in a repository's folder is a link, or leads to objects elsewhere."""
    top = _listings.get(folder)
    if top is None:
        raise SteeredError(f"{folder} is missing")
    if set(top.links) - {_HOOKS}:
        raise SteeredError(f"{folder} has links")
    for name in set(top.folders).intersection(_LISTED):
        _check_no_links(f"{folder}/{name}")
    for name in _folders_in(f"{folder}/worktrees"):
        if _pointers.get(f"{folder}/worktrees/{name}/commondir") not in (None, _SHARED):
            raise SteeredError(f"{folder} has a work tree that shares another repository")
        _check_no_links(f"{folder}/worktrees/{name}")
    _check_objects(f"{folder}/objects", homes)


def _folders_in(path: str) -> tuple[str, ...]:
    listing = _listings.get(path)
    if listing is not None and listing.links:
        raise SteeredError(f"{path} has links")
    return () if listing is None else listing.folders


def _check_no_links(path: str) -> None:
    for name in _folders_in(path):
        if name != "modules":  # repositories of their own
            _check_no_links(f"{path}/{name}")


def _check_objects(objects: str, homes: Sequence[str], depth: int = 0) -> None:
    """Make sure that no link stands for objects. Those in folders of two digits are checked by their names, by git."""
    for name in {"info", "pack"}.intersection(_folders_in(objects)):
        _check_no_links(f"{objects}/{name}")
    for line in _lines.get(f"{objects}/info/alternates") or ():
        other = _real(objects, line)
        if depth >= MAX_BORROWED or line.startswith(('"', "#")) or not lies_in(other, homes):
            raise SteeredError(f"{objects} borrows from elsewhere")
        _check_objects(other, homes, depth + 1)
