"""Runs ripgrep to find the numbers of matching lines. The tool `grep` reads the lines themselves."""

import re
from collections.abc import Callable
from functools import cache

from tui_agent.plugin_api import Environment, ExecSpec, format_time_limit

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
_PLACE = re.compile(rb"([^\0\n]+)\0(\d+):")


def build_arguments(query: Query) -> tuple[str, ...]:
    """Return ripgrep's arguments for a query. No part of the query can become an option."""
    options = [
        "--no-config",
        "--color=never",
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--null",
        "--no-messages",
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
    spec = ExecSpec(argv=build_arguments(query), timeout=MAX_SEARCH_S, max_output=MAX_OUTPUT)
    result = await env.exec(spec, lambda data: None)
    if result.outcome in ("not_found", "failed") or (
        result.outcome == "exited" and result.exit_code not in (0, 1)
    ):
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
    if result.outcome == "timeout":
        found_places.incomplete = True
        found_places.notes.append(
            f"stopped after {format_time_limit(MAX_SEARCH_S)}: some files were not searched"
        )
    elif result.dropped_bytes:
        found_places.incomplete = True
    return found_places
