"""Layout of a git repository: its folder, the shared folder, its work trees and submodules.

Invariant: an accepted repository is inside one of the allowed folders (`homes`), or refers back to its work tree. Only
index files of the versions 2 and 3 with SHA-1 are read.
"""

import os
import re
import stat
import struct
from collections.abc import Iterator, Sequence

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.git.git_config import GitConfig, read_config
from tui_agent.workspace.git.stat_cache import StampedReader, UnsafeRepositoryError, read_small, read_stamp
from tui_agent.workspace.local.containment import is_within

MAX_INDEX_BYTES = 50_000_000
_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">24xI32xH")
"""Struct of an index entry. It unpacks the mode and flags, and skips times, numbers, size and digest."""
_PAIR = struct.Struct(">II")
_DIGEST_BYTES = 20
_LINK_MODE = 0o160000  # a submodule
_FILE_MODES = frozenset({0o100644, 0o100755, 0o120000})
# Bits of an entry's flags: two more bytes of flags follow, and the length of the name.
_EXTENDED, _NAME_BYTES = 0x4000, 0xFFF
_EXTENSIONS = frozenset({b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"})
"""Index extensions that are accepted, because they add no entries to the index."""


def read_gitlinks(path: str) -> tuple[bytes, ...]:
    """Return the paths of the submodules in the git index at `path`.

    Raise `OSError` if it cannot be read, and `UnsafeRepositoryError` for an unknown or damaged index.
    """
    data = read_small(path, MAX_INDEX_BYTES)
    try:
        return _parse(data)
    except (struct.error, ValueError) as error:
        raise UnsafeRepositoryError(f"{path} is damaged") from error


def _parse(data: bytes) -> tuple[bytes, ...]:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3):  # version 4 stores names in another way
        raise UnsafeRepositoryError("the index has an unknown version")
    links: list[bytes] = []
    positions: list[int] = []
    unpack, position = _ENTRY.unpack_from, _HEADER.size
    for _ in range(count):
        positions.append(position)
        mode, flags = unpack(data, position)
        begin = position + (64 if flags & _EXTENDED else 62)
        length = flags & _NAME_BYTES
        if length == _NAME_BYTES:  # a longer name, whose length is not stored
            length = data.index(b"\0", begin) - begin
        if mode == _LINK_MODE:
            links.append(data[begin : begin + length])
        elif mode not in _FILE_MODES:
            raise UnsafeRepositoryError("an index entry has an unknown kind")
        # Each entry ends with 1 to 8 zero bytes, so that its length is a multiple of 8.
        position += (begin - position + length + 8) & ~7
    _check_extensions(data, position, positions)
    return tuple(links)


def _check_extensions(data: bytes, position: int, positions: list[int]) -> None:
    """Raise `UnsafeRepositoryError` if an extension adds entries, or makes git read entries from another file."""
    begin, end = position, len(data) - _DIGEST_BYTES
    while position < end:
        name, (size,) = data[position : position + 4], struct.unpack_from(">I", data, position + 4)
        content = data[position + 8 : position + 8 + size]
        if name not in _EXTENSIONS or len(content) != size:
            raise UnsafeRepositoryError("the index has an unknown extension")
        if name == b"EOIE" and struct.unpack_from(">I", content)[0] != begin:
            raise UnsafeRepositoryError("the EOIE extension of the index gives a wrong end of the entries")
        if name == b"IEOT":
            _check_blocks(content, positions)
        position += 8 + size
    if position != end:
        raise UnsafeRepositoryError("the index does not end after its last extension")


def _check_blocks(content: bytes, positions: list[int]) -> None:
    """Raise `UnsafeRepositoryError` if the offset table for multi-threaded reads (extension IEOT) does not match the
    entries."""
    number = 0
    for offset, count in _PAIR.iter_unpack(content[4:]):
        if number >= len(positions) or positions[number] != offset:
            raise UnsafeRepositoryError("the IEOT extension of the index does not match its entries")
        number += count
    if number != len(positions):
        raise UnsafeRepositoryError("the IEOT extension of the index does not match its entries")


MAX_POINTER_BYTES = 8_192
MAX_GITLINKS = 1_000
_POINTER = re.compile(r"([^\x00-\x1f\x7f]+)\n?")
_GITDIR = "gitdir: "
WORKTREE_COMMONDIR = "../.."
"""Content of `commondir` in a linked work tree's folder: the main repository's folder."""
_ITSELF = "."
"""Content of a `commondir` file without effect: it refers to its own folder."""
# The sandbox creates such a file while a command runs.
_HEAD = re.compile(r"ref: refs/\S+|[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Repository:
    """The git repository that git uses in a certain folder. All paths are real paths.

    - `folder`: the git folder, such as `.git`
    - `shared`: the folder with objects and refs. It differs from `folder` in a linked work tree.
    """

    work_tree: str
    """The top folder of the repository's files, or empty if git runs in the repository's own folder."""
    folder: str
    shared: str


def _read_pointer(path: str) -> str:
    try:
        text = read_small(path, MAX_POINTER_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsafeRepositoryError(f"{path} is not UTF-8") from error
    if (pointer := _POINTER.fullmatch(text)) is None:
        raise UnsafeRepositoryError(f"{path} is not a single line of plain text")
    return pointer[1]


_pointers = StampedReader(_read_pointer)
_configs = StampedReader(read_config)
_indexes = StampedReader(read_gitlinks)


def read_pointer(path: str) -> str | None:
    """Return the only line of a small file; None if the file does not exist.

    Raise `UnsafeRepositoryError` for a large file, or for several lines.
    """
    return _pointers.get(path)


def find_repository(folder: str, homes: Sequence[str]) -> Repository | None:
    """Return the git repository of a real folder or its parents, or None.

    Raise `UnsafeRepositoryError` if a part of the repository is outside `homes` and does not refer back to its
    work tree.
    """
    path = folder
    while True:
        if repository := open_repository(path, homes):
            return repository
        if looks_like_repository(path):
            repository = open_folder("", path)
            if repository.shared != path and not is_inside(repository.shared, homes):
                raise UnsafeRepositoryError(f"{path} uses the repository data of another folder")
            return repository
        parent = os.path.dirname(path)  # noqa: PTH120 - many paths, quickly
        if parent == path:
            return None
        path = parent


def open_repository(work_tree: str, homes: Sequence[str]) -> Repository | None:
    """Return the git repository of a real folder with `.git`, or None if git would not accept it.

    Raise `UnsafeRepositoryError` like `find_repository`.
    """
    dot_git = os.path.join(work_tree, ".git")  # noqa: PTH118
    stamp = read_stamp(dot_git)
    if stamp is None:
        return None
    folder = _resolve_dot_git(work_tree, dot_git, stamp[-1])
    if stat.S_ISDIR(stamp[-1]) and not looks_like_repository(folder):
        return None
    repository = open_folder(work_tree, folder)
    homes = (*homes, work_tree)
    if not (is_inside(folder, homes) and is_inside(repository.shared, homes)) and not _points_back(
        repository
    ):
        raise UnsafeRepositoryError(f"{dot_git} leads to a repository outside the allowed folders")
    return repository


def _resolve_dot_git(work_tree: str, dot_git: str, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return dot_git
    if stat.S_ISLNK(mode):
        return os.path.realpath(dot_git)
    pointer = read_pointer(dot_git) or ""
    if not pointer.startswith(_GITDIR):
        raise UnsafeRepositoryError(f"{dot_git} does not point to a repository")
    return os.path.realpath(os.path.join(work_tree, pointer.removeprefix(_GITDIR)))  # noqa: PTH118


def looks_like_repository(folder: str) -> bool:
    """Return False if git certainly does not accept a folder as a repository. In doubt, return True."""
    if read_stamp(f"{folder}/HEAD") is None:
        return False
    parts = (read_stamp(f"{folder}/{name}") is not None for name in ("objects", "refs"))
    return read_stamp(f"{folder}/commondir") is not None or all(parts)


def open_folder(work_tree: str, folder: str) -> Repository:
    """Return the repository with the git folder `folder`.

    Raise `UnsafeRepositoryError` if it uses another repository's data, or if git might not accept it.
    """
    repository = Repository(work_tree, folder, folder)
    # Git itself writes `commondir` only in `worktrees/NAME` of the main repository.
    if (shared := read_pointer(f"{folder}/commondir")) not in (None, _ITSELF):
        worktrees, _ = os.path.split(folder)
        main, name = os.path.split(worktrees)
        if shared != WORKTREE_COMMONDIR or name != "worktrees":
            raise UnsafeRepositoryError(f"{folder} uses the data of another repository")
        repository = Repository(work_tree, folder, main)
    if not _HEAD.fullmatch(read_pointer(f"{folder}/HEAD") or ""):
        raise UnsafeRepositoryError(
            f"the file HEAD in {folder} is missing, or names neither a branch nor a commit"
        )
    for path in (f"{repository.shared}/objects", f"{repository.shared}/refs"):
        stamp = read_stamp(path)
        if stamp is None or not stat.S_ISDIR(stamp[-1]) or not os.access(path, os.X_OK):
            raise UnsafeRepositoryError(f"{path} is not a folder")
    return repository


def _points_back(repository: Repository) -> bool:
    """Return True if a repository outside its work tree refers back to the work tree, as git requires."""
    if repository.shared != repository.folder:
        pointer = read_pointer(f"{repository.folder}/gitdir")
        return (
            pointer is not None and _real_path(repository.folder, pointer) == f"{repository.work_tree}/.git"
        )
    return repository.work_tree in list_work_trees(repository.folder)


def is_inside(path: str, homes: Sequence[str]) -> bool:
    """Return True if a real path is one of `homes` or below one of them."""
    return any(is_within(path, home) for home in homes)


def _real_path(base: str, path: str) -> str:
    return os.path.realpath(os.path.join(base, path))  # noqa: PTH118


def read_settings(folder: str) -> Iterator[GitConfig]:
    """Yield the parsed configuration files in a repository's folder; raise `UnsafeRepositoryError` like
    `read_config`."""
    for name in ("config", "config.worktree"):
        if (config := _configs.get(f"{folder}/{name}")) is not None:
            yield config


def list_work_trees(folder: str) -> tuple[str, ...]:
    """Return the real paths of the work trees set in a git folder's configuration."""
    return tuple(_real_path(folder, value) for config in read_settings(folder) for value in config.work_trees)


def find_gitlinks(repository: Repository, work_tree: str) -> Iterator[str]:
    """Yield the folders of those submodules of a work tree that have a `.git` of their own."""
    links = _indexes.get(f"{repository.folder}/index") or ()
    if len(links) > MAX_GITLINKS:
        raise UnsafeRepositoryError(f"{repository.folder} links to too many repositories")
    for link in links:
        names = os.fsdecode(link).split("/")
        path = "/".join((work_tree, *names))
        if b"\0" in link or {"", ".", "..", ".git"} & set(names) or os.path.realpath(path) != path:
            raise UnsafeRepositoryError(
                f"the index of {repository.folder} has a submodule outside the work tree"
            )
        if read_stamp(f"{path}/.git") is not None:
            yield path
