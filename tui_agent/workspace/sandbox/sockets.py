"""Finds the listening sockets on this machine.

The sandbox mounts something over each socket, because a read-only file system does not prevent connections.

Invariant: this module only reads.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path

from tui_agent.workspace.local.containment import is_within

_TABLE = Path("/proc/net/unix")
_MAX_SEARCHED_FOLDERS = 50_000
"""Maximum number of folders to search for sockets. Beyond that, `OSError` is raised."""


def find_listening(table: Path = _TABLE) -> list[str]:
    """Return the absolute paths of sockets that programs of this machine listen on."""
    return sorted(path for path in _read_socket_names(table) if path.startswith("/") and _is_socket(path))


def find_listening_below(folder: str, table: Path = _TABLE) -> list[str]:
    """Return the paths of the workspace's sockets that programs listen on.

    Raise `OSError` if the workspace has too many folders.
    """
    # The whole workspace is searched: the kernel's table can have relative or outdated paths.
    names = set[str]()
    for path in _read_socket_names(table):
        if not path.startswith("/") or is_within(os.path.realpath(path), folder):
            names.add(os.path.basename(path))  # noqa: PTH119 - any string is possible
    return sorted(_find_sockets(folder, names)) if names else []


def _read_socket_names(table: Path) -> set[str]:
    try:
        lines = os.fsdecode(table.read_bytes()).split("\n")[1:]
    except OSError:
        return set()
    rows = (line.split(None, 7) for line in lines)
    return {row[7] for row in rows if len(row) == 8 and not row[7].startswith("@")}


def _find_sockets(folder: str, names: Collection[str]) -> Iterator[str]:
    pending, count = deque((folder,)), 0
    while pending:
        count += 1
        if count > _MAX_SEARCHED_FOLDERS:
            raise OSError(errno.EOVERFLOW, "too many folders to search for sockets", folder)
        try:
            with os.scandir(pending.popleft()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.name in names and _is_socket(entry.path):
                        yield entry.path
        except OSError:  # deleted, or unreadable for commands too
            continue


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
