"""What commands in a sandbox may see and write: given once for an environment, looked up anew for each command.

Invariant: looks only, makes nothing. What is not there is left out, but for names that must not come to be.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui_agent.workspace.sandbox.git_paths import GitPlaces, git_places
from tui_agent.workspace.sandbox.own_files import top
from tui_agent.workspace.sandbox.sockets import listening, listening_below

PRIVATE = ("/tmp", "/var/tmp", "/run")
"""Folders that a command has for itself; what the machine has there is not seen."""
_SHOWN_OF_RUN = ("/run/current-system", "/run/opengl-driver", "/run/booted-system")
_SYSTEM_SETTINGS = (
    "sys",
    "sysrq-trigger",
    "irq",
    "bus",
    "acpi",
    "asound",
    "driver",
    "fs",
    "mtrr",
    "scsi",
    "pressure",
)
_SYSTEM_SECRETS = (
    "kcore",
    "kmsg",
    "keys",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "timer_list",
    "sched_debug",
)
_NAMED = re.compile(r"/(?:tmp|var/tmp)/[^\s'\"`;|&<>()$*?\[\]{}\\,:=]+")
_MOST_NAMED = 32


@dataclass(frozen=True, slots=True)
class Bounds:
    """What holds for every command of an environment.

    `hidden` are absolute paths of secrets, the last part may be a pattern; `kept` are names at the top of the workspace
    that no command writes, `absent` those of them that none may make either; `own` are the product's folders; `writable`
    are more folders that the user opened. `guarded` tells of a path outside whether no command may ever write it, and
    `trees` are such places below the home, there or not. `secret` tells of a path in the workspace whether it may hold
    secrets, `readable` are patterns of such that the user opened to commands, and `steering` are names of files that
    decide what some programs do.
    """

    root: str
    home: str = ""
    hidden: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    guarded: Callable[[str], bool] | None = None
    secret: Callable[[str], bool] | None = None
    readable: tuple[str, ...] = ()
    steering: frozenset[str] = frozenset()

    def refusal(self) -> str:
        """Why commands of this workspace cannot be confined; empty where they can."""
        if _within(os.path.realpath(self.home or "/nowhere"), self.root):
            return "The workspace holds your home folder, with files that run when you log in."
        for name in (*self.kept, ".git", ".hg"):
            if Path(self.root, name).is_symlink():
                return f"{name} in the workspace is a symbolic link, which cannot be protected."
        return ""


@dataclass(frozen=True, slots=True)
class Places:
    """What one command finds: all absolute, and there. Later ones lie over earlier ones."""

    shown: tuple[str, ...]
    """Seen though they lie in a folder that a command has for itself."""
    hidden: tuple[str, ...]
    """A folder ends with a slash."""
    writable: tuple[str, ...]
    kept: tuple[str, ...]
    """Below `writable`, and not to be written."""
    sockets: tuple[str, ...]
    masked: tuple[str, ...] = ()
    """Files of the workspace that this command must not read; a folder ends with a slash."""
    blank: bool = False
    """They are empty to it; else they cannot be opened."""
    stands: Mapping[str, str] = field(default_factory=dict)
    """Of some of `masked` the file that stands there instead."""
    read_only: bool = False
    """This command may read what is `writable`, and not write it."""

    @property
    def written(self) -> tuple[str, ...]:
        """The places that this command may write."""
        return () if self.read_only else self.writable


def places(
    bounds: Bounds,
    words: Sequence[str],
    env: Mapping[str, str],
    opened: Sequence[str] = (),
    own: Sequence[str] = (),
) -> Places:
    """What a command of these words finds. `opened` are more places that this one may write, `own` are paths at which it finds
    nothing of the machine's."""
    git = git_places(bounds.root)
    writable = [
        bounds.root,
        *(each for each in map(os.path.realpath, bounds.writable) if Path(each).is_dir()),
    ]
    folders = tuple(writable)
    writable += [*git.writable, *opened]
    shown = tuple(_shown(bounds.root, words, env, [top(each) for each in own]))
    seen = (*shown, *writable)
    hidden = [each for each in existing(bounds.hidden) if not _within(bounds.root, each.rstrip("/"))]
    outside = [os.path.realpath(each) for each in listening() if not _within(each, bounds.root)]
    sockets = [each for each in outside if not _within(each, bounds.root) and _is_seen(each, seen)]
    return Places(
        shown=shown,
        hidden=tuple(dict.fromkeys(hidden)),
        writable=tuple(dict.fromkeys(writable)),
        kept=tuple(dict.fromkeys(_kept(bounds, git, folders))),
        sockets=tuple(dict.fromkeys((*sockets, *listening_below(bounds.root)))),
    )


