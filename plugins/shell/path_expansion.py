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
    can be separated by blanks, or by commas and blanks.

    `folder`: the folder that the path is relative to. The path can also begin with this folder.

    Raise `ToolError` if nothing or too much matches, or if one of several paths does not exist. Raise
    `EnvironmentFault` if a path is outside the workspace.
    """
    below = f"{folder}/" if folder else ""
    names = filter(None, (name.rstrip(",") for name in path.split()))
    single_path, *parts = (below + name.removeprefix(below) for name in (path, *names))
    matched: list[str] = []
    for name in await _separate_paths(env, single_path, parts):
        matched += await _expand_single(env, name)
    if len(matched) > MAX_PATHS:
        raise api.ToolError(
            f"More than {MAX_PATHS} paths match {path}.", hint="Give a folder or a narrower pattern."
        )
    return tuple(matched)


async def _separate_paths(env: api.Environment, single_path: str, parts: Sequence[str]) -> Sequence[str]:
    """Return `parts`, or only `single_path` if its blanks are part of the name of a file or test."""
    has_cut_test = any("::" in part and part.count("[") != part.count("]") for part in parts)
    if parts == [single_path] or has_cut_test or await env.stat(single_path) is not None:
        return [single_path]
    missing: list[str] = []
    for part in parts:
        file = part.partition("::")[0]
        if not _WILDCARD.search(file) and await env.stat(file) is None:
            missing.append(file)
    if len(missing) == len(parts):
        return [single_path]
    if missing:
        hint = await api.suggest_paths(missing[0], env)
        raise api.ToolError(f"File or folder not found: {missing[0]}.", hint=hint)
    return parts


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
        if matches(item.path) and _is_inside(env, item):
            files.append(item.path)
        parents = (str(folder) for folder in PurePosixPath(item.path).parents if folder.name)
        folders.update(filter(matches, parents))
        if len(files) > MAX_PATHS:
            break
    return files or sorted(folders)


def _is_inside(env: api.Environment, item: api.FileInfo) -> bool:
    """Return False for a link that leads out of the workspace."""
    return item.kind != "link" or PurePosixPath(env.resolve(item.path)).is_relative_to(env.root)
