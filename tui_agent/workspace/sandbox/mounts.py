"""Visible and writable paths of sandboxed commands, determined for each command.

Invariant: this module only reads, and missing paths are left out.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.local.containment import is_within
from tui_agent.workspace.sandbox.git_paths import GitPlaces, find_git_places
from tui_agent.workspace.sandbox.sockets import find_listening, find_listening_below

PRIVATE_FOLDERS = ("/tmp", "/var/tmp", "/run")
"""In the sandbox, a private, empty folder replaces each of these."""
_VISIBLE_RUN_FOLDERS = ("/run/current-system", "/run/opengl-driver", "/run/booted-system")
_SYSTEM_SETTINGS = tuple("sys sysrq-trigger irq bus acpi asound driver fs mtrr scsi pressure".split())  # noqa: SIM905
_SYSTEM_SECRETS = tuple("kcore kmsg keys kpagecount kpageflags kpagecgroup timer_list sched_debug".split())  # noqa: SIM905
_TEMPORARY_PATH = re.compile(r"/(?:tmp|var/tmp)/[^\s'\"`;|&<>()$*?\[\]{}\\,:=]+")
_MAX_NAMED = 32


@dataclass(frozen=True, slots=True)
class Bounds:
    """Access limits of all sandboxed commands of one environment.

    - `hidden`: absolute paths of secrets; the last component can be a glob
    - `read_only`: names at the top of the workspace that no command can write
    - `absent`: names at the top of the workspace that no command can create
    - `renamed`: names at the top of the workspace to rename if they appear while a command runs
    - `own_folders`: tui-agent's own folders
    - `writable`: further folders that the user made writable
    - `is_guarded`: returns True for an outside path that must never be written
    - `guarded_folders`: guarded folders below the home folder, existing or not
    - `is_secret`: returns True for a workspace path with possible secrets
    - `readable`: globs of secret paths that the user made readable for commands
    - `steering`: names of files that configure programs
    """

    root: str
    home: str = ""
    hidden: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    own_folders: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    guarded_folders: tuple[str, ...] = ()
    is_guarded: Callable[[str], bool] | None = None
    is_secret: Callable[[str], bool] | None = None
    readable: tuple[str, ...] = ()
    steering: frozenset[str] = frozenset()

    def refusal(self) -> str:
        """Return the reason why commands of this workspace cannot be confined, or an empty string."""
        if is_within(os.path.realpath(self.home or "/nowhere"), self.root):
            return "The workspace contains your home folder, with files that run when you log in."
        for name in (*self.read_only, ".git", ".hg"):
            if Path(self.root, name).is_symlink():
                return f"{name} in the workspace is a symbolic link, which cannot be protected."
        return ""


@dataclass(frozen=True, slots=True)
class Mounts:
    """Absolute, existing paths to mount for one sandboxed command; a later mount covers an earlier one."""

    visible: tuple[str, ...]
    """Visible paths in private folders."""
    hidden: tuple[str, ...]
    """Paths that are not visible; a folder's path ends with a slash."""
    writable: tuple[str, ...]
    read_only_paths: tuple[str, ...]
    """Read-only paths below the `writable` paths."""
    sockets: tuple[str, ...]
    masked: tuple[str, ...] = ()
    """Workspace files that this command cannot read; a folder's path ends with a slash."""
    masked_as_empty: bool = False
    """True if masked files appear empty to the command; otherwise they cannot be opened."""
    replacements: Mapping[str, str] = field(default_factory=dict)
    """Maps a file in `masked` to the file mounted over it. By default, this is an empty or unreadable file."""
    read_only: bool = False
    """True if this command must not write, not even to the `writable` paths."""

    @property
    def writable_now(self) -> tuple[str, ...]:
        """The paths that this command can write."""
        return () if self.read_only else self.writable


def find_mounts(
    bounds: Bounds,
    words: Sequence[str],
    env: Mapping[str, str],
    opened: Sequence[str] = (),
    own: Sequence[str] = (),
) -> Mounts:
    """Return the mounts of a sandboxed command.

    - `words`: the command line; paths in it stay visible
    - `opened`: additional paths that the command can write
    - `own`: paths, for example in /tmp, with the files of earlier sandboxed commands
    """
    git = find_git_places(bounds.root)
    writable = [
        bounds.root,
        *(path for path in map(os.path.realpath, bounds.writable) if Path(path).is_dir()),
    ]
    folders = tuple(writable)
    writable += [*git.writable, *opened]
    shown = tuple(_visible_paths(bounds, words, env, [first_private_name(path) for path in own]))
    visible = (*shown, *writable)
    hidden = [path for path in find_existing(bounds.hidden) if not is_within(bounds.root, path.rstrip("/"))]
    external_sockets = [
        os.path.realpath(path) for path in find_listening() if not is_within(path, bounds.root)
    ]
    sockets = [
        path for path in external_sockets if not is_within(path, bounds.root) and _is_visible(path, visible)
    ]
    return Mounts(
        visible=shown,
        hidden=tuple(dict.fromkeys(hidden)),
        writable=tuple(dict.fromkeys(writable)),
        read_only_paths=tuple(dict.fromkeys(_read_only_paths(bounds, git, folders))),
        sockets=tuple(dict.fromkeys((*sockets, *find_listening_below(bounds.root)))),
    )


def list_system_settings() -> list[str]:
    """Return files in /proc that root could write even in a sandbox."""
    return [f"/proc/{name}" for name in _SYSTEM_SETTINGS if Path("/proc", name).exists()]


