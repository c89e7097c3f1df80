"""List of a repository's files with their keys. A key (size, time, inode) changes when its file changes.

Invariant: links are never followed, and nothing outside `root` is listed.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tui_agent.config.project.generated_folders import CACHE_FOLDERS, INSTALLED_FOLDERS, REPOSITORY_FOLDERS
from tui_agent.config.project.git_query import list_own_files, locate_repository
from tui_agent.config.project.repository import Repository
from tui_agent.config.small_files import read_regular
from tui_agent.folds.text.gitignore import IgnoreRules

MAX_FILES = 200_000
GIT_S = 20.0
MAX_BYTES = 1_000_000
SUBMODULE, CLONE = "submodule", "nested clone"
"""Reasons for leaving out a folder in git's list of files: it is in `.gitmodules`, or it has its own `.git`."""
TICK_NS = 20_000_000
"""Resolution of modification times, in nanoseconds."""
GONE_TIME = -2
"""Value for the modification time of a listed folder that is missing on the disk."""
NEVER_LISTED = REPOSITORY_FOLDERS | CACHE_FOLDERS
INSTALL_FOLDERS = INSTALLED_FOLDERS | {"site-packages"}
LOCK_FILES = frozenset(
    """package-lock.json yarn.lock pnpm-lock.yaml npm-shrinkwrap.json bun.lock bun.lockb poetry.lock uv.lock pdm.lock
    Pipfile.lock Cargo.lock go.sum Gemfile.lock composer.lock flake.lock gradle.lockfile Package.resolved Podfile.lock
    mix.lock pubspec.lock packages.lock.json deno.lock conan.lock""".split()  # noqa: SIM905 - read as a list of words
)
BINARY_SUFFIXES = frozenset(
    """png jpg jpeg gif bmp ico webp avif tif tiff psd heic pdf zip gz tgz bz2 xz zst 7z rar jar war whl egg so dylib dll
    exe bin o a lib obj class pyc pyo pyd wasm woff woff2 ttf otf eot mp3 mp4 m4a wav ogg flac avi mov mkv webm sqlite
    sqlite3 db dat npy npz pkl pickle parquet feather onnx pt pth h5 hdf5 glb gltf blend fbx icns cur rdb aof mo gmo
    snap map pack idx swp dmg iso deb rpm apk ipa keystore jks p12 pfx der crt cer""".split()  # noqa: SIM905 - read as a list of words
)

TRANSLATION_SUFFIXES = frozenset({"po", "pot", "xlf", "xliff"})
"""Suffixes of translation files, which are left out: nobody searches for their words."""

_OTHER_KINDS = {stat.S_IFLNK: "link", stat.S_IFDIR: SUBMODULE}


class Entry(NamedTuple):
    """A file with its size, modification time and inode."""

    path: str
    size: int
    mtime_ns: int
    inode: int


class FileList(NamedTuple):
    """The files of a repository in path order, with counts of the left-out files by reason.

    `folders`: maps the path of a folder to its modification time.
    `index_key`: key of git's index at the time of the listing (see the function `index_key`).
    """

    entries: tuple[Entry, ...]
    skipped: dict[str, int]
    folders: dict[str, int]
    index_key: tuple[int, int]


def list_files(root: Path, may_show: Callable[[str], bool]) -> FileList:
    """Return all files that a repository map can include. Raise `OSError` if `root` cannot be read."""
    since = time.time_ns()
    listing, names = list_once(root, may_show)
    return with_folders(root, listing, names, since)


def list_once(root: Path, may_show: Callable[[str], bool]) -> tuple[FileList, list[str]]:
    """Return the list of files and all names found. The field `folders` of the list is not set yet."""
    os.scandir(root).close()  # raises `OSError` for an unreadable folder, where git would only list nothing
    repository = locate_repository(root)
    index = index_key(repository)
    names = list_own_files(root, timeout_s=GIT_S) if repository is not None else None
    listed = sorted(set(names if names is not None else walk(root)))
    return stat_files(root, listed, may_show, index), listed


def with_folders(root: Path, listing: FileList, names: list[str], since: int) -> FileList:
    """Return `listing` with the folders that contain `names` as its `folders`.

    `since`: start time of the listing in nanoseconds.
    """
    return listing._replace(folders=_folder_times(root, names, since))


def stat_files(
    root: Path, names: list[str], may_show: Callable[[str], bool], index: tuple[int, int]
) -> FileList:
    """Return the regular files that a repository map can include, and count all other files by reason."""
    entries: list[Entry] = []
    skipped: dict[str, int] = {}
    prefix = f"{root}/"
    submodules: frozenset[str] | None = None
    for name in names:
        try:
            info = os.lstat(prefix + name)
            reason = exclusion_reason(name, info)
            if reason == SUBMODULE:
                submodules = _submodule_paths(prefix) if submodules is None else submodules
                is_clone = name not in submodules and os.path.isdir(f"{prefix}{name}/.git")  # noqa: PTH112
                reason = CLONE if is_clone else reason
            reason = reason or ("" if may_show(name) else "secret")
        except (OSError, ValueError):
            continue
        if not reason and len(entries) >= MAX_FILES:
            reason = "too many"
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1
        else:
            entries.append(Entry(name, info.st_size, info.st_mtime_ns, info.st_ino))
    return FileList(tuple(entries), skipped, {}, index)


def _submodule_paths(prefix: str) -> frozenset[str]:
    lines = (line.partition("=") for line in _read_settings(f"{prefix}.gitmodules").splitlines())
    return frozenset(value.strip().strip('"').rstrip("/") for key, _, value in lines if key.strip() == "path")


