"""Which files a repository has, with what tells whether one has changed.

Invariant: links are never followed, nothing outside `root` is listed, and no file is opened (but ignore files, where
git cannot be asked). Names that are not UTF-8 are kept as `os.fsdecode` reads them.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tui_agent.config.git import ask_git, repository_of
from tui_agent.config.repository import Repository
from tui_agent.folds.text.gitignore import Rules

MAX_FILES = 200_000
GIT_S = 20.0
MAX_BYTES = 1_000_000
SUBMODULE, CLONE = "submodule", "nested clone"
"""Folders that git lists and does not enter: those that `.gitmodules` names, and others with a `.git` of their own."""
TICK_NS = 20_000_000
"""Within so much of a time a folder can change again and keep it."""
GONE = -2
"""The time of a folder that is in git alone: when it comes back, that of the folder above changes."""
NEVER = frozenset(
    {".git", ".hg", ".svn", ".jj", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
INSTALLED = frozenset({"node_modules", ".venv", "venv", ".tox", ".nox", ".eggs", "site-packages"})
LOCKS = frozenset(
    """package-lock.json yarn.lock pnpm-lock.yaml npm-shrinkwrap.json bun.lockb poetry.lock uv.lock pdm.lock Pipfile.lock
    Cargo.lock go.sum Gemfile.lock composer.lock flake.lock gradle.lockfile Package.resolved Podfile.lock mix.lock
    pubspec.lock packages.lock.json deno.lock conan.lock""".split()  # noqa: SIM905 - read as a list of words
)
BINARY = frozenset(
    """png jpg jpeg gif bmp ico webp avif tif tiff psd heic pdf zip gz tgz bz2 xz zst 7z rar jar war whl egg so dylib dll
    exe bin o a lib obj class pyc pyo pyd wasm woff woff2 ttf otf eot mp3 mp4 m4a wav ogg flac avi mov mkv webm sqlite
    sqlite3 db dat npy npz pkl pickle parquet feather onnx pt pth h5 hdf5 glb gltf blend fbx icns cur rdb aof mo gmo
    snap map pack idx swp dmg iso deb rpm apk ipa keystore jks p12 pfx der crt cer""".split()  # noqa: SIM905 - read as a list of words
)

TRANSLATIONS = frozenset({"po", "pot", "xlf", "xliff"})
"""The same texts in many languages: they cost more words than the program has, and nobody asks for them."""

_OTHER_KINDS = {stat.S_IFLNK: "link", stat.S_IFDIR: SUBMODULE}


class Entry(NamedTuple):
    """A file and its key: a file whose key is the same is taken to be the same."""

    path: str
    size: int
    mtime_ns: int
    inode: int


class Listing(NamedTuple):
    """Files in the order of their paths, and how many names were left out, by reason.

    `folders`, with the times at which names last came or went, and `index_key` are what a later look is compared with:
    see `still_holds`.
    """

    entries: tuple[Entry, ...]
    skipped: dict[str, int]
    folders: dict[str, int]
    index_key: tuple[int, int]


def list_files(root: Path, may_show: Callable[[str], bool]) -> Listing:
    """All files that can be mapped. Raises OSError where `root` itself cannot be read."""
    since = time.time_ns()
    listing, names = list_once(root, may_show)
    return with_folders(root, listing, names, since)


def list_once(root: Path, may_show: Callable[[str], bool]) -> tuple[Listing, list[str]]:
    """The same without the folders, which only a later look needs, and all names that were listed, for `with_folders`."""
    os.scandir(root).close()
    repository = repository_of(root)
    index = index_key(repository)
    names = _of_git(root) if repository is not None else None
    listed = sorted(set(names if names is not None else walk(root)))
    return examine(root, listed, may_show, index), listed


def with_folders(root: Path, listing: Listing, names: list[str], since: int) -> Listing:
    """With the folders of these names, as they were at `since`, when the list was begun: what may have changed from then
    on has no time."""
    return listing._replace(folders=_folders(root, names, since))


def examine(root: Path, names: list[str], may_show: Callable[[str], bool], index: tuple[int, int]) -> Listing:
    """Look at each name and keep what is a file of a size and kind that can be mapped."""
    entries: list[Entry] = []
    skipped: dict[str, int] = {}
    prefix = f"{root}/"
    submodules: frozenset[str] | None = None
    for name in names:
        try:
            seen = os.lstat(prefix + name)
            reason = unfit(name, seen)
            if reason == SUBMODULE:
                submodules = _submodules(prefix) if submodules is None else submodules
                cloned = name not in submodules and os.path.isdir(f"{prefix}{name}/.git")  # noqa: PTH112
                reason = CLONE if cloned else reason
            reason = reason or ("" if may_show(name) else "secret")
        except (OSError, ValueError):
            continue
        if not reason and len(entries) >= MAX_FILES:
            reason = "too many"
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1
        else:
            entries.append(Entry(name, seen.st_size, seen.st_mtime_ns, seen.st_ino))
    return Listing(tuple(entries), skipped, {}, index)


def _submodules(prefix: str) -> frozenset[str]:
    """The paths that `.gitmodules` names."""
    lines = (line.partition("=") for line in _text_of(f"{prefix}.gitmodules").splitlines())
    return frozenset(value.strip().strip('"').rstrip("/") for key, _, value in lines if key.strip() == "path")


def still_holds(root: Path, known: Listing) -> bool:
    """Whether no name can have come or gone since, nor what is ignored been changed."""
    if index_key(repository_of(root)) != known.index_key:
        return False
    prefix, stat_of = f"{root}/", os.stat
    try:
        return all(stat_of(prefix + name).st_mtime_ns == at for name, at in known.folders.items())
    except OSError:
        return False


def looked_again(root: Path, known: Listing, may_show: Callable[[str], bool]) -> Listing:
    """The same names with their present keys, `known` itself where none has changed; the whole list anew where names can
    have changed."""
    if not still_holds(root, known):
        return list_files(root, may_show)
    prefix, lstat = f"{root}/", os.lstat
    changed: dict[int, Entry] = {}
    try:
        for at, (path, size, mtime, inode) in enumerate(known.entries):
            seen = lstat(prefix + path)
            if seen.st_mtime_ns == mtime and seen.st_size == size and seen.st_ino == inode:
                continue
            if path.endswith(".gitignore") or unfit(path, seen):
                return list_files(root, may_show)
            changed[at] = Entry(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)
    except OSError:
        return list_files(root, may_show)
    if not changed:
        return known
    return known._replace(entries=tuple(changed.get(at, one) for at, one in enumerate(known.entries)))


def unfit(name: str, seen: os.stat_result) -> str:
    """Why a file is left out by its name, kind or size; empty where it is not."""
    if stat.S_IFMT(seen.st_mode) != stat.S_IFREG:
        return _OTHER_KINDS.get(stat.S_IFMT(seen.st_mode), "special")
    base = name.rpartition("/")[2]
    if base in LOCKS:
        return "lock file"
    suffix = base.rpartition(".")[2].lower()
    if suffix in BINARY:
        return "binary"
    if suffix in TRANSLATIONS:
        return "translation"
    return "too large" if seen.st_size > MAX_BYTES else ""


def _folders(root: Path, names: list[str], since: int) -> dict[str, int]:
    found = {""}
    for above in {name.rpartition("/")[0] for name in names}:
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    times = {name: _mtime(root, name, since) for name in sorted(found)}
    return {name: at for name, at in times.items() if at != GONE}


def _mtime(root: Path, name: str, since: int) -> int:
    """When names last came or went; what no folder has, where that can have been after `since`."""
    try:
        at = os.stat(f"{root}/{name}").st_mtime_ns  # noqa: PTH116 - thousands of them
    except FileNotFoundError:
        return GONE
    except OSError:
        return -1
    return at if at < since - TICK_NS else -1


def bare_folders(root: Path, folders: Collection[str], since: int) -> dict[str, int]:
    """The folders below these in which nothing is listed, for something may come into them; not what is below ignored
    files. `since`: when the list was made, in nanoseconds."""
    found: dict[str, int] = {}
    stack = [(name, True) for name in folders]
    while stack:
        name, listed = stack.pop()
        if not listed:
            found[name] = _mtime(root, name, since)
        try:
            with os.scandir(f"{root}/{name}") as items:
                seen = [(item.name, item.is_dir(follow_symlinks=False)) for item in items]
        except OSError:
            continue
        if not listed and not all(folder for _, folder in seen):
            continue
        for item, folder in seen:
            path = f"{name}/{item}" if name else item
            if folder and path not in folders and item not in NEVER and item not in INSTALLED:
                stack.append((path, False))
    return found


def index_key(repository: Repository | None) -> tuple[int, int]:
    """What changes when names come into git's index or leave it."""
    if repository is None:
        return (0, 0)
    try:
        seen = (repository.own / "index").stat()
    except OSError:
        return (0, 0)
    return (seen.st_mtime_ns, seen.st_size)


