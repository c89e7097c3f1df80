"""Search for possible secret files, and for links out of the workspace, before each command.

Invariant: this module only reads, runs nothing and follows no link to a folder.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from errno import ENAMETOOLONG
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import SecretFile, WorkspaceLink, WorkspaceScan
from tui_agent.units import format_number
from tui_agent.workspace.git.git_content import GitContent
from tui_agent.workspace.local.ignore_files import CONTROL_NAMES, IgnoreFiles, parent_folders

MAX_FOLDERS = 5_000
"""Maximum number of folders that one scan reads, in breadth-first order."""
MAX_FILES = 200
"""Maximum number of secret files that are returned."""
MAX_LINKS = 5_000
"""Maximum number of links that one scan resolves."""
OPTION_STARTS = frozenset("-+@|=")
"""First characters of names that some programs interpret as an option, a list of files or a command."""
_UNUSUAL = frozenset(" \t\n\r\v\f'\"\\:*?[")
_INSTALLED = frozenset({"node_modules", "site-packages"})
_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
SKIPPED_FOLDERS = _REPOSITORIES | _INSTALLED
"""Folders that are not searched for secrets: repositories and installed packages."""
_CERTIFICATE_ENDINGS = (".pem", ".crt")
"""Endings of files with private keys or with public certificates. Only the content shows the difference."""
_PRIVATE_KEY_MARK = b"PRIVATE KEY"
_MAX_KEY_FILE_BYTES = 2_000_000
_SETTLED_NS = 50_000_000
"""Minimum age of a folder's last change, in nanoseconds, so that the listing of the folder can be reused."""
# A second change soon after the first could have the same time.
_MAX_NAME_BYTES = 255
"""Maximum bytes of a name in a folder."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """The names in a folder that matter for the search, as they were when the folder was read."""

    stamp: tuple[int, int]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    """Names of secret files and folders. The name of a folder ends with a slash."""
    links: frozenset[str]
    """The subset of `files` that are symbolic links."""
    settled: bool
    every_link: tuple[str, ...] = ()
    """Names of all symbolic links in the folder."""
    option_names: tuple[str, ...] = ()
    """Names that look like an option of a program, such as `-rf`."""
    odd_names: tuple[str, ...] = ()
    """Names with blanks, or with a special meaning for some programs."""
    installed: tuple[str, ...] = ()
    """Subfolders with installed packages."""
    repositories: tuple[str, ...] = ()
    """Subfolders of a version control system. They are searched last, for links only."""
    steering: tuple[str, ...] = ()
    """Files that configure the behaviour of some programs."""
    control_names: tuple[str, ...] = ()
    """Names of the folder's ignore files and repositories. They decide which files a search skips."""