def is_current(root: Path, known: FileList) -> bool:
    """Return True if no file was added or removed, and no ignore rule changed."""
    if index_key(locate_repository(root)) != known.index_key:
        return False
    prefix, stat_of = f"{root}/", os.stat
    try:
        return all(stat_of(prefix + name).st_mtime_ns == time_ns for name, time_ns in known.folders.items())
    except OSError:
        return False


def refresh_list(root: Path, known: FileList, may_show: Callable[[str], bool]) -> FileList:
    """Return the files with current sizes and modification times. Return `known` itself if nothing changed."""
    if not is_current(root, known):
        return list_files(root, may_show)
    prefix, lstat = f"{root}/", os.lstat
    changed: dict[int, Entry] = {}
    try:
        for index, (path, size, mtime, inode) in enumerate(known.entries):
            info = lstat(prefix + path)
            if info.st_mtime_ns == mtime and info.st_size == size and info.st_ino == inode:
                continue
            # A changed ignore file can add or remove any number of files.
            if path.endswith(".gitignore") or exclusion_reason(path, info):
                return list_files(root, may_show)
            changed[index] = Entry(path, info.st_size, info.st_mtime_ns, info.st_ino)
    except OSError:
        return list_files(root, may_show)
    if not changed:
        return known
    entries = tuple(changed.get(index, entry) for index, entry in enumerate(known.entries))
    return known._replace(entries=entries)


def exclusion_reason(name: str, info: os.stat_result) -> str:
    """Return the reason for leaving a file out, or an empty string if the file is listed.

    `info`: result of `os.lstat` for the file.
    """
    if stat.S_IFMT(info.st_mode) != stat.S_IFREG:
        return _OTHER_KINDS.get(stat.S_IFMT(info.st_mode), "special")
    base = name.rpartition("/")[2]
    if base in LOCK_FILES:
        return "lock file"
    suffix = base.rpartition(".")[2].lower()
    if suffix in BINARY_SUFFIXES:
        return "binary"
    if suffix in TRANSLATION_SUFFIXES:
        return "translation"
    return "too large" if info.st_size > MAX_BYTES else ""


def _folder_times(root: Path, names: list[str], since: int) -> dict[str, int]:
    folders = {""}
    for parent in {name.rpartition("/")[0] for name in names}:
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    times = {name: _folder_time(root, name, since) for name in sorted(folders)}
    return {name: time_ns for name, time_ns in times.items() if time_ns != GONE_TIME}


def _folder_time(root: Path, name: str, since: int) -> int:
    """Return the folder's modification time in nanoseconds, or -1 if the folder may have changed after `since`."""
    try:
        time_ns = os.stat(f"{root}/{name}").st_mtime_ns  # noqa: PTH116 - thousands of them
    except FileNotFoundError:
        return GONE_TIME
    except OSError:
        return -1
    # A second change within the same clock tick would leave the time as it is, so a fresh time is not trusted.
    return time_ns if time_ns < since - TICK_NS else -1


def bare_folders(root: Path, folders: Collection[str], since: int) -> dict[str, int]:
    """Return the modification times of folders that contain only folders and no listed files.

    `since`: time of the listing in nanoseconds.
    """
    # A new file in such a folder changes no time in `FileList.folders`, so it would be missed.
    times: dict[str, int] = {}
    stack = [(name, True) for name in folders]
    while stack:
        name, listed = stack.pop()
        if not listed:
            times[name] = _folder_time(root, name, since)
        try:
            with os.scandir(f"{root}/{name}") as items:
                children = [(item.name, item.is_dir(follow_symlinks=False)) for item in items]
        except OSError:
            continue
        if not listed and not all(folder for _, folder in children):
            continue
        for item, folder in children:
            path = f"{name}/{item}" if name else item
            if folder and path not in folders and item not in NEVER_LISTED and item not in INSTALL_FOLDERS:
                stack.append((path, False))
    return times


def index_key(repository: Repository | None) -> tuple[int, int]:
    """Return a key that changes when names are added to or removed from git's index."""
    if repository is None:
        return (0, 0)
    try:
        info = (repository.git_folder / "index").stat()
    except OSError:
        return (0, 0)
    return (info.st_mtime_ns, info.st_size)


def walk(root: Path, patience_s: float = 20.0) -> Iterator[str]:
    """Yield the paths of files below `root`, in any order. `.gitignore` files are respected.

    Stops without an error after `patience_s` seconds.
    """
    deadline = time.monotonic() + patience_s
    stack: list[tuple[str, IgnoreRules]] = [("", IgnoreRules())]
    while stack and time.monotonic() < deadline:
        base, rules = stack.pop()
        try:
            with os.scandir(f"{root}/{base}") as scan:
                items = list(scan)
        except OSError:
            continue
        rules = rules.with_file(base, _read_settings(f"{root}/{base}.gitignore"))
        for item in items:
            path, folder = base + item.name, item.is_dir(follow_symlinks=False)
            if folder and (item.name in NEVER_LISTED or item.name in INSTALL_FOLDERS):
                continue
            if rules.is_ignored(path, folder):
                continue
            if not folder:
                yield path
            else:
                stack.append((f"{path}/", rules))


def _read_settings(path: str) -> str:
    try:
        return (read_regular(path, MAX_BYTES, os.O_NOFOLLOW) or b"").decode("utf-8", "replace")
    except OSError:
        return ""
