"""Folders in which git, also where it only looks, would run programs or read files that nobody named.

Invariant: looks only, and at a bounded number of files; a repository is trusted only where all that steers git is understood.
Of the user's own configuration only those folders count that git is told to trust.
"""

import glob
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui_agent.workspace.git.layout import (
    Repository,
    find_repository,
    gitlinks,
    open_folder,
    open_repository,
    settings,
    work_trees,
)
from tui_agent.workspace.git.repository_files import PartsCheck
from tui_agent.workspace.git.stat_cache import SteeredError

MAX_MEANT = 200
"""Folders that one pattern stands for."""
MAX_REPOSITORIES = 200
_HOOK = "post-index-change"
"""The only hook that a look at a repository runs."""
_TRUSTED_FOLDER = re.compile(r"""(?im)^[ \t]*directory[ \t]*=[ \t]*"?([^"\n]*?)"?[ \t]*$""")
"""A line of `safe.directory`."""
_IGNORED_REVISIONS = ".git-blame-ignore-revs"


def runs_programs(root: str, folders: Collection[str] = ()) -> bool:
    """Return True if git, where it only looks, may run programs or read files outside because of what lies with a repository.

    That is the repository around `root`, or around one of `folders`, names or patterns as seen from there, in which git is
    started. Also True where git has no work tree in one of them: there it compares any files, tracked or not.
    """
    home = os.path.realpath(root)
    try:
        started_in = {path for folder in folders or (".",) for path in _folders_meant(root, folder)}
        around = {path: find_repository(path, (home,)) for path in sorted({home, *started_in})}
        _Check(home).check_all([repository for repository in around.values() if repository is not None])
        return not all(_accepts_work_tree(path, around[path]) for path in started_in)
    except (SteeredError, OSError):
        return True


def _accepts_work_tree(path: str, repository: Repository | None) -> bool:
    """Return True if git, started in a folder, has a work tree there; on another file system or of another user it has none."""
    if repository is None or not repository.work_tree:
        return False
    top = repository.work_tree
    parts = [os.lstat(part) for part in (top, f"{top}/.git", repository.folder)]
    if any(part.st_uid != os.geteuid() for part in parts) and not _is_trusted_by_user(top):
        return False
    try:
        return os.stat(path).st_dev == parts[0].st_dev  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):  # git does not start there
        return True


def _is_trusted_by_user(work_tree: str) -> bool:
    """Return True if the user's own configuration lets git use a repository of another user."""
    home = os.path.expanduser("~")  # noqa: PTH111
    more = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    trusted: set[str] = set()
    for path in (f"{home}/.gitconfig", f"{more}/git/config", "/etc/gitconfig"):
        with suppress(OSError):
            trusted.update(_TRUSTED_FOLDER.findall(Path(path).read_text("utf-8", "replace")))
    return not trusted.isdisjoint({"*", work_tree})


def _folders_meant(root: str, folder: str) -> Iterator[str]:
    """Find the real folders that a name or a pattern stands for, as the system and as a shell go there."""
    path = os.path.join(root, os.path.expanduser(folder))  # noqa: PTH111, PTH118 - as a shell reads it
    if "**" in folder or "\0" in folder:
        raise SteeredError("any folder may be meant")
    matches = glob.iglob(path, include_hidden=True) if glob.has_magic(path) else ()  # noqa: PTH207 - of any root
    names = list(islice(matches, MAX_MEANT + 1))
    if len(names) > MAX_MEANT:
        raise SteeredError("too many folders are meant")
    for name in (*names, path):
        yield os.path.realpath(name)
        yield os.path.realpath(os.path.normpath(name))


class _Check:
    """One look at repositories and at all that belongs to them."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._parts = PartsCheck()
        self._seen: set[Repository] = set()
        self._modules: set[str] = set()

    def check_all(self, waiting: list[Repository]) -> None:
        """Check repositories and those that their indexes link to. Raises `SteeredError`."""
        while waiting:
            repository = waiting.pop()
            if repository in self._seen:
                continue
            self._seen.add(repository)
            if len(self._seen) > MAX_REPOSITORIES:
                raise SteeredError("too many repositories")
            homes = (
                self._home,
                repository.work_tree or repository.folder,
                repository.folder,
                repository.shared,
            )
            tops = self._check_repository(repository, homes)
            links = [link for top in tops for link in gitlinks(repository, top)]
            waiting += [found for link in links if (found := open_repository(link, homes)) is not None]

    def _check_repository(self, repository: Repository, homes: Sequence[str]) -> tuple[str, ...]:
        """Check all folders of a repository; return its work trees."""
        tops = tuple(filter(None, (repository.work_tree,)))
        waiting = list(dict.fromkeys((repository.shared, repository.folder)))
        for folder in waiting:
            tops += self._check_folder(folder, tops, homes)
        while waiting:
            for folder in self._parts.submodules(waiting.pop()):
                if folder not in self._modules:
                    self._modules.add(folder)
                    self._check_folder(open_folder("", folder).folder, (), (*homes, folder))
                    waiting.append(folder)
            if len(self._modules) > MAX_REPOSITORIES:
                raise SteeredError("too many submodules")
        return tuple(dict.fromkeys(tops))

    def _check_folder(self, folder: str, tops: Sequence[str], homes: Sequence[str]) -> tuple[str, ...]:
        """Check one folder of a repository; return the work trees that its configuration names."""
        self._parts.check(folder, homes)
        named = tuple(path for path in work_trees(folder) if _is_work_tree(path, folder))
        bases = dict.fromkeys((*tops, *named, folder))
        hooks = [os.path.expanduser(value) for config in settings(folder) for value in config.hooks]  # noqa: PTH111
        places = [os.path.join(base, value) for value in hooks for base in bases]  # noqa: PTH118
        if any(os.access(f"{place}/{_HOOK}", os.X_OK) for place in (f"{folder}/hooks", *places)):
            raise SteeredError(f"{folder} has a hook that runs at a look")
        if any(os.path.islink(f"{base}/{_IGNORED_REVISIONS}") for base in bases):  # noqa: PTH114
            raise SteeredError("revisions to be ignored are read from elsewhere")
        return named


def _is_work_tree(path: str, folder: str) -> bool:
    """Return True if a folder has this repository; False if it has nothing at all. Raise for any other."""
    try:
        with os.scandir(path) as entries:
            if next(entries, None) is None:
                return False
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SteeredError(f"{path} is no work tree") from error
    found = open_repository(path, (folder,))
    if found is None or found.folder != folder:
        raise SteeredError(f"{folder} has a work tree elsewhere")
    return True