class SecretFiles:
    """Finds possible secret files below `root`. The methods block: call them in a thread.

    - `is_secret`: returns True for a secret path in the workspace; a folder's path ends with a slash
    - `readable`: globs of paths that the user made readable for commands
    """

    def __init__(
        self,
        root: str,
        is_secret: Callable[[str], bool],
        readable: Sequence[str] = (),
        steering_names: frozenset[str] = frozenset(),
    ) -> None:
        self._steering = steering_names
        self._root = root.rstrip("/")
        self._longest = os.pathconf("/", "PC_PATH_MAX") - _MAX_NAME_BYTES - 2
        """Maximum length of a folder's path, in bytes. In longer folders, file paths could exceed the system's limit."""
        self._secret = is_secret
        self._readable = tuple(readable)
        self._known: dict[str, _Folder] = {}
        self._current: dict[str, _Folder] = {}
        """The folders that the current scan has read, keyed by path."""
        self._keys: dict[str, tuple[tuple[int, int, int], bool]] = {}
        """Maps the path of a possible certificate file to (stamp, True if the file contains a private key)."""
        self._git = GitContent()
        self._ignore = IgnoreFiles(self._root, self._control_names)
        """The ignore files at the time of the current scan."""
        self._lock = Lock()
        self.incomplete_reason = ""
        """The reason why the newest scan was incomplete, as a sentence; empty if it was complete."""
        self._unreached: tuple[str, ...] = ()
        """Folders not reached by the newest scan. Their paths are relative to the workspace."""
        self._unread: list[str] = []
        """Folders that the newest scan could not read."""

    def find_secrets(self) -> tuple[SecretFile, ...]:
        """Return the possible secret files in the workspace."""
        with self._lock:
            files: dict[str, SecretFile] = {}
            self.incomplete_reason = ""
            self._git.clear_cache()
            self._ignore = IgnoreFiles(self._root, self._control_names)
            self._unread = []
            for name, link in self._secret_names():
                file = self._secret_file(name, link=link)
                if file is not None:
                    files.setdefault(file.path, file)
                if len(files) >= MAX_FILES:
                    self._unreached = ("",)
                    self.incomplete_reason = f"There are more than {format_number(MAX_FILES)} secret files; the rest is not listed."
                    break
            self._known = self._current
            return tuple(files.values())

    def scan(self) -> WorkspaceScan:
        """Scan the workspace, as described in `ports.environment.WorkspaceScanner`."""
        secrets = self.find_secrets()
        with self._lock:
            current = self._current

            def collect(names_of: Callable[[_Folder], Iterable[str]]) -> list[str]:
                return [f"{base}{name}" for base, folder in current.items() for name in names_of(folder)]

            links = collect(lambda folder: folder.every_link)
            # The content of installed packages that git does not track comes from a registry, whose archives contain no
            # links.
            installed = collect(lambda folder: folder.installed)
            unscanned = [name for name in installed if self._git.may_track_files_in(f"{self._root}/{name}")]
            unscanned += [name[:-1] for name in collect(lambda folder: folder.files) if name.endswith("/")]
            return WorkspaceScan(
                secrets,
                tuple(map(self._follow, links[:MAX_LINKS])),
                tuple(collect(lambda folder: folder.option_names)),
                tuple(collect(lambda folder: folder.odd_names)),
                (*collect(lambda folder: folder.steering), *self._steering_above()),
                (*unscanned, *self._unread, *self._unreached, *([""] if len(links) > MAX_LINKS else [])),
            )

    def _follow(self, name: str) -> WorkspaceLink:
        target = os.path.realpath(f"{self._root}/{name}")
        inside = target.removeprefix(f"{self._root}/")
        return WorkspaceLink(name, target, inside != target and self._secret(inside))

    def _secret_names(self) -> Iterator[tuple[str, bool]]:
        """Yield (name, True if the file is a link) for each possible secret file."""
        # Folders near the top come first, and the insides of repositories last, in case the limit is reached.
        pending, later, current = deque([""]), deque[str](), dict[str, _Folder]()
        self._current = current
        while (pending or later) and len(current) < MAX_FOLDERS:
            base = (pending or later).popleft()
            folder = self._load_folder(base)
            if folder is None:
                continue
            current[base] = folder
            yield from ((f"{base}{name}", name in folder.links) for name in folder.files)
            pending.extend(f"{base}{name}/" for name in folder.folders)
            later.extend(f"{base}{name}/" for name in folder.repositories)
        self._unreached = tuple(base.rstrip("/") for base in (*pending, *later))
        if pending:
            self.incomplete_reason = f"There are more than {format_number(MAX_FOLDERS)} folders; only those nearest the top were searched."
        elif self._unread:
            self.incomplete_reason = f"Some folders could not be read, such as {self._unread[0]}."

    def _load_folder(self, base: str) -> _Folder | None:
        path = f"{self._root}/{base}"
        try:
            if len(path) > self._longest // 4 and len(os.fsencode(path)) > self._longest:
                raise OSError(ENAMETOOLONG, "the paths of some files in it are too long")
            info = os.stat(path)  # noqa: PTH116 - called ten thousand times
            stamp, known = (info.st_mtime_ns, info.st_ino), self._known.get(base)
            if known is not None and known.settled and known.stamp == stamp:
                return known
            settled = time.time_ns() - info.st_mtime_ns > _SETTLED_NS
            with os.scandir(path) as entries:
                return self._read_folder(base, list(entries), stamp, settled)
        except (FileNotFoundError, NotADirectoryError):  # deleted in the meantime
            return None
        except OSError:
            self._unread.append(base.rstrip("/"))
            return None

    def _read_folder(
        self, base: str, entries: Sequence[os.DirEntry[str]], stamp: tuple[int, int], settled: bool
    ) -> _Folder:
        folders, files, links = [], [], []
        every_link = tuple(entry.name for entry in entries if entry.is_symlink())
        option_names = tuple(_display_name(entry) for entry in entries if entry.name[0] in OPTION_STARTS)
        odd_names = tuple(_display_name(entry) for entry in entries if not _UNUSUAL.isdisjoint(entry.name))
        installed = tuple(entry.name for entry in entries if entry.name in _INSTALLED)
        is_workspace = _REPOSITORIES.isdisjoint(base.split("/"))
        for entry in entries:
            name = entry.name
            if not entry.is_dir(follow_symlinks=False):
                if is_workspace and self._secret(f"{base}{name}"):
                    files.append(name)
                    links += [name] if entry.is_symlink() else []
            elif is_workspace and self._secret(f"{base}{name}/"):
                files.append(f"{name}/")  # hidden as a whole, so it is not searched
            elif name not in SKIPPED_FOLDERS:
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

    def _secret_file(self, name: str, *, link: bool) -> SecretFile | None:
        """Return the secret file or folder `name`.

        Return None if the file is missing, has another type, is not secret, or was made readable by the user.
        """
        plain = name.rstrip("/")
        absolute = f"{self._root}/{plain}"
        names = (plain, plain.rpartition("/")[2], absolute)
        if any(fnmatchcase(spelling, pattern) for pattern in self._readable for spelling in names):
            return None
        try:
            path = os.path.realpath(absolute) if link else absolute
            info = os.stat(path)  # noqa: PTH116 - called for many files before each command
        except OSError:  # deleted, or a broken link
            return None
        if name.endswith("/"):
            ignored = self._ignore.is_left_out(plain, folder=True)
            brought_back = self._ignore.may_be_brought_back(plain)
            secret_folder = SecretFile(name, f"{path}/", ignored=ignored, maybe_reincluded=brought_back)
            return secret_folder if stat.S_ISDIR(info.st_mode) else None
        if not stat.S_ISREG(info.st_mode) or (
            name.lower().endswith(_CERTIFICATE_ENDINGS) and not self._holds_private_key(path, info)
        ):
            return None
        content = self._git.find_version(path, info)
        ignored = not content.is_current and self._ignore.is_left_out(plain)
        brought_back = self._ignore.may_be_brought_back(plain)
        return SecretFile(name, path, content.is_current, ignored, brought_back, content.version)

    def _control_names(self, base: str) -> Collection[str]:
        return self._current[base].control_names if base in self._current else CONTROL_NAMES

    def _steering_above(self) -> Iterator[str]:
        """Yield the files above the workspace that configure programs, except files in or above the home folder."""
        home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
        for depth, folder in enumerate(parent_folders(self._root), start=1):
            if folder == home:
                break
            above = "../" * depth
            yield from (f"{above}{name}" for name in self._steering if os.path.lexists(f"{folder}/{name}"))

    def _holds_private_key(self, path: str, info: os.stat_result) -> bool:
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        known = self._keys.get(path)
        if known is None or known[0] != stamp:
            known = self._keys[path] = (stamp, _holds_key(path))
        return known[1]


def _display_name(entry: os.DirEntry[str]) -> str:
    return f"{entry.name}/" if os.path.isdir(entry) else entry.name  # noqa: PTH112 - cached by scandir unless it is a link


def find_public_certificates(paths: Iterable[str]) -> frozenset[str]:
    """Return the paths of certificate files without a private key.

    `paths`: absolute paths.
    """
    return frozenset(
        path
        for path in paths
        if path.lower().endswith(_CERTIFICATE_ENDINGS) and os.path.isfile(path) and not _holds_key(path)  # noqa: PTH113 - as above
    )


def _holds_key(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_KEY_FILE_BYTES + 1)
    except OSError:
        return True  # in doubt, the file counts as secret
    return len(data) > _MAX_KEY_FILE_BYTES or _PRIVATE_KEY_MARK in data
