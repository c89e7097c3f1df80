"""Expansion of a path such as `tests/test_*.py`, because `run_tests` starts no shell that would do it.

Invariant: every path of the result is inside the workspace.
"""

import posixpath
import re
from itertools import takewhile
from pathlib import PurePosixPath

import tui_agent.plugin_api as api

MAX_PATHS = 100
_WILDCARD = re.compile(r"[*?\[{]")


async def expand_path(env: api.Environment, path: str) -> tuple[str, ...]:
    """Return the files that match a path with wildcards, in order. If only folders match, return the folders.

    A path without wildcards, of an existing file or of a test (`a.py::test_b[1]`) is returned as it is.

    Raise `ToolError` if nothing or too much matches, and `EnvironmentFault` if the path is outside the workspace.
    """
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
    if len(matched) > MAX_PATHS:
        raise api.ToolError(
            f"More than {MAX_PATHS} paths match {path}.", hint="Give a folder or a narrower pattern."
        )
    return matched


async def _find_matches(env: api.Environment, start: str, pattern: str) -> tuple[str, ...]:
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
    return tuple(files or sorted(folders))
