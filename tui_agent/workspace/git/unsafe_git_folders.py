"""Detection of folders where even read-only git commands would run programs or read unrelated files.

Invariant: a repository with an unknown setting or file is not trusted.
"""

import glob
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.git.repository_layout import (
    MAX_POINTER_BYTES,
    WORKTREE_COMMONDIR,
    Repository,
    find_gitlinks,
    find_repository,
    is_inside,
    list_work_trees,
    looks_like_repository,
    open_folder,
    open_repository,
    read_pointer,
    read_settings,
)
from tui_agent.workspace.git.stat_cache import StampedReader, UnsafeRepositoryError, read_small

MAX_ENTRIES = 200_000
"""Maximum total number of folder entries that one check reads."""
MAX_BORROWED = 5
"""Maximum length of a chain of borrowing object stores. Git has the same maximum."""
_READ_FOLDERS = ("refs", "logs", "info", "rebase-merge", "rebase-apply", "sequencer")
"""Subfolders of a git folder. Git displays the files in these folders, or reads names of objects from them."""
_OWN_FOLDERS = frozenset({*_READ_FOLDERS, "hooks", "objects", "modules", "worktrees", "branches", "lfs"})
_HOOKS = "hooks"
_WATCHER = "fsmonitor--daemon.ipc"
"""Name of the socket of git's own file monitor."""


@dataclass(frozen=True, slots=True)
class _FolderEntries:
    count: int
    folders: tuple[str, ...]
    odd: frozenset[str]
    """Names of the entries that are neither folders nor files."""


def _list_folder(path: str) -> _FolderEntries:
    count = 0
    folders: list[str] = []
    odd: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            count += 1
            if count > MAX_ENTRIES:
                raise UnsafeRepositoryError(f"{path} has too many entries")
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif not entry.is_file(follow_symlinks=False):
                odd.append(entry.name)
    return _FolderEntries(count, tuple(folders), frozenset(odd))


def _read_lines(path: str) -> tuple[str, ...]:
    try:
        text = read_small(path, MAX_POINTER_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsafeRepositoryError(f"{path} is not UTF-8") from error
    return tuple(line for line in text.split("\n") if line)


_listings = StampedReader(_list_folder)
_lines = StampedReader(_read_lines)


class RepositoryCheck:
    """Checks the git folders of repositories, with a limit on the total number of entries."""

    def __init__(self) -> None:
        self._remaining = MAX_ENTRIES

    def check(self, folder: str, homes: Sequence[str]) -> None:
        """Raise `UnsafeRepositoryError` if anything in the git folder `folder` refers to files outside `homes`."""
        for name in set(self._folders(folder, _HOOKS, _WATCHER)).intersection(_READ_FOLDERS):
            self._check_tree(f"{folder}/{name}")
        for name in self._folders(f"{folder}/worktrees"):
            tree = f"{folder}/worktrees/{name}"
            if read_pointer(f"{tree}/commondir") not in (None, WORKTREE_COMMONDIR):
                raise UnsafeRepositoryError(f"{tree} uses the data of another repository")
            for part in set(self._folders(tree)).intersection(_READ_FOLDERS):
                self._check_tree(f"{tree}/{part}")
        self._check_objects(f"{folder}/objects", homes)

    def find_submodules(self, folder: str) -> tuple[str, ...]:
        """Return the git folders of a repository's submodules, below its folder `modules`."""
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
        """Return the names of the subfolders of `path`. Raise `UnsafeRepositoryError` for links and special files.

        `may_be_odd`: entries that may be links or special files.
        """
        if (listing := _listings.get(path)) is None:
            return ()
        self._remaining -= listing.count + 1
        if self._remaining < 0:
            raise UnsafeRepositoryError("the repositories have too many entries")
        if listing.odd.difference(may_be_odd):
            raise UnsafeRepositoryError(f"{path} has links")
        return listing.folders

    def _check_tree(self, path: str) -> None:
        pending = [path]
        while pending:
            path = pending.pop()
            pending += [f"{path}/{name}" for name in self._folders(path)]

    def _check_objects(self, objects: str, homes: Sequence[str], depth: int = 0) -> None:
        """Raise `UnsafeRepositoryError` if a pack is a link, or if objects are borrowed from outside `homes`."""
        # Git verifies loose objects by their names.
        for name in {"info", "pack"}.intersection(self._folders(objects)):
            self._check_tree(f"{objects}/{name}")
        for line in _lines.get(f"{objects}/info/alternates") or ():
            other = os.path.realpath(f"{objects}/{line}" if not line.startswith("/") else line)
            # Git reads a line that starts with `"` as a quoted path, and one that starts with `#` as a comment.
            if depth >= MAX_BORROWED or line.startswith(('"', "#")) or not is_inside(other, homes):
                raise UnsafeRepositoryError(f"{objects} borrows objects from a folder that is not allowed")
            self._check_objects(other, homes, depth + 1)


MAX_MATCHES = 200
"""Maximum number of folders that one pattern can match."""
MAX_REPOSITORIES = 200
_HOOK = "post-index-change"
"""Name of the only hook of read-only git commands."""
_TRUSTED_FOLDER = re.compile(r"(?im)^[ \t]*+directory[ \t]*+=(.*)$")
"""Regular expression for a line of the setting `safe.directory`."""
_IGNORED_REVISIONS = ".git-blame-ignore-revs"


def can_run_programs(root: str, folders: Collection[str] = ()) -> bool:
    """Return True if a repository could make read-only git commands run programs or read files outside `root`.

    `folders`: working folders of the git commands, as names or patterns relative to `root` (empty: `root` itself).

    The result is also True if such a folder is in no work tree, and in case of doubt.
    """
    # Without a work tree, git compares arbitrary files.
    home = os.path.realpath(root)
    try:
        working_folders = {path for folder in folders or (".",) for path in _matching_folders(root, folder)}
        repositories = {path: find_repository(path, (home,)) for path in sorted({home, *working_folders})}
        _Check(home).check_all([repository for repository in repositories.values() if repository is not None])
        return not all(_accepts_work_tree(path, repositories[path]) for path in working_folders)
    except (UnsafeRepositoryError, OSError):
        return True


def _accepts_work_tree(path: str, repository: Repository | None) -> bool:
    """Return True if git uses the repository's work tree: same file system and same user."""
    if repository is None or not repository.work_tree:
        return False
    top = repository.work_tree
    parts = [os.lstat(part) for part in (top, f"{top}/.git", repository.folder)]
    if any(part.st_uid != os.geteuid() for part in parts) and not _is_trusted_by_user(top):
        return False
    try:
        return os.stat(path).st_dev == parts[0].st_dev  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):  # git cannot start there
        return True


