"""L3: what git would ignore in a workspace, told to a store that knows only the workspace's own `.gitignore` files.

Where the workspace is a part of a repository, the patterns above it are rewritten for it.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

POINTER_LENGTH = 4_096
PATTERNS_LENGTH = 1_000_000


@dataclass(frozen=True, slots=True)
class Repository:
    """A user's repository: its top folder, its own folder, and the one that its worktrees share."""

    top: Path
    own: Path
    common: Path


def find_repository(workspace: Path) -> Repository | None:
    """The repository that the workspace is in. Reads a few small files; runs nothing."""
    for folder in (workspace, *workspace.parents):
        own = _pointed(folder / ".git")
        if own is not None and (own / "HEAD").is_file():
            shared = _text(own / "commondir").strip()
            common = (own / shared).resolve() if shared else own
            if (common / "objects").is_dir():
                return Repository(folder, own, common)
    return None


def _pointed(dot: Path) -> Path | None:
    if dot.is_dir():
        return dot.resolve()
    text = _text(dot, POINTER_LENGTH)
    if not text.startswith("gitdir: "):
        return None
    return (dot.parent / text.removeprefix("gitdir: ").rstrip("\r\n")).resolve()


def _text(path: Path, most: int = PATTERNS_LENGTH) -> str:
    """What stands in a regular file; empty where there is none, or too much."""
    try:
        if not path.is_file() or path.stat().st_size > most:
            return ""
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def patterns_from_above(workspace: Path) -> str:
    """The patterns that hold in the workspace, without those of its own `.gitignore` files."""
    repository = find_repository(workspace)
    if repository is None:
        return ""
    below = workspace.relative_to(repository.top).parts
    lines = _rewritten(_text(repository.common / "info" / "exclude"), below)
    for depth in range(len(below)):
        folder = repository.top.joinpath(*below[:depth])
        lines += _rewritten(_text(folder / ".gitignore"), below[depth:])
    return "".join(f"{line}\n" for line in lines)


def _rewritten(text: str, below: tuple[str, ...]) -> list[str]:
    lines = (line.rstrip("\r") for line in text.split("\n"))
    found = (rewritten(line, below) for line in lines if line.strip() and not line.startswith("#"))
    return [line for line in found if line is not None]


def rewritten(pattern: str, below: tuple[str, ...]) -> str | None:
    """A pattern of a folder, for the folder `below` it; None where it says nothing there."""
    negated = pattern.startswith("!")
    body = pattern.removeprefix("!")
    trimmed = body.rstrip("/")
    if "/" not in trimmed or not below:
        return pattern
    parts = trimmed.lstrip("/").split("/")
    for name in below:
        if parts and parts[0] == "**":
            break
        if not parts or not fnmatchcase(name, parts[0]):
            return None
        parts = parts[1:]
    if not parts:
        return None
    folder = "/" if body.endswith("/") else ""
    return ("!" if negated else "") + "/" + "/".join(parts) + folder
