"""Search for a file's current content in git: if a repository already contains it, hiding the file is useless.

Invariant: this module only reads files, and runs nothing.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAX_FILE_BYTES = 4_000_000
"""Maximum size of a file to hash, in bytes; a larger file is treated as if no repository contained its content."""
_MAX_INDEX_BYTES = 64_000_000
_ENTRY_HEAD_BYTES = 62
"""Number of bytes of an index entry before its path: ten numbers, the content's hash, the flags."""
_TIME_OFFSET, _SIZE_OFFSET, _HASH_OFFSET = 8, 36, 40
_MAX_NAME_FLAG = 0xFFF


class TrackedVersion(NamedTuple):
    """The tracked version of a file in a git repository.

    - `is_current`: True if the tracked version equals the file's current content
    - `version`: (size in bytes, modification time in seconds) of the tracked version, if it differs from the file
    """

    is_current: bool = False
    version: tuple[int, int] | None = None


class _Entry(NamedTuple):
    content: bytes
    version: tuple[int, int]


class GitContent:
    """Decides if git already has a file's current content, using the indexes of the repositories in and around a folder.

    The methods block: call them in a thread.
    """

    def __init__(self) -> None:
        self._indexes: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        """Maps the path of a git index to (stamp, content). The stamp is the index's time and size when it was read."""
        self._tops: dict[str, tuple[str, Path] | None] = {}
        self._results: dict[str, tuple[tuple[int, ...], TrackedVersion]] = {}

    def clear_cache(self) -> None:
        """Forget the repositories' locations, because a repository may have been created or removed."""
        self._tops.clear()

    def find_version(self, path: str, info: os.stat_result) -> TrackedVersion:
        """Return a file's version in its git repository.

        `info`: the result of `os.stat` for the file.
        """
        repository = self._find_repository(path.rpartition("/")[0])
        if repository is None:
            return TrackedVersion()
        top, index = repository
        data = self._read_index(index)
        stamp = (*self._indexes.get(str(index), ((), b""))[0], *_stamp(info))
        cached = self._results.get(path)
        if cached is None or cached[0] != stamp:
            entries = list(_find_entries(data, os.fsencode(path[len(top) + 1 :])))
            same = bool(entries) and _blob_hash(Path(path)) in {entry.content for entry in entries}
            # During a merge conflict, the index has several entries for a file.
            version = entries[0].version if len(entries) == 1 and not same else None
            cached = self._results[path] = (stamp, TrackedVersion(same, version))
        return cached[1]

    def may_track_files_in(self, folder: str) -> bool:
        """Return False if git certainly tracks no files below the folder. In doubt, return True."""
        top = self._find_repository(folder.rpartition("/")[0])
        if top is None:
            return True
        index = self._read_index(top[1])
        if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
            return True
        prefix = os.fsencode(folder.removeprefix(f"{top[0]}/") + "/")
        position = index.find(prefix)
        while position >= 0:
            # An entry's flags precede its path; their lower 12 bits are the path's length.
            length = index.find(b"\0", position) - position
            if int.from_bytes(index[position - 2 : position], "big") & _MAX_NAME_FLAG == min(
                length, _MAX_NAME_FLAG
            ):
                return True
            position = index.find(prefix, position + 1)
        return False

    def _find_repository(self, folder: str) -> tuple[str, Path] | None:
        """Return the top folder and the index file of the repository around a folder; None if there is none."""
        visited = [folder]
        while (path := visited[-1]) not in self._tops:
            if os.path.lexists(f"{path}/.git"):
                self._tops[path] = (path, _git_folder(Path(path, ".git")) / "index")
            elif path:
                visited.append(path.rpartition("/")[0])
            else:
                self._tops[path] = None
        self._tops.update(dict.fromkeys(visited, self._tops[path]))
        return self._tops[folder]

    def _read_index(self, file: Path) -> bytes:
        try:
            status = file.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            known = self._indexes.get(str(file))
            if known is None or known[0] != stamp:
                data = file.read_bytes() if status.st_size <= _MAX_INDEX_BYTES else b""
                known = self._indexes[str(file)] = (stamp, data)
        except OSError:
            self._indexes.pop(str(file), None)
            return b""
        return known[1]


def _git_folder(git: Path) -> Path:
    try:
        if git.is_dir():
            return git
        return Path(git.parent, git.read_text("utf-8", "replace").removeprefix("gitdir:").strip())
    except OSError:
        return git


def _stamp(info: os.stat_result) -> tuple[int, ...]:
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


def _find_entries(index: bytes, path: bytes) -> Iterator[_Entry]:
    """Yield the index entries of a path. For index version 4, which compresses paths, yield nothing."""
    if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return
    position = index.find(path + b"\0")
    while position >= 0:
        for extra_bytes in (0, 2):  # some entries have two more bytes of flags
            start = position - _ENTRY_HEAD_BYTES - extra_bytes
            flags = (
                int.from_bytes(index[start + _ENTRY_HEAD_BYTES - 2 : start + _ENTRY_HEAD_BYTES], "big")
                if start >= 12
                else 0
            )
            if flags & _MAX_NAME_FLAG == min(len(path), _MAX_NAME_FLAG) and bool(flags & 0x4000) is bool(
                extra_bytes
            ):
                time = int.from_bytes(index[start + _TIME_OFFSET : start + _TIME_OFFSET + 4], "big")
                size = int.from_bytes(index[start + _SIZE_OFFSET : start + _SIZE_OFFSET + 4], "big")
                yield _Entry(index[start + _HASH_OFFSET : start + _HASH_OFFSET + 20], (size, time))
        position = index.find(path + b"\0", position + 1)


def _blob_hash(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()
