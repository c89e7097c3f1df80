"""Paths outside the workspace that the user allowed one command to write.

Invariant: only the paths that the user allowed become writable.

A missing file is created first, and removed again if the command leaves it empty.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.local.containment import is_within
from tui_agent.workspace.local.nofollow_open import open_to_enter
from tui_agent.workspace.sandbox.mounts import PRIVATE_FOLDERS, Bounds, find_existing, first_private_name
from tui_agent.workspace.sandbox.sockets import find_listening

MAX_ENTRIES = 2_000
"""Maximum number of entries in a folder to make writable. Each entry is checked."""
_SYSTEM_FOLDERS = ("/proc", "/sys", "/dev", "/run")
USUAL_MODE = 0o666
"""Mode of a new file before the umask, as for a file that the command creates."""
_LONG_AGO = (0, 0)
"""Times of the files that this module creates. No program considers such old files newer than its own files."""


@dataclass(frozen=True, slots=True)
class OpenedPath:
    """An existing path, and the device and inode of its file. `created`: True if this module created the file."""

    path: str
    device: int
    inode: int
    created: bool = False


@contextmanager
def open_paths(bounds: Bounds, paths: Sequence[str]) -> Iterator[tuple[OpenedPath, ...]]:
    """Open the paths that can be made writable, without following links, and yield them as real paths."""
    created: list[OpenedPath] = []
    try:
        candidates = [
            _open_place(bounds, path, created)
            for path in dict.fromkeys(paths)
            if _may_be_opened(bounds, path)
        ]
        yield tuple(place for place in candidates if place is not None)
    finally:
        for place in created:
            _remove_if_unused(place)


def _open_place(bounds: Bounds, path: str, created: list[OpenedPath]) -> OpenedPath | None:
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = open_to_enter([part for part in folder.split("/") if part])
    except OSError:  # deleted, or replaced by a link
        return None
    try:
        info = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        # A new name directly in /tmp is the sandbox's own (`mounts.is_own`).
        is_own_name = first_private_name(path) == path
        return None if is_own_name else _create_file(path, name, folder_fd, created)
    except OSError:
        return None
    finally:
        os.close(folder_fd)
    is_allowed = stat.S_ISREG(info.st_mode) or (stat.S_ISDIR(info.st_mode) and _is_harmless(bounds, path))
    return OpenedPath(path, info.st_dev, info.st_ino) if is_allowed else None


def _create_file(path: str, name: str, folder_fd: int, created: list[OpenedPath]) -> OpenedPath | None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, USUAL_MODE, dir_fd=folder_fd)
    except OSError:  # if this program cannot create the file, the command could not either
        return None
    try:
        os.utime(descriptor, ns=_LONG_AGO)
        info = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    place = OpenedPath(path, info.st_dev, info.st_ino, created=True)
    created.append(place)
    return place


def _remove_if_unused(place: OpenedPath) -> None:
    with suppress(OSError):  # removed with its folder
        info = os.lstat(place.path)
        is_same = (info.st_dev, info.st_ino) == (place.device, place.inode)
        if is_same and not info.st_size and not info.st_mtime_ns:
            Path(place.path).unlink()


def _may_be_opened(bounds: Bounds, path: str) -> bool:
    if not path.startswith("/") or os.path.normpath(path) != path or path in ("/", *PRIVATE_FOLDERS):
        return False
    hidden = [folder.rstrip("/") for folder in find_existing(bounds.hidden)]
    if any(
        is_within(path, folder)
        for folder in (bounds.root, *_SYSTEM_FOLDERS, *hidden, *map(os.path.realpath, bounds.own_folders))
    ):
        return False
    return not (bounds.is_guarded is not None and bounds.is_guarded(path))


def _is_harmless(bounds: Bounds, folder: str) -> bool:
    """Return True if `folder` contains nothing that is guarded (must never be written) or gives access to a service."""
    protected = (
        bounds.root,
        bounds.home,
        *bounds.own_folders,
        *bounds.guarded_folders,
        *(path.rpartition("/")[0] for path in bounds.hidden),
    )
    if any(
        path and is_within(path, folder)
        for path in (*protected, *map(os.path.realpath, protected[:2]), *find_listening())
    ):
        return False
    if bounds.is_guarded is None:
        return False
    count = 0
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            count += 1
            if count > MAX_ENTRIES or bounds.is_guarded(f"{parent.rstrip('/')}/{name}"):
                return False
    return True