def _is_trusted_by_user(work_tree: str) -> bool:
    """Return True if the user's git configuration lets git use this repository of another user."""
    home = os.path.expanduser("~")  # noqa: PTH111
    config_home = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    trusted: set[str] = set()
    for path in (f"{home}/.gitconfig", f"{config_home}/git/config", "/etc/gitconfig"):
        with suppress(OSError):
            folders = _TRUSTED_FOLDER.findall(Path(path).read_text("utf-8", "replace"))
            trusted.update(folder.strip(' \t"') for folder in folders)
    return not trusted.isdisjoint({"*", work_tree})


def _matching_folders(root: str, folder: str) -> Iterator[str]:
    path = os.path.join(root, os.path.expanduser(folder))  # noqa: PTH111, PTH118 - as a shell reads it
    if "**" in folder or "\0" in folder:
        raise UnsafeRepositoryError("it is not certain in which folder git runs")
    matches = glob.iglob(path, include_hidden=True) if glob.has_magic(path) else ()  # noqa: PTH207 - of any root
    names = list(islice(matches, MAX_MATCHES + 1))
    if len(names) > MAX_MATCHES:
        raise UnsafeRepositoryError("there are too many folders in which git could run to check them all")
    # For a shell, `link/..` is the folder of the link. For other programs, it is the parent of the link's target.
    for name in (*names, path):
        yield os.path.realpath(name)
        yield os.path.realpath(os.path.normpath(name))


class _Check:
    def __init__(self, home: str) -> None:
        self._home = home
        self._parts = RepositoryCheck()
        self._seen: set[Repository] = set()
        self._modules: set[str] = set()

    def check_all(self, pending: list[Repository]) -> None:
        """Check these repositories and their submodules at any depth; raise `UnsafeRepositoryError` if one is not
        trusted."""
        while pending:
            repository = pending.pop()
            if repository in self._seen:
                continue
            self._seen.add(repository)
            if len(self._seen) > MAX_REPOSITORIES:
                raise UnsafeRepositoryError("too many repositories")
            homes = (
                self._home,
                repository.work_tree or repository.folder,
                repository.folder,
                repository.shared,
            )
            tops = self._check_repository(repository, homes)
            links = [link for top in tops for link in find_gitlinks(repository, top)]
            pending += [linked for link in links if (linked := open_repository(link, homes)) is not None]

    def _check_repository(self, repository: Repository, homes: Sequence[str]) -> tuple[str, ...]:
        tops = tuple(filter(None, (repository.work_tree,)))
        pending = list(dict.fromkeys((repository.shared, repository.folder)))
        for folder in pending:
            tops += self._check_folder(folder, tops, homes)
        while pending:
            for folder in self._parts.find_submodules(pending.pop()):
                if folder not in self._modules:
                    self._modules.add(folder)
                    self._check_folder(open_folder("", folder).folder, (), (*homes, folder))
                    pending.append(folder)
            if len(self._modules) > MAX_REPOSITORIES:
                raise UnsafeRepositoryError("too many submodules")
        return tuple(dict.fromkeys(tops))

    def _check_folder(self, folder: str, tops: Sequence[str], homes: Sequence[str]) -> tuple[str, ...]:
        """Check one git folder of a repository, and return the work trees in its configuration."""
        self._parts.check(folder, homes)
        configured = tuple(path for path in list_work_trees(folder) if _is_work_tree(path, folder))
        bases = dict.fromkeys((*tops, *configured, folder))
        hooks = [os.path.expanduser(value) for config in read_settings(folder) for value in config.hooks]  # noqa: PTH111
        hook_folders = [os.path.join(base, value) for value in hooks for base in bases]  # noqa: PTH118
        if any(
            os.access(f"{hook_folder}/{_HOOK}", os.X_OK) for hook_folder in (f"{folder}/hooks", *hook_folders)
        ):
            raise UnsafeRepositoryError(f"{folder} has a hook that runs on read-only commands")
        if any(os.path.islink(f"{base}/{_IGNORED_REVISIONS}") for base in bases):  # noqa: PTH114
            raise UnsafeRepositoryError("the list of ignored revisions is a link")
        return configured


def _is_work_tree(path: str, folder: str) -> bool:
    """Return True if `path` is a work tree of the repository with the git folder `folder`.

    Return False if `path` is empty or missing. Raise `UnsafeRepositoryError` in all other cases.
    """
    try:
        with os.scandir(path) as entries:
            if next(entries, None) is None:
                return False
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UnsafeRepositoryError(f"{path} is not a work tree") from error
    repository = open_repository(path, (folder,))
    if repository is None or repository.folder != folder:
        raise UnsafeRepositoryError(f"{path} is not a work tree of {folder}")
    return True
