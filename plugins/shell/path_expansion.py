"""Expansion of a path such as `tests/test_*.py`, because `run_tests` starts no shell that would expand the path.

Invariant: every path of the result is inside the workspace.
"""

import posixpath
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePosixPath

import tui_agent.plugin_api as api

MAX_PATHS = 100
_WILDCARD = re.compile(r"[*?\[{]")


async def expand_path(env: api.Environment, path: str, folder: str = "") -> tuple[str, ...]:
    """Return the files that match a path with wildcards, in order. If only folders match, return the folders.

    A path without wildcards, of an existing file or of a test (`a.py::test_b[1]`) is returned as it is. Several paths
    can be separated by blanks.

    `folder`: the folder that the path is relative to. The path can also begin with this folder.

    Raise `ToolError` if nothing or too much matches, and `EnvironmentFault` if a path is outside the workspace.
    """
    below = f"{folder}/" if folder else ""
    single_path, *parts = (below + name.removeprefix(below) for name in (path, *path.split()))
    matched: list[str] = []
    for name in parts if await _are_separate(env, single_path, parts) else [single_path]:
        matched += await _expand_single(env, name)
    if len(matched) > MAX_PATHS:
        raise api.ToolError(
            f"More than {MAX_PATHS} paths match {path}.", hint="Give a folder or a narrower pattern."
        )
    return tuple(matched)


async def _are_separate(env: api.Environment, single_path: str, parts: Sequence[str]) -> bool:
    """Return True if blanks separate paths, and are not part of the name of a file or test."""
    if len(parts) < 2 or await env.stat(single_path) is not None:
        return False
    for part in parts:
        if not _WILDCARD.search(part) and await env.stat(part.partition("::")[0]) is None:
            return False
    return True


async def _expand_single(env: api.Environment, path: str) -> Sequence[str]:
    if not _WILDCARD.search(path) or "::" in path or await env.stat(path) is not None:
        return (path,)
    pattern = posixpath.relpath(posixpath.join(env.root, path), env.root)
    names = PurePosixPath(pattern).parts
    start = "/".join(takewhile(lambda name: not _WILDCARD.search(name), names))
    if start and await env.stat(start) is None:
        raise api.ToolError(f"Folder not found: {start}.", hint=await api.suggest_paths(start, env, "folder"))
    matched = await _find_matches(env, start, pattern)
    if not matched:
        raise api.ToolError(f"Nothing matches {path}.", hint="Use glob to find the test files.")
    return matched


async def _find_matches(env: api.Environment, start: str, pattern: str) -> Sequence[str]:
    try:
        # Without a slash, the pattern would match a name in any folder, unlike in a shell.
        matches = api.compile_path_pattern(f"./{pattern}")
    except ValueError as error:
        raise api.ToolError(str(error)) from error
    files, folders = list[str](), set[str]()
    async for item in env.walk(start):
        if matches(item.path):
            files.append(item.path)
        parents = (str(folder) for folder in PurePosixPath(item.path).parents if folder.name)
        folders.update(filter(matches, parents))
        if len(files) > MAX_PATHS:
            break
    return files or sorted(folders)
