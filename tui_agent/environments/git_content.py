"""L3: whether a repository already holds a file as it is now: then whoever reads the repository reads it, too.

Invariant: looks only, and runs nothing. What cannot be told counts as not held: a file that is not in the index, one that
was changed since, one in a repository that names its objects otherwise than by SHA-1. That an index names a file proves
nothing, for anyone who writes the workspace writes it; that it names this very content does.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

LARGEST = 4_000_000
"""Bytes of a file that is looked at; a larger one counts as not held."""
_LARGEST_INDEX = 64_000_000
_HEAD = 62
"""Bytes of an entry in front of its path: ten numbers, the content's hash, the flags."""
_HASH_AT = 40
_LONG = 0xFFF


class GitContent:
    """What the repositories around and in a folder hold. Blocking: meant for a thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        """The newest index that was read, by its path."""

    def holds(self, path: str) -> bool:
        """Whether the repository that a file lies in has exactly its content."""
        top = next((one for one in Path(path).parents if os.path.lexists(one / ".git")), None)
        if top is None:
            return False
        folder = _folder(top / ".git")
        named = set(_hashes(self._index(folder / "index"), os.fsencode(os.path.relpath(path, top))))
        return bool(named) and _hash(Path(path)) in named

    def _index(self, file: Path) -> bytes:
        try:
            found = file.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._known.get(str(file))
            if known is None or known[0] != stamp:
                data = file.read_bytes() if found.st_size <= _LARGEST_INDEX else b""
                known = self._known[str(file)] = (stamp, data)
        except OSError:
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


def _hashes(index: bytes, path: bytes) -> Iterator[bytes]:
    """The content that an index names for a path; nothing where it is written in a form that shortens paths."""
    if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return
    at = index.find(path + b"\0")
    while at >= 0:
        for more in (0, 2):  # flags of a second kind stand in front of some
            start = at - _HEAD - more
            flags = int.from_bytes(index[start + _HEAD - 2 : start + _HEAD], "big") if start >= 12 else 0
            if flags & _LONG == min(len(path), _LONG) and bool(flags & 0x4000) is bool(more):
                yield index[start + _HASH_AT : start + _HASH_AT + 20]
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
