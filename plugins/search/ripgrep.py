"""Searching by ripgrep, where it is installed in the environment. It only tells places; lines are read by `grep`."""

import re
from collections.abc import Callable
from functools import cache

from tui_agent.plugin_api import Environment, ExecSpec

from .places import MAX_FILE, MAX_SECONDS, Found, Query

MAX_OUTPUT = 4_000_000
LEFT_OUT = (
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


def words(query: Query) -> tuple[str, ...]:
    """The argument vector. Nothing of the query can be taken for an option."""
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
        "--max-columns=1",
        f"--max-count={query.max_results + 1}",
        f"--max-filesize={MAX_FILE}",
    ]
    if query.ignore_case:
        options.append("--ignore-case")
    if query.glob:
        options.append(f"--glob={query.glob}")
    options += [f"--glob=!**/{name}/**" for name in LEFT_OUT]
    where = query.path if query.path.startswith("/") else f"./{query.path}"
    return ("rg", *options, "-e", query.pattern, "--", where)


async def search(query: Query, env: Environment, may_read: Callable[[str], bool]) -> Found | None:
    """The places, in files that may be read; None where ripgrep is absent or does not understand the query."""
    spec = ExecSpec(argv=words(query), timeout=MAX_SECONDS, max_output=MAX_OUTPUT)
    result = await env.exec(spec, lambda data: None)
    if result.ended in ("not_found", "failed") or (
        result.ended == "exited" and result.exit_code not in (0, 1)
    ):
        return None
    found = Found("ripgrep")
    may_read = cache(may_read)
    for row in result.output.split(b"\n"):
        place = _PLACE.match(row)
        if place is None:
            continue
        path = place[1].decode("utf-8", "surrogateescape").removeprefix("./")
        if query.single or may_read(path):
            found.lines.setdefault(path, []).append(int(place[2]))
    if result.ended == "timeout":
        found.more = True
        found.notes.append(f"stopped after {MAX_SECONDS:g} s: not everything was searched")
    elif result.dropped:
        found.more = True
    return found
