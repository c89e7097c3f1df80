"""L3: the files of a workspace that may hold secrets, found anew for each command that must not read them.

Invariant: looks only, runs nothing and follows no folder's link; the work is bounded, and what was looked at before is looked
at again only where its folder changed. Which names are secret says whoever makes it: the policy's own list.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock

from tui_agent.environments.git_content import GitContent
from tui_agent.folds.ignore_rules import Rules
from tui_agent.ports.environment import SecretFile

MOST_FOLDERS = 5_000
"""Folders that are looked into, those nearest to the top first."""
MOST = 200
"""Files that are found."""
PASSED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "site-packages"})
"""Folders that are not looked into: repositories, and what comes from a registry."""
_PUBLIC = (".pem", ".crt")
"""Names that keys and public certificates share; one that holds a key says so."""
_PRIVATE = b"PRIVATE KEY"
_MOST_READ = 2_000_000
_SETTLED_NS = 50_000_000
"""A folder that changed so shortly before it was read may have changed again without a new time."""
_IGNORE_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class _Folder:
    """One folder as it was read: the names in it that matter."""

    stamp: tuple[int, int]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    """Those with names of secrets; a folder's ends with a slash."""
    settled: bool


class SecretFiles:
    """Those below `root`. `secret` tells of a path in it, a folder's with a slash at its end; `readable` are patterns of paths that the user opened to commands.

    Blocking: meant for a thread.
    """

    def __init__(self, root: str, secret: Callable[[str], bool], readable: Sequence[str] = ()) -> None:
        self._root = root.rstrip("/")
        self._secret = secret
        self._readable = tuple(readable)
        self._known: dict[str, _Folder] = {}
        self._keys: dict[str, tuple[tuple[int, int, int], bool]] = {}
        """Files that share their names with public certificates, and whether they hold a key."""
        self._git = GitContent()
        self._lock = Lock()

    def look(self) -> tuple[SecretFile, ...]:
        """What is there now."""
        with self._lock:
            found: dict[str, SecretFile] = {}
            for name in self._names():
                one = self._file(name)
                if one is not None:
                    found.setdefault(one.path, one)
                if len(found) >= MOST:
                    break
            return tuple(found.values())

    def _names(self) -> Iterator[str]:
        waiting, seen = deque([""]), dict[str, _Folder]()
        while waiting and len(seen) < MOST_FOLDERS:
            at = waiting.popleft()
            folder = self._folder(at)
            if folder is None:
                continue
            seen[at] = folder
            yield from (f"{at}{name}" for name in folder.files)
            waiting.extend(f"{at}{name}/" for name in folder.folders)
        self._known = seen

    def _folder(self, at: str) -> _Folder | None:
        path = f"{self._root}/{at}"
        try:
            info = os.stat(path)  # noqa: PTH116 - asked ten thousand times
            stamp, known = (info.st_mtime_ns, info.st_ino), self._known.get(at)
            if known is not None and known.settled and known.stamp == stamp:
                return known
            settled = time.time_ns() - info.st_mtime_ns > _SETTLED_NS
            with os.scandir(path) as entries:
                return self._read(at, list(entries), stamp, settled)
        except OSError:  # gone, or nobody may look into it
            return None

    def _read(
        self, at: str, entries: Sequence[os.DirEntry[str]], stamp: tuple[int, int], settled: bool
    ) -> _Folder:
        folders, files = [], []
        for entry in entries:
            name = entry.name
            if not entry.is_dir(follow_symlinks=False):
                if self._secret(f"{at}{name}"):
                    files.append(name)
            elif self._secret(f"{at}{name}/"):
                files.append(f"{name}/")
            elif name not in PASSED:
                folders.append(name)
        return _Folder(stamp, tuple(folders), tuple(files), settled)

    def _file(self, name: str) -> SecretFile | None:
        """The file that a name leads to, unless it is no file, holds nothing secret, or was opened by the user."""
        plain = name.rstrip("/")
        if any(fnmatchcase(plain, shape) or fnmatchcase(Path(plain).name, shape) for shape in self._readable):
            return None
        path = os.path.realpath(f"{self._root}/{plain}")
        if name.endswith("/"):
            ignored = self._ignored(plain, folder=True)
            return SecretFile(name, f"{path}/", ignored=ignored) if Path(path).is_dir() else None
        if not Path(path).is_file() or (name.lower().endswith(_PUBLIC) and not self._holds_key(path)):
            return None
        held = self._git.holds(path)
        return SecretFile(name, path, in_git=held, ignored=not held and self._ignored(plain))

    def _holds_key(self, path: str) -> bool:
        info = Path(path).stat()
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        known = self._keys.get(path)
        if known is None or known[0] != stamp:
            known = self._keys[path] = (stamp, _holds_key(path))
        return known[1]

    def _ignored(self, name: str, *, folder: bool = False) -> bool:
        """Whether an ignore file of the workspace leaves it out."""
        rules, base = Rules(), ""
        for part in ["", *name.split("/")[:-1]]:
            base += f"{part}/" if part else ""
            if base and rules.ignores(base.rstrip("/"), True):
                return True
            rules = rules.below(base, _text(Path(self._root, base, ".gitignore")))
        return rules.ignores(name, folder)


def _holds_key(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_READ + 1)
    except OSError:
        return True
    return len(data) > _MOST_READ or _PRIVATE in data


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_IGNORE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