def system_settings() -> list[str]:
    """Files of the running system that a root user could write even in a sandbox."""
    return [f"/proc/{name}" for name in _SYSTEM_SETTINGS if Path("/proc", name).exists()]


def system_secrets() -> list[str]:
    """Files of the running system that tell of what is outside."""
    return [f"/proc/{name}" for name in _SYSTEM_SECRETS if Path("/proc", name).exists()]


def _kept(bounds: Bounds, git: GitPlaces, writable: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys((*bounds.kept, *bounds.absent)):
        path = f"{bounds.root.rstrip('/')}/{name}"
        if path == git.folder:
            continue  # a repository, of which only parts are kept
        if os.path.lexists(path) and (name in bounds.absent or not Path(path, "pyvenv.cfg").exists()):
            yield path
    yield from git.kept
    for own in map(os.path.realpath, bounds.own):
        if any(own != each and _within(own, each) for each in writable) and os.path.lexists(own):
            yield own


def home_places(bounds: Bounds, env: Mapping[str, str]) -> Iterator[str]:
    """The user's own files and folders in the home: names without a dot, but for those that hold the workspace or programs."""
    needed = (bounds.root, sys.prefix, str(Path(__file__).parents[3]), *env.get("PATH", "").split(os.pathsep))
    real = [os.path.realpath(path) for path in needed if path]
    home = os.path.realpath(bounds.home) if bounds.home else ""
    for path in existing((f"{home}/*",)) if home else ():
        name = path.rstrip("/")
        if not Path(name).name.startswith(".") and not any(_within(each, name) for each in real):
            yield path


def existing(paths: Iterable[str]) -> Iterator[str]:
    """Those that are there, the last part may be a pattern; a folder ends with a slash."""
    for path in paths:
        folder, name = os.path.split(path)
        for each in map(str, Path(folder).glob(name)) if "*" in path else (path,):
            if os.path.lexists(each):
                real = os.path.realpath(each)
                yield f"{real}/" if Path(real).is_dir() else real


def _shown(root: str, words: Sequence[str], env: Mapping[str, str], own: Sequence[str]) -> Iterator[str]:
    """What the program itself needs, and what the command names: of that only what leads nowhere else."""
    needed = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])]
    for entry in env.get("PATH", "").split(os.pathsep):
        up = Path(entry).parent
        needed.append(str(up) if (up / "pyvenv.cfg").exists() else entry)
    resolver = os.path.realpath("/etc/resolv.conf")
    named = [name.rstrip("/.") for word in words for name in _NAMED.findall(word)][:_MOST_NAMED]
    sockets = listening() if named else []
    for path in dict.fromkeys((*_SHOWN_OF_RUN, resolver, *needed)):
        if private_place(path) and Path(path).exists() and not _within(path, root):
            yield path
    for path in dict.fromkeys(named):
        plain = os.path.realpath(path) == path and (Path(path).is_file() or Path(path).is_dir())
        known = _within(path, root) or any(_within(socket, path) for socket in sockets)
        known = known or any(_within(path, each) for each in own)
        if plain and path not in PRIVATE and not known:
            yield path


def _is_seen(path: str, places: Sequence[str]) -> bool:
    """Whether a command would find it: in a folder that it has for itself only what was laid there."""
    return not private_place(path) or any(_within(path, each) or _within(each, path) for each in places)


def private_place(path: str) -> bool:
    """Whether it lies in a folder that a command has for itself."""
    return any(_within(path, each) and path != each for each in PRIVATE)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
