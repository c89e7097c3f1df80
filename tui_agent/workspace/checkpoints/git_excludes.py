"""Ignore patterns from above a workspace, for a store that knows only the workspace's own `.gitignore` files.

If the workspace is a subfolder of a repository, the patterns of the folders above are rewritten for it.
"""

from fnmatch import fnmatchcase
from pathlib import Path

from tui_agent.config.repository import find_repository, small_text


def patterns_from_above(workspace: Path) -> str:
    """Return the patterns that apply in the workspace, except those of its own `.gitignore` files."""
    repository = find_repository(workspace)
    if repository is None:
        return ""
    names = workspace.relative_to(repository.top).parts
    lines = _rewrite_lines(small_text(repository.common / "info" / "exclude"), names)
    for depth in range(len(names)):
        folder = repository.top.joinpath(*names[:depth])
        lines += _rewrite_lines(small_text(folder / ".gitignore"), names[depth:])
    return "".join(f"{line}\n" for line in lines)


def _rewrite_lines(text: str, below: tuple[str, ...]) -> list[str]:
    lines = (line.rstrip("\r") for line in text.split("\n"))
    patterns = (rewritten(line, below) for line in lines if line.strip() and not line.startswith("#"))
    return [line for line in patterns if line is not None]


def rewritten(pattern: str, below: tuple[str, ...]) -> str | None:
    """Rewrite a folder's pattern for the folder `below` it; None if it matches nothing there."""
    negated = pattern.startswith("!")
    body = pattern.removeprefix("!")
    path_pattern = body.rstrip("/")
    if "/" not in path_pattern or not below:
        return pattern
    parts = path_pattern.lstrip("/").split("/")
    for name in below:
        if parts and parts[0] == "**":
            break
        if not parts or not fnmatchcase(name, parts[0]):
            return None
        parts = parts[1:]
    if not parts:
        return None
    suffix = "/" if body.endswith("/") else ""
    return ("!" if negated else "") + "/" + "/".join(parts) + suffix
