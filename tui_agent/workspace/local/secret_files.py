"""The files of a workspace that may hold secrets, and the links that lead out of it, found anew for each command.

Invariant: looks only, runs nothing and follows no folder's link; the work is bounded, and what was looked at before is looked
at again only where its folder changed. Which names are secret says whoever makes it: the policy's own list.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from errno import ENAMETOOLONG
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock

from tui_agent.ports.environment import SecretFile, WorkspaceLink, WorkspaceScan
from tui_agent.workspace.git.content import GitContent
from tui_agent.workspace.local.ignore_files import CONTROL_NAMES, IgnoreFiles, folders_above

MOST_FOLDERS = 5_000
"""Folders that are looked into, those nearest to the top first."""
MOST = 200
"""Files that are found."""
MAX_LINKS = 5_000
"""Links that are followed to see whether they lead out of the workspace."""
OPTION_STARTS = frozenset("-+@|=")
"""Characters at the begin of a name that some program takes for an option, a list of files or a command."""
_ODD = frozenset(" \t\n\r\v\f'\"\\:*?[")
_INSTALLED = frozenset({"node_modules", "site-packages"})
_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
PASSED = _REPOSITORIES | _INSTALLED
"""Folders that are not searched for secrets: repositories, and what comes from a registry."""
_PUBLIC = (".pem", ".crt")
"""Names that keys and public certificates share; one that holds a key says so."""
_PRIVATE = b"PRIVATE KEY"
_MOST_READ = 2_000_000
_SETTLED_NS = 50_000_000
"""A folder that changed so shortly before it was read may have changed again without a new time."""
_LONGEST_NAME = 255
"""Bytes of the longest name in a folder."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """One folder as it was read: the names in it that matter."""

    stamp: tuple[int, int]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    """Those with names of secrets; a folder's ends with a slash."""
    links: frozenset[str]
    """Those of them that are links."""
    settled: bool
    every_link: tuple[str, ...] = ()
    """All links in it."""
    option_names: tuple[str, ...] = ()
    """Names in it that a program may take for an option."""
    odd_names: tuple[str, ...] = ()
    """Names in it that fall into pieces where a list of names is cut at blanks, or mean something else to some programs."""
    installed: tuple[str, ...] = ()
    """Folders in it that come from a registry."""
    repositories: tuple[str, ...] = ()
    """Folders in it of a version control system: they are looked through last, and for links alone."""
    steering: tuple[str, ...] = ()
    """Files in it that decide what some programs do."""
    control_names: tuple[str, ...] = ()
    """Names in it on which it depends what is left out of searches."""


