"""What lies outside the workspace and is opened for one command, because exactly that was judged and allowed.

Invariant: never more than was asked for. A file is opened alone: one that is not there yet is made first, empty, and taken
away again where the command left it so. A folder is opened with all below it, or, where anything in it is guarded, not
at all. What is not opened stays shut.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tui_agent.workspace.local.nofollow import entered
from tui_agent.workspace.sandbox.mounts import PRIVATE, Bounds, existing
from tui_agent.workspace.sandbox.sockets import listening

MOST_BELOW = 2_000
"""Entries of a folder that are looked at; one with more is not opened."""
_NEVER = ("/proc", "/sys", "/dev", "/run")
USUAL_MODE = 0o666
"""Less the umask: what a command itself would give a new file."""
_LONG_AGO = (0, 0)
"""When a file that was made here was changed last: no program takes it for a newer one than its own."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Something that is there, and which file it really is."""

    path: str
    device: int
    inode: int


@contextmanager
def opened(bounds: Bounds, paths: Sequence[str]) -> Iterator[tuple[Opened, ...]]:
    """What of these real paths is opened, found again by names that no link stands for."""
    made: list[Opened] = []
    try:
        found = [_opened(bounds, path, made) for path in dict.fromkeys(paths) if _may_be(bounds, path)]
        yield tuple(each for each in found if each is not None)
    finally:
        for each in made:
            _take_away(each)


def _opened(bounds: Bounds, path: str, made: list[Opened]) -> Opened | None:
    folder, _, name = path.rpartition("/")
    try:
        at = entered([each for each in folder.split("/") if each])
    except OSError:  # gone, or a link by now
        return None
    try:
        info = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return _made(path, name, at, made) if not _private(path) else None
    except OSError:
        return None
    finally:
        os.close(at)
    plain = stat.S_ISREG(info.st_mode) or (stat.S_ISDIR(info.st_mode) and _harmless(bounds, path))
    return Opened(path, info.st_dev, info.st_ino) if plain else None


def _made(path: str, name: str, at: int, made: list[Opened]) -> Opened | None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, USUAL_MODE, dir_fd=at)
    except OSError:  # this program may not make it either
        return None
    try:
        os.utime(descriptor, ns=_LONG_AGO)
        info = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    found = Opened(path, info.st_dev, info.st_ino)
    made.append(found)
    return found


def _take_away(made: Opened) -> None:
    """Remove a file that is still as it was made."""
    with suppress(OSError):  # gone with its folder
        info = os.lstat(made.path)
        same = (info.st_dev, info.st_ino) == (made.device, made.inode)
        if same and not info.st_size and not info.st_mtime_ns:
            Path(made.path).unlink()


def _may_be(bounds: Bounds, path: str) -> bool:
    """Whether it lies where something may be opened: by its name alone."""
    if not path.startswith("/") or os.path.normpath(path) != path or path in ("/", *PRIVATE):
        return False
    hidden = [each.rstrip("/") for each in existing(bounds.hidden)]
    if any(
        _within(path, each) for each in (bounds.root, *_NEVER, *hidden, *map(os.path.realpath, bounds.own))
    ):
        return False
    return not (bounds.guarded is not None and bounds.guarded(path))


def _harmless(bounds: Bounds, folder: str) -> bool:
    """Whether nothing at or below a folder is guarded, or anyone's way to a service."""
    kept = (
        bounds.root,
        bounds.home,
        *bounds.own,
        *bounds.trees,
        *(each.rpartition("/")[0] for each in bounds.hidden),
    )
    if any(
        each and _within(each, folder) for each in (*kept, *map(os.path.realpath, kept[:2]), *listening())
    ):
        return False
    if bounds.guarded is None:
        return False
    count = 0
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            count += 1
            if count > MOST_BELOW or bounds.guarded(f"{at.rstrip('/')}/{name}"):
                return False
    return True


def _private(path: str) -> bool:
    return any(_within(path, each) for each in PRIVATE)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
