"""The parts of a workspace's git repository that commands can write, because commits need them.

Invariant: parts that run programs are never included, and this module only reads.
"""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.local.containment import is_within

_MAX_FILE_BYTES = 1_000_000
_HOOKS_PATH = re.compile(r"hookspath[ \t]*+=[ \t]*+\"?([^\"#;\n]+)", re.IGNORECASE)
"""Regular expression for the setting `hooksPath` anywhere in a line, even in a comment."""
_WORKTREE = re.compile(r"^[ \t]*+worktree[ \t]*+=[ \t]*+\"?([^\"#;\n]+)", re.IGNORECASE | re.MULTILINE)
_BARE_PARTS = ("refs", "objects", "HEAD")
"""Git treats a folder with all these entries as a repository, even without `.git`.

The sandbox puts a placeholder at the first missing name.
"""
_COMMON_DIR = "commondir"
"""Name of the file that makes a repository use another repository for everything except `HEAD`."""
# If there is a folder with this name, git fails.
_BARE_PROGRAM_FILES = ("HEAD", "config", "hooks", "info")
_COMMIT_FOLDERS = ("objects", "refs", "logs")
_PROGRAM_FILES = tuple(
    "config config.worktree hooks modules worktrees commondir gitdir info/attributes".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class GitPlaces:
    """Absolute paths of a workspace's git repository.

    - `writable`: folders that commits need
    - `read_only`: paths in these folders that commands must not change
    - `folder`: the repository's own folder
    - `absent`: names that must not be created in `folder`
    """

    writable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    folder: str = ""
    absent: tuple[str, ...] = ()


def find_git_places(root: str) -> GitPlaces:
    """Return the git paths of the repository at the top of the workspace; empty if there is no repository."""
    top = Path(root, ".git")
    if (top / "HEAD").is_file():
        return _folder_places(str(top), root)
    target = _read_pointer(top)
    if target is None:
        return GitPlaces()
    if _points_back(target, top):
        common = os.path.realpath(target / _read(target / "commondir").strip())
        shared = [f"{common}/{name}" for name in _COMMIT_FOLDERS if Path(f"{common}/{name}").is_dir()]
        own = _folder_places(str(target), root)
        return GitPlaces((*shared, *own.writable), own.read_only, own.folder, own.absent)
    if _is_module_of(target, root):
        return _folder_places(str(target), root)
    return GitPlaces()


@dataclass(frozen=True, slots=True)
class SealedPaths:
    """The writable and read-only paths for a command that must not change the workspace's repository."""

    writable: tuple[str, ...]
    read_only: tuple[str, ...]
    outside: tuple[str, ...] = ()
    """Paths that commits need, but that are not in the `writable` paths."""


def seal_repository(writable: Sequence[str], read_only: Sequence[str], root: str) -> SealedPaths:
    """Return the `writable` and `read_only` paths, changed so that the workspace's repository is read-only."""
    git = find_git_places(root)
    if not git.folder:
        return SealedPaths(tuple(writable), tuple(read_only))
    prefixes = tuple(f"{path}/" for path in git.writable)
    still_writable = tuple(path for path in writable if path not in git.writable)
    inside = [path for path in git.writable if any(is_within(path, folder) for folder in still_writable)]
    return SealedPaths(
        still_writable,
        (*inside, *(path for path in read_only if not path.startswith(prefixes))),
        tuple(path for path in git.writable if path not in inside),
    )


@dataclass(frozen=True, slots=True)
class BareRepositoryPaths:
    """Absolute paths that would turn the top folder of a workspace into a git repository without `.git`.

    At least one of `parts` and all of `absent` must stay missing.
    """

    parts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def read_only_paths(self, placeholders: Collection[str]) -> tuple[str, ...]:
        """Return the paths that a command must not change.

        `placeholders`: the existing placeholder files.
        """
        if not self.parts:
            return ()
        placeholders = [path for path in self.parts if path in placeholders]
        existing = [path for path in self.absent if os.path.lexists(path)]
        return (*existing, *(placeholders or _protected_bare_paths(str(Path(self.parts[0]).parent))))


def bare_repository_paths(root: str) -> BareRepositoryPaths:
    """Return the paths that would turn the top folder of a workspace into a git repository without `.git`."""
    top = root.rstrip("/")
    return BareRepositoryPaths(tuple(f"{top}/{name}" for name in _BARE_PARTS), (f"{top}/{_COMMON_DIR}",))


def _protected_bare_paths(root: str) -> tuple[str, ...]:
    """Return the paths that must not change, if the workspace's top folder is itself a repository."""
    paths = (f"{root.rstrip('/')}/{name}" for name in _BARE_PROGRAM_FILES)
    return tuple(path for path in paths if os.path.lexists(path))


def _folder_places(folder: str, root: str) -> GitPlaces:
    shared = Path(folder, _read(Path(folder, "commondir")).strip())
    files = (shared / "config", Path(folder, "config.worktree"))
    settings = "\n".join(map(_read, files)).replace("\\\n", "")
    read_only = [f"{folder}/{name}" for name in _PROGRAM_FILES if os.path.lexists(f"{folder}/{name}")]
    for hooks in _HOOKS_PATH.findall(settings):
        hooks_folder = os.path.realpath(Path(root, Path(hooks.strip()).expanduser()))
        if hooks_folder.startswith(root.rstrip("/") + "/") and Path(hooks_folder).exists():
            read_only.append(hooks_folder)
    absent = ["hooks", "modules", "worktrees", "config.worktree"]
    if not os.path.lexists(f"{folder}/commondir"):
        absent.append("commondir")
    missing = [name for name in absent if not os.path.lexists(f"{folder}/{name}")]
    return GitPlaces((folder,), tuple(read_only), folder, tuple(missing))


def _read_pointer(file: Path) -> Path | None:
    text = _read(file)
    if not text.startswith("gitdir:"):
        return None
    target = Path(os.path.realpath(file.parent / text.removeprefix("gitdir:").strip()))
    return target if (target / "HEAD").is_file() else None


def _points_back(target: Path, file: Path) -> bool:
    pointer = _read(target / "gitdir").strip()
    return bool(pointer) and os.path.realpath(target / pointer) == os.path.realpath(file)


def _is_module_of(target: Path, root: str) -> bool:
    return any(
        os.path.realpath(target / work_tree.strip()) == root
        for work_tree in _WORKTREE.findall(_read(target / "config"))
    )


def _read(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
            return ""
        return path.read_text(errors="replace")
    except OSError:
        return ""
