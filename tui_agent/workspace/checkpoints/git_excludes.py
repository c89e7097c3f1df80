"""What git would ignore in a workspace, told to a store that knows only the workspace's own `.gitignore` files.

Where the workspace is a part of a repository, the patterns above it are rewritten for it.
"""

from fnmatch import fnmatchcase
from pathlib import Path

from tui_agent.config.repository import find_repository, small_text


def patterns_from_above(workspace: Path) -> str:
    """The patterns that hold in the workspace, without those of its own `.gitignore` files."""
    repository = find_repository(workspace)
    if repository is None:
        return ""
    below = workspace.relative_to(repository.top).parts
    lines = _rewritten(small_text(repository.common / "info" / "exclude"), below)
    for depth in range(len(below)):
        folder = repository.top.joinpath(*below[:depth])
        lines += _rewritten(small_text(folder / ".gitignore"), below[depth:])
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
