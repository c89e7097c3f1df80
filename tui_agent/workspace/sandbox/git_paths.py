"""What of a workspace's git repository a command may write: what commits need, never what runs programs.

Invariant: looks only. A repository elsewhere (worktree, submodule) is opened only where it names this workspace itself,
for what lies in the workspace may have been put there by anyone.
"""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

_LARGEST = 1_000_000
_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?([^\"#;\n]+)", re.IGNORECASE | re.MULTILINE)
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*\"?([^\"#;\n]+)", re.IGNORECASE | re.MULTILINE)
_OF_BARE = ("refs", "objects", "HEAD")
"""What a folder must have to be a repository without one named `.git`, the name that is missed least first."""
_BORROWS = "commondir"
"""By which it would borrow all but its `HEAD` from another. Where this is a folder, git stops."""
_OF_BARE_RUNS = ("HEAD", "config", "hooks", "info")
_FOR_COMMITS = ("objects", "refs", "logs")
_RUNS_PROGRAMS = (
    "config",
    "config.worktree",
    "hooks",
    "modules",
    "worktrees",
    "commondir",
    "gitdir",
    "info/attributes",
)


@dataclass(frozen=True, slots=True)
class GitPlaces:
    """Absolute paths. `writable` are folders that commits write to, `kept` what in them must stay; `absent` are names
    that must not come to be in `folder`, the repository's own."""

    writable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    folder: str = ""
    absent: tuple[str, ...] = ()


def git_places(root: str) -> GitPlaces:
    """Of the repository at the top of a workspace; of one above it nothing, for it is outside."""
    top = Path(root, ".git")
    if (top / "HEAD").is_file():
        return _of_folder(str(top), root)
    target = _named_in(top)
    if target is None:
        return GitPlaces()
    if _names_back(target, top):
        common = os.path.realpath(target / _read(target / "commondir").strip())
        shared = [f"{common}/{name}" for name in _FOR_COMMITS if Path(f"{common}/{name}").is_dir()]
        own = _of_folder(str(target), root)
        return GitPlaces((*shared, *own.writable), own.kept, own.folder, own.absent)
    if _is_module_of(target, root):
        return _of_folder(str(target), root)
    return GitPlaces()


def sealed(
    writable: Sequence[str], kept: Sequence[str], root: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same for a command that only reads the repository of a workspace, wherever that lies."""
    git = git_places(root)
    if not git.folder:
        return tuple(writable), tuple(kept)
    below = tuple(f"{each}/" for each in git.writable)
    return (
        tuple(each for each in writable if each not in git.writable),
        (*git.writable, *(each for each in kept if not each.startswith(below))),
    )


@dataclass(frozen=True, slots=True)
class BareTop:
    """What the top of a workspace would need to be a repository by itself: absolute paths. One of `parts` must stay missing,
    and `absent` too."""

    parts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def kept(self, standing: Collection[str]) -> tuple[str, ...]:
        """What a command must not change, where these stand empty for what is missing."""
        if not self.parts:
            return ()
        missed = [path for path in self.parts if path in standing]
        there = [path for path in self.absent if os.path.lexists(path)]
        return (*there, *(missed or _bare_kept(str(Path(self.parts[0]).parent))))


def bare_top(root: str) -> BareTop:
    """Of a workspace."""
    top = root.rstrip("/")
    return BareTop(tuple(f"{top}/{name}" for name in _OF_BARE), (f"{top}/{_BORROWS}",))


def _bare_kept(root: str) -> tuple[str, ...]:
    """Where all of the parts are there already: what then must stay as it is."""
    paths = (f"{root.rstrip('/')}/{name}" for name in _OF_BARE_RUNS)
    return tuple(path for path in paths if os.path.lexists(path))


def _of_folder(folder: str, root: str) -> GitPlaces:
    """A repository's own folder. It is named as writable by itself, so that it cannot be put aside as a whole."""
    settings = _read(Path(folder, "config"))
    kept = [f"{folder}/{name}" for name in _RUNS_PROGRAMS if os.path.lexists(f"{folder}/{name}")]
    for hooks in _HOOKS_PATH.findall(settings):
        place = os.path.realpath(Path(root, Path(hooks.strip()).expanduser()))
        if place.startswith(root.rstrip("/") + "/") and Path(place).exists():
            kept.append(place)
    absent = ["hooks", "modules", "worktrees", "config.worktree"]
    if not os.path.lexists(f"{folder}/commondir"):
        absent.append("commondir")
    missing = [name for name in absent if not os.path.lexists(f"{folder}/{name}")]
    return GitPlaces((folder,), tuple(kept), folder, tuple(missing))


def _named_in(file: Path) -> Path | None:
    """The folder that a `.git` file names."""
    text = _read(file)
    if not text.startswith("gitdir:"):
        return None
    target = Path(os.path.realpath(file.parent / text.removeprefix("gitdir:").strip()))
    return target if (target / "HEAD").is_file() else None


def _names_back(target: Path, file: Path) -> bool:
    """Whether a worktree's own folder says that this is its worktree."""
    said = _read(target / "gitdir").strip()
    return bool(said) and os.path.realpath(target / said) == os.path.realpath(file)


def _is_module_of(target: Path, root: str) -> bool:
    """Whether a submodule's own folder says that this is its place."""
    return any(
        os.path.realpath(target / said.strip()) == root
        for said in _WORKTREE.findall(_read(target / "config"))
    )


def _read(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return ""
        return path.read_text(errors="replace")
    except OSError:
        return ""
