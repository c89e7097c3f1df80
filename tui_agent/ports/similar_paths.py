"""Suggestion of existing paths in place of a path that does not exist.

Invariant: the search ends after `SEARCH_S` seconds, with the paths that it has found until then.
"""

import time
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Final, Literal

from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.ports.environment import Environment, FileContent
from tui_agent.protocol.unicode_text import escape_unprintable

SEARCH_S: Final = 1.0
"""Maximum duration of a search in seconds. A large workspace is searched only in part."""
MAX_PATHS: Final = 3
SIMILARITY: Final = 0.6
"""Minimum similarity of two names in one folder, from 0 to 1."""


async def suggest_paths(path: str, env: Environment, kind: Literal["file", "folder", "any"] = "any") -> str:
    """Return a hint such as `Did you mean src/models.py?` for a missing path; empty if nothing is similar.

    The hint names the paths that share most of their last parts with `path`: for `app/models.py`, first
    `src/app/models.py`, otherwise any other `models.py`. If there is no such path, the hint names entries of the same
    folder with a similar name.

    `kind`: kind of the paths to suggest.
    """
    paths = await _find_same_name(PurePosixPath(path).parts, env, kind)
    paths = paths or await _find_similar(path, env, kind)
    return f"Did you mean {', '.join(map(escape_unprintable, paths))}?" if paths else ""


async def read_or_suggest(path: str, env: Environment) -> FileContent:
    """Return the content of a file that the model named.

    Raise `ToolError` if the path is a folder, or if nothing exists there; the error then names similar paths. Raise
    `EnvironmentFault` if the file cannot be read.
    """
    try:
        return await env.read(path)
    except EnvironmentFault as fault:
        kind = await _path_kind(path, env)
        if kind == "directory":
            raise ToolError(f"{path or 'The workspace'} is a folder.", hint="Use list_directory.") from fault
        if kind == "nothing":
            raise ToolError(f"File not found: {path}.", hint=await _hint_on_missing(path, env)) from fault
        raise


async def _path_kind(path: str, env: Environment) -> str:
    try:
        info = await env.stat(path)
    except EnvironmentFault:
        return "unknown"
    return "nothing" if info is None else info.kind


async def _hint_on_missing(path: str, env: Environment) -> str:
    if hint := await suggest_paths(path, env, "file"):
        return hint
    folder = await _path_kind(str(PurePosixPath(path).parent), env)
    return "" if folder == "directory" else "Its folder does not exist either; use list_directory or glob."


async def _find_same_name(missing: tuple[str, ...], env: Environment, kind: str) -> list[str]:
    """Return the paths that share most of their last parts with the path `missing`, shortest path first."""
    common: dict[str, int] = {}
    deadline = time.monotonic() + SEARCH_S
    async for info in env.walk():
        for candidate in _candidates(info.path, kind):
            common[candidate] = _count_common_ends(PurePosixPath(candidate).parts, missing)
        if time.monotonic() > deadline:
            break
    best = max(common.values(), default=0)
    paths = [path for path, count in common.items() if count == best > 0]
    return sorted(paths, key=lambda path: (path.count("/"), path))[:MAX_PATHS]


def _candidates(path: str, kind: str) -> Iterator[str]:
    if kind != "folder":
        yield path
    if kind != "file":
        yield from (str(folder) for folder in PurePosixPath(path).parents if folder.name)


def _count_common_ends(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    count = 0
    for one_part, other_part in zip(reversed(first), reversed(second), strict=False):
        if one_part != other_part:
            break
        count += 1
    return count


async def _find_similar(path: str, env: Environment, kind: str) -> list[str]:
    """Return paths in the folder of `path` whose names are similar to its name."""
    missing = PurePosixPath(path)
    try:
        siblings = await env.listdir(str(missing.parent))
    except EnvironmentFault:
        return []
    names = {
        PurePosixPath(sibling.path).name: sibling.path
        for sibling in siblings
        if kind != "folder" or sibling.kind == "directory"
    }
    return [names[name] for name in get_close_matches(missing.name, list(names), MAX_PATHS, SIMILARITY)]