def _of_git(root: Path) -> list[str] | None:
    said = ask_git(root, "ls-files", "-z", "-co", "--exclude-standard", patience=GIT_S)
    if said is None:
        return None
    return [name.rstrip("/") for name in os.fsdecode(said).split("\0") if name]


def walk(root: Path, patience_s: float = 20.0) -> Iterator[str]:
    """Names below `root` that its `.gitignore` files leave, in any order. Ends early after `patience_s`."""
    until = time.monotonic() + patience_s
    stack: list[tuple[str, Rules]] = [("", Rules())]
    while stack and time.monotonic() < until:
        base, rules = stack.pop()
        try:
            with os.scandir(f"{root}/{base}") as found:
                items = list(found)
        except OSError:
            continue
        rules = rules.below(base, _text_of(f"{root}/{base}.gitignore"))
        for item in items:
            path, folder = base + item.name, item.is_dir(follow_symlinks=False)
            if folder and (item.name in NEVER or item.name in INSTALLED):
                continue
            if rules.ignores(path, folder):
                continue
            if not folder:
                yield path
            else:
                stack.append((f"{path}/", rules))


def _text_of(path: str) -> str:
    """A file of settings as it is; empty where there is none that can be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, MAX_BYTES).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(fd).st_mode) else ""
    finally:
        os.close(fd)