def list_system_secrets() -> list[str]:
    """Return files in /proc that reveal information about the machine outside the sandbox."""
    return [f"/proc/{name}" for name in _SYSTEM_SECRETS if Path("/proc", name).exists()]


def _read_only_paths(bounds: Bounds, git: GitPlaces, writable: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys((*bounds.read_only, *bounds.absent)):
        path = f"{bounds.root.rstrip('/')}/{name}"
        if path == git.folder:
            continue  # only parts of a repository are read-only
        # A virtual environment stays writable, even if its name is in `read_only`.
        if os.path.lexists(path) and (name in bounds.absent or not Path(path, "pyvenv.cfg").exists()):
            yield path
    yield from git.read_only
    for own_folder in map(os.path.realpath, bounds.own_folders):
        if any(
            own_folder != folder and is_within(own_folder, folder) for folder in writable
        ) and os.path.lexists(own_folder):
            yield own_folder


def list_home_entries(bounds: Bounds, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the user's own files: the entries of the home folder whose names do not start with a dot.

    Leave out folders that contain the workspace or programs.
    """
    needed = (bounds.root, sys.prefix, str(Path(__file__).parents[3]), *env.get("PATH", "").split(os.pathsep))
    real = [os.path.realpath(path) for path in needed if path]
    home = os.path.realpath(bounds.home) if bounds.home else ""
    for path in find_existing((f"{home}/*",)) if home else ():
        name = path.rstrip("/")
        if not Path(name).name.startswith(".") and not any(
            is_within(path_needed, name) for path_needed in real
        ):
            yield path


def find_existing(paths: Iterable[str]) -> Iterator[str]:
    """Yield the real paths of existing `paths`. The last component can be a glob.

    A folder's path ends with a slash.
    """
    for path in paths:
        folder, name = os.path.split(path)
        for match in map(str, Path(folder).glob(name)) if "*" in path else (path,):
            if os.path.lexists(match):
                real = os.path.realpath(match)
                yield f"{real}/" if Path(real).is_dir() else real


def _visible_paths(
    bounds: Bounds, words: Sequence[str], env: Mapping[str, str], own: Sequence[str]
) -> Iterator[str]:
    """Yield paths that stay visible inside private folders: paths that programs need, and paths on the command line."""
    root = bounds.root
    needed = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])]
    for entry in env.get("PATH", "").split(os.pathsep):
        parent = Path(entry).parent
        needed.append(str(parent) if (parent / "pyvenv.cfg").exists() else entry)
    if bounds.home:  # Git needs the author's name for a commit.
        config_home = env.get("XDG_CONFIG_HOME") or f"{bounds.home}/.config"
        needed += [f"{bounds.home}/.gitconfig", f"{config_home}/git/config"]
    resolver = os.path.realpath("/etc/resolv.conf")  # often a link to a file in /run
    named = [name.rstrip("/.") for word in words for name in _TEMPORARY_PATH.findall(word)][:_MAX_NAMED]
    sockets = find_listening() if named else []
    for path in dict.fromkeys((*_VISIBLE_RUN_FOLDERS, resolver, *needed)):
        if is_private(path) and Path(path).exists() and not is_within(path, root):
            yield path
    for path in dict.fromkeys(named):
        is_plain = os.path.realpath(path) == path and (Path(path).is_file() or Path(path).is_dir())
        # A folder with a listening socket stays hidden: through the socket, a command could reach other programs.
        is_covered = is_within(path, root) or any(is_within(socket, path) for socket in sockets)
        is_covered = is_covered or any(is_within(path, own_path) for own_path in own)
        if is_plain and path not in PRIVATE_FOLDERS and not is_covered:
            yield path


def _is_visible(path: str, places: Sequence[str]) -> bool:
    return not is_private(path) or any(is_within(path, place) or is_within(place, path) for place in places)


def is_private(path: str) -> bool:
    """Return True if a path is below one of `PRIVATE_FOLDERS`."""
    return any(is_within(path, folder) and path != folder for folder in PRIVATE_FOLDERS)


PRIVATE_NAMES = {"/tmp": "tmp", "/var/tmp": "longer"}
"""Maps a folder such as /var/tmp to the name of the session's own folder that replaces it."""


def first_private_name(path: str) -> str:
    """Return `path` up to the first name below a folder of `PRIVATE_NAMES`; empty if it is not below such a folder.

    Example: `/var/tmp/build/log/1` → `/var/tmp/build`.
    """
    for folder in PRIVATE_NAMES:
        if path.startswith(f"{folder}/"):
            name = path.removeprefix(f"{folder}/").partition("/")[0]
            return f"{folder}/{name}" if name else ""
    return ""


def is_own(path: str, base: Path | None) -> bool:
    """Return True if only sandboxed commands can have made the file at `path`, because the path is in a private folder.

    - `path`: a real path
    - `base`: the sandbox's own folder
    """
    first = first_private_name(path)
    if not first or os.path.normpath(path) != path or os.path.lexists(first):
        return False  # for example, because a file outside the sandbox has this name
    if base is None:
        return True
    folder = next(kept_folder for kept_folder in PRIVATE_NAMES if path.startswith(f"{kept_folder}/"))
    current = base / PRIVATE_NAMES[folder]
    for name in path.removeprefix(f"{folder}/").split("/"):
        current = current / name
        if current.is_symlink():
            return False
    return True