class SecretFiles:
    """Those below `root`. `secret` tells of a path in it, a folder's with a slash at its end; `readable` are patterns of paths that the user opened to commands.

    Blocking: meant for a thread.
    """

    def __init__(
        self,
        root: str,
        secret: Callable[[str], bool],
        readable: Sequence[str] = (),
        steering: frozenset[str] = frozenset(),
    ) -> None:
        self._steering = steering
        self._root = root.rstrip("/")
        self._longest = os.pathconf("/", "PC_PATH_MAX") - _LONGEST_NAME - 2
        """Bytes of a folder's path with which every file in it can be looked at."""
        self._secret = secret
        self._readable = tuple(readable)
        self._known: dict[str, _Folder] = {}
        self._seen: dict[str, _Folder] = {}
        """Those of this look."""
        self._keys: dict[str, tuple[tuple[int, int, int], bool]] = {}
        """Files that share their names with public certificates, and whether they hold a key."""
        self._git = GitContent()
        self._ignore = IgnoreFiles(self._root, self._control_names)
        """The ignore files as they are while it is looked."""
        self._lock = Lock()
        self.cut = ""
        """Why not all was looked at in the newest look, as a sentence; empty where it was."""
        self._waiting: tuple[str, ...] = ()
        """Folders that the newest look did not reach, as seen from the workspace."""
        self._unread: list[str] = []
        """Folders that it could not look into."""

    def look(self) -> tuple[SecretFile, ...]:
        """What is there now."""
        with self._lock:
            found: dict[str, SecretFile] = {}
            self.cut = ""
            self._git.look_anew()
            self._ignore = IgnoreFiles(self._root, self._control_names)
            self._unread = []
            for name, link in self._names():
                one = self._file(name, link=link)
                if one is not None:
                    found.setdefault(one.path, one)
                if len(found) >= MOST:
                    self._waiting = ("",)
                    self.cut = f"There are more than the {MOST:,} files that are found at most."
                    break
            self._known = self._seen
            return tuple(found.values())

    def scan(self) -> WorkspaceScan:
        """Look, and return everything that was noticed."""
        secrets = self.look()
        with self._lock:
            seen = self._seen
            links = [f"{at}{name}" for at, folder in seen.items() for name in folder.every_link]
            option_names = [f"{at}{name}" for at, folder in seen.items() for name in folder.option_names]
            odd_names = [f"{at}{name}" for at, folder in seen.items() for name in folder.odd_names]
            installed = [f"{at}{name}" for at, folder in seen.items() for name in folder.installed]
            # What no repository tracks came from a registry, whose archives hold no links.
            steering = [f"{at}{name}" for at, folder in seen.items() for name in folder.steering]
            unscanned = [name for name in installed if self._git.may_track_below(f"{self._root}/{name}")]
            unscanned += [
                f"{at}{name[:-1]}"
                for at, folder in seen.items()
                for name in folder.files
                if name.endswith("/")
            ]
            return WorkspaceScan(
                secrets,
                tuple(map(self._follow, links[:MAX_LINKS])),
                tuple(option_names),
                tuple(odd_names),
                (*steering, *self._steering_above()),
                (*unscanned, *self._unread, *self._waiting, *([""] if len(links) > MAX_LINKS else [])),
            )

    def _follow(self, name: str) -> WorkspaceLink:
        target = os.path.realpath(f"{self._root}/{name}")
        inside = target.removeprefix(f"{self._root}/")
        return WorkspaceLink(name, target, inside != target and self._secret(inside))

    def _names(self) -> Iterator[tuple[str, bool]]:
        """The names with secrets, and whether each is a link."""
        waiting, later, seen = deque([""]), deque[str](), dict[str, _Folder]()
        self._seen = seen
        while (waiting or later) and len(seen) < MOST_FOLDERS:
            at = (waiting or later).popleft()
            folder = self._folder(at)
            if folder is None:
                continue
            seen[at] = folder
            yield from ((f"{at}{name}", name in folder.links) for name in folder.files)
            waiting.extend(f"{at}{name}/" for name in folder.folders)
            later.extend(f"{at}{name}/" for name in folder.repositories)
        self._waiting = tuple(at.rstrip("/") for at in (*waiting, *later))
        if waiting:
            self.cut = f"There are more than the {MOST_FOLDERS:,} folders that are looked into, from the top."
        elif self._unread:
            self.cut = f"Some folders could not be looked into, such as {self._unread[0]}."

    def _folder(self, at: str) -> _Folder | None:
        path = f"{self._root}/{at}"
        try:
            if len(path) > self._longest // 4 and len(os.fsencode(path)) > self._longest:
                raise OSError(ENAMETOOLONG, "some files in it cannot be named")
            info = os.stat(path)  # noqa: PTH116 - asked ten thousand times
            stamp, known = (info.st_mtime_ns, info.st_ino), self._known.get(at)
            if known is not None and known.settled and known.stamp == stamp:
                return known
            settled = time.time_ns() - info.st_mtime_ns > _SETTLED_NS
            with os.scandir(path) as entries:
                return self._read(at, list(entries), stamp, settled)
        except (FileNotFoundError, NotADirectoryError):  # gone
            return None
        except OSError:
            self._unread.append(at.rstrip("/"))
            return None

    def _read(
        self, at: str, entries: Sequence[os.DirEntry[str]], stamp: tuple[int, int], settled: bool
    ) -> _Folder:
        folders, files, links = [], [], []
        every_link = tuple(entry.name for entry in entries if entry.is_symlink())
        option_names = tuple(_shown(entry) for entry in entries if entry.name[0] in OPTION_STARTS)
        odd_names = tuple(_shown(entry) for entry in entries if not _ODD.isdisjoint(entry.name))
        installed = tuple(entry.name for entry in entries if entry.name in _INSTALLED)
        own = _REPOSITORIES.isdisjoint(at.split("/"))
        for entry in entries:
            name = entry.name
            if not entry.is_dir(follow_symlinks=False):
                if own and self._secret(f"{at}{name}"):
                    files.append(name)
                    links += [name] if entry.is_symlink() else []
            elif own and self._secret(f"{at}{name}/"):
                files.append(f"{name}/")
            elif name not in PASSED:
                folders.append(name)
        return _Folder(
            stamp,
            tuple(folders),
            tuple(files),
            frozenset(links),
            settled,
            every_link,
            option_names,
            odd_names,
            installed,
            tuple(entry.name for entry in entries if entry.name in _REPOSITORIES and not entry.is_symlink()),
            tuple(entry.name for entry in entries if entry.name in self._steering),
            tuple(entry.name for entry in entries if entry.name in CONTROL_NAMES),
        )

    def _file(self, name: str, *, link: bool) -> SecretFile | None:
        """The file that a name leads to, unless it is no file, holds nothing secret, or was opened by the user."""
        plain = name.rstrip("/")
        whole = f"{self._root}/{plain}"
        names = (plain, plain.rpartition("/")[2], whole)
        if any(fnmatchcase(each, shape) for shape in self._readable for each in names):
            return None
        try:
            path = os.path.realpath(whole) if link else whole
            info = os.stat(path)  # noqa: PTH116 - asked for each of many before each command
        except OSError:  # gone, or a link to nowhere
            return None
        if name.endswith("/"):
            ignored, back = self._ignore.leave_out(plain, folder=True), self._ignore.may_bring_back(plain)
            found = SecretFile(name, f"{path}/", ignored=ignored, brought_back=back)
            return found if stat.S_ISDIR(info.st_mode) else None
        if not stat.S_ISREG(info.st_mode) or (
            name.lower().endswith(_PUBLIC) and not self._holds_key(path, info)
        ):
            return None
        held = self._git.held(path, info)
        ignored = not held.same and self._ignore.leave_out(plain)
        back = self._ignore.may_bring_back(plain)
        return SecretFile(name, path, held.same, ignored, back, held.version)

    def _control_names(self, base: str) -> Collection[str]:
        return self._seen[base].control_names if base in self._seen else CONTROL_NAMES

    def _steering_above(self) -> Iterator[str]:
        """Find files above the workspace that decide what some programs do; those in the home folder are the user's own."""
        home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
        for depth, folder in enumerate(folders_above(self._root), start=1):
            if folder == home:
                break
            above = "../" * depth
            yield from (f"{above}{name}" for name in self._steering if os.path.lexists(f"{folder}/{name}"))

    def _holds_key(self, path: str, info: os.stat_result) -> bool:
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        known = self._keys.get(path)
        if known is None or known[0] != stamp:
            known = self._keys[path] = (stamp, _holds_key(path))
        return known[1]


def _shown(entry: os.DirEntry[str]) -> str:
    """The name of a file, of a folder with a slash at its end."""
    return f"{entry.name}/" if os.path.isdir(entry) else entry.name  # noqa: PTH112 - one that is no link is known already


def public_certificates(paths: Iterable[str]) -> frozenset[str]:
    """Return those of these absolute paths that are files of certificates without a private key."""
    return frozenset(
        path
        for path in paths
        if path.lower().endswith(_PUBLIC) and os.path.isfile(path) and not _holds_key(path)  # noqa: PTH113 - as above
    )


def _holds_key(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_READ + 1)
    except OSError:
        return True
    return len(data) > _MOST_READ or _PRIVATE in data
