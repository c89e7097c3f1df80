"""Runs ripgrep to find the numbers of matching lines. The tool `grep` reads the lines themselves."""

import re
from collections.abc import Callable
from functools import cache

from tui_agent.plugin_api import (
    Environment,
    ExecSpec,
    escape_unprintable,
    format_count,
    format_time_limit,
)

from .text_search import MAX_FILE_BYTES, MAX_SEARCH_S, Query, SearchResult

MAX_OUTPUT = 4_000_000
SKIPPED_FOLDERS = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "node_modules",
    ".venv",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
)
MAX_ERROR_BYTES = 64_000
MAX_NAMED_PATHS = 5
MAX_NAMED_PATH_CHARS = 200
_PLACE = re.compile(rb"([^\0\n]+)\0(\d+):")
_OS_ERROR = b" (os error "
"""The end of ripgrep's messages that it could not read a file or folder, before the error's number."""


def build_arguments(query: Query) -> tuple[str, ...]:
    """Return ripgrep's arguments for a query. No part of the query can become an option."""
    options = [
        "--no-config",
        "--color=never",
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--null",
        "--hidden",
        "--no-require-git",
        "--engine=auto",
        # The text of the lines is not needed: `grep` reads the lines through the environment.
        "--max-columns=1",
        f"--max-count={query.max_results + 1}",
        f"--max-filesize={MAX_FILE_BYTES}",
    ]
    if query.ignore_case:
        options.append("--ignore-case")
    if query.glob:
        options.append(f"--glob={query.glob}")
    options += [f"--glob=!**/{name}/**" for name in SKIPPED_FOLDERS]
    target = query.path if query.path.startswith("/") else f"./{query.path}"
    return ("rg", *options, "-e", query.pattern, "--", target)


async def search(query: Query, env: Environment, may_read: Callable[[str], bool]) -> SearchResult | None:
    """Search with ripgrep, only in files that `may_read` accepts.

    Return None if ripgrep is not installed or rejects the query.
    """
    spec = ExecSpec(
        argv=build_arguments(query),
        timeout=MAX_SEARCH_S,
        max_output=MAX_OUTPUT,
        max_stderr_bytes=MAX_ERROR_BYTES,
    )
    result = await env.exec(spec, lambda data: None)
    if result.outcome in ("not_found", "failed"):
        return None
    unreadable = _unreadable_paths(result.stderr)
    is_usable = result.exit_code in (0, 1) or (unreadable and not query.single)
    if result.outcome == "exited" and not is_usable:
        return None
    found_places = SearchResult("ripgrep")
    may_read = cache(may_read)
    for row in result.output.split(b"\n"):
        place = _PLACE.match(row)
        if place is None:
            continue
        path = place[1].decode("utf-8", "surrogateescape").removeprefix("./")
        if query.single or may_read(path):
            found_places.lines.setdefault(path, []).append(int(place[2]))
    unreadable = [path for path in unreadable if may_read(path)]
    if unreadable:
        named = [path for path in unreadable if len(path) <= MAX_NAMED_PATH_CHARS][:MAX_NAMED_PATHS]
        names = ", ".join([*map(escape_unprintable, named), *["…"] * (len(named) < len(unreadable))])
        found_places.notes.append(f"{format_count(len(unreadable), 'path')} could not be read: {names}")
    if result.outcome == "timeout":
        found_places.incomplete = True
        found_places.notes.append(
            f"stopped after {format_time_limit(MAX_SEARCH_S)}: some files were not searched"
        )
    elif result.dropped_bytes:
        found_places.incomplete = True
    return found_places


def _unreadable_paths(messages: bytes) -> list[str]:
    """Return the files and folders that ripgrep could not read, from its standard error."""
    paths = []
    for line in messages.splitlines():
        message, os_error, _ = line.rpartition(_OS_ERROR)
        path, _, _ = message.rpartition(b": ")
        if os_error and path:
            # Newer versions put `rg: ` in front.
            path = path.removeprefix(b"rg: ").removeprefix(b"./")
            paths.append(path.decode("utf-8", "surrogateescape"))
    return sorted(paths)
