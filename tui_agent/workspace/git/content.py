"""Whether a repository already holds a file as it is now: then whoever reads the repository reads it, too.

Invariant: looks only, and runs nothing. What cannot be told counts as not held: a file that is not in the index, one that
was changed since, one in a repository that names its objects otherwise than by SHA-1. That an index names a file proves
nothing, for anyone who writes the workspace writes it; that it names this very content does.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LARGEST = 4_000_000
"""Bytes of a file that is looked at; a larger one counts as not held."""
_LARGEST_INDEX = 64_000_000
_HEAD = 62
"""Bytes of an entry in front of its path: ten numbers, the content's hash, the flags."""
_TIME_AT, _SIZE_AT, _HASH_AT = 8, 36, 40
_LONG = 0xFFF


class Held(NamedTuple):
    """What a repository has of a file: `same` as it is now; else the size and time of its version, where that is one."""

    same: bool = False
    version: tuple[int, int] | None = None


class _Entry(NamedTuple):
    content: bytes
    version: tuple[int, int]


class GitContent:
    """What the repositories around and in a folder hold. Blocking: meant for a thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        """The newest index that was read, by its path."""
        self._tops: dict[str, tuple[str, Path] | None] = {}
        self._told: dict[str, tuple[tuple[int, ...], Held]] = {}

    def look_anew(self) -> None:
        """Forget where repositories lie: from here on it is looked up once for each folder."""
        self._tops.clear()

    def held(self, path: str, info: os.stat_result) -> Held:
        """What the repository that a file lies in has of it. `info` is how the file stands."""
        found = self._top(path.rpartition("/")[0])
        if found is None:
            return Held()
        top, index = found
        data = self._index(index)
        stamp = (*self._known.get(str(index), ((), b""))[0], *_stamp(info))
        told = self._told.get(path)
        if told is None or told[0] != stamp:
            entries = list(_entries(data, os.fsencode(path[len(top) + 1 :])))
            same = bool(entries) and _hash(Path(path)) in {one.content for one in entries}
            version = entries[0].version if len(entries) == 1 and not same else None
            told = self._told[path] = (stamp, Held(same, version))
        return told[1]

    def may_track_below(self, folder: str) -> bool:
        """Return False if the folder lies in a repository whose index holds nothing below it."""
        top = self._top(folder.rpartition("/")[0])
        if top is None:
            return True
        index = self._index(top[1])
        if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
            return True
        below = os.fsencode(folder.removeprefix(f"{top[0]}/") + "/")
        at = index.find(below)
        while at >= 0:
            # In front of an entry's path stand its flags, with the path's length in the lower 12 bits.
            length = index.find(b"\0", at) - at
            if int.from_bytes(index[at - 2 : at], "big") & _LONG == min(length, _LONG):
                return True
            at = index.find(below, at + 1)
        return False

    def _top(self, folder: str) -> tuple[str, Path] | None:
        """The repository that a folder lies in: its top, and its index."""
        way = [folder]
        while (path := way[-1]) not in self._tops:
            if os.path.lexists(f"{path}/.git"):
                self._tops[path] = (path, _folder(Path(path, ".git")) / "index")
            elif path:
                way.append(path.rpartition("/")[0])
            else:
                self._tops[path] = None
        self._tops.update(dict.fromkeys(way, self._tops[path]))
        return self._tops[folder]

    def _index(self, file: Path) -> bytes:
        try:
            found = file.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._known.get(str(file))
            if known is None or known[0] != stamp:
                data = file.read_bytes() if found.st_size <= _LARGEST_INDEX else b""
                known = self._known[str(file)] = (stamp, data)
        except OSError:
            self._known.pop(str(file), None)
            return b""
        return known[1]


def _folder(git: Path) -> Path:
    """The repository's own folder: `.git` itself, or where it leads."""
    try:
        if git.is_dir():
            return git
        return Path(git.parent, git.read_text("utf-8", "replace").removeprefix("gitdir:").strip())
    except OSError:
        return git


def _stamp(info: os.stat_result) -> tuple[int, ...]:
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


def _entries(index: bytes, path: bytes) -> Iterator[_Entry]:
    """What an index says of a path; nothing where it is written in a form that shortens paths."""
    if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return
    at = index.find(path + b"\0")
    while at >= 0:
        for more in (0, 2):  # flags of a second kind stand in front of some
            start = at - _HEAD - more
            flags = int.from_bytes(index[start + _HEAD - 2 : start + _HEAD], "big") if start >= 12 else 0
            if flags & _LONG == min(len(path), _LONG) and bool(flags & 0x4000) is bool(more):
                time = int.from_bytes(index[start + _TIME_AT : start + _TIME_AT + 4], "big")
                size = int.from_bytes(index[start + _SIZE_AT : start + _SIZE_AT + 4], "big")
                yield _Entry(index[start + _HASH_AT : start + _HASH_AT + 20], (size, time))
        at = index.find(path + b"\0", at + 1)


def _hash(path: Path) -> bytes | None:
    """As git names a file's content."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()
