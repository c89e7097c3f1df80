"""The sockets on which programs of this machine listen: no mount forbids to ask them, so each is covered.

Invariant: looks only. What a confined command without the network listens on is not among them: it has a table of its own.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path

_TABLE = Path("/proc/net/unix")
_MOST_FOLDERS = 50_000
"""Folders of a workspace that are looked into for a socket: with more of them, none is taken for safe."""


def listening(table: Path = _TABLE) -> list[str]:
    """The sockets with a whole path on this machine."""
    return sorted(path for path in _names(table) if path.startswith("/") and _is_socket(path))


def listening_below(folder: str, table: Path = _TABLE) -> list[str]:
    """The sockets in a workspace by whose name somebody listens. They are looked for in all of it: the table says under
    what name each was made, from wherever its program stood, and a command may have moved the folder it lies in."""
    names = set[str]()
    for path in _names(table):
        if not path.startswith("/") or _within(os.path.realpath(path), folder):
            names.add(os.path.basename(path))  # noqa: PTH119 - any string may stand there
    return sorted(_found(folder, names)) if names else []


def _names(table: Path) -> set[str]:
    """All but the abstract ones."""
    try:
        lines = os.fsdecode(table.read_bytes()).split("\n")[1:]
    except OSError:
        return set()
    rows = (line.split(None, 7) for line in lines)
    return {row[7] for row in rows if len(row) == 8 and not row[7].startswith("@")}


def _found(folder: str, names: Collection[str]) -> Iterator[str]:
    waiting, count = deque((folder,)), 0
    while waiting:
        count += 1
        if count > _MOST_FOLDERS:
            raise OSError(
                errno.EOVERFLOW, "a socket may lie in it, and it has too many folders to look", folder
            )
        try:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name in names and _is_socket(entry.path):
                        yield entry.path
        except OSError:  # gone, or not to be looked into: nor by commands
            continue


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
