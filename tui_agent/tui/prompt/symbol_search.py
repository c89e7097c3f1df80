"""Finds names that are defined in the workspace, for `@` completion: in the map's index, else with git.

Invariant: no more than `MOST` names, the likeliest first, sources before tests; where there is no git, none. Loaded when
a session opens or names are looked for, not for the first screen.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tui_agent.config.git import ask_git
from tui_agent.config.path_kind import is_test
from tui_agent.tui.cli_client import Ask, json_rows, number_of, text_of
from tui_agent.tui.prompt.symbols import FindSymbols, Symbol, worth_looking

MOST: Final = 20
_KEYWORDS: Final = "def|class|function|func|fn|struct|enum|trait|interface|type|module|const|record"
_LINE: Final = re.compile(rf"\b(?:{_KEYWORDS})\s+(?:\([^)]*\)\s*)?(\w+)")


def defined(root: Path, query: str) -> list[Symbol]:
    """What git finds in the lines that define something. Blocking: call it in a thread."""
    if not worth_looking(query):
        return []
    pattern = rf"(^|[^[:alnum:]_])({_KEYWORDS})[[:space:]]+(\([^)]*\)[[:space:]]*)?[[:alnum:]_]*{query}"
    said = ask_git(root, "grep", "--untracked", "-nIiE", "--max-depth", "12", "-e", pattern, "--", ".")
    found: dict[str, Symbol] = {}
    for line in (said or b"").decode("utf-8", "replace").splitlines():
        path, _, rest = line.partition(":")
        number, _, text = rest.partition(":")
        hit = _LINE.search(text)
        if hit is not None and number.isdigit() and query.lower() in hit[1].lower():
            known = found.get(hit[1])
            if known is None or (is_test(known.path) and not is_test(path)):
                found[hit[1]] = Symbol(hit[1], path, int(number))
    wanted = query.lower()
    ordered = sorted(
        found.values(),
        key=lambda one: (not one.name.lower().startswith(wanted), is_test(one.path), len(one.name), one),
    )
    return ordered[:MOST]


async def search_git(root: Path, query: str) -> Sequence[Symbol]:
    """Return what git finds, off the loop."""
    return await asyncio.to_thread(defined, root, query)


def search_index(ask: Ask, data_dir: Path | None) -> FindSymbols:
    """What the map's index has, beside the sessions that have a place of their own; where it has nothing, what git finds."""

    async def find(root: Path, query: str) -> Sequence[Symbol]:
        asked = ["map", "--json", "--symbol", query, "--cwd", str(root)]
        asked += ["--data-dir", str(data_dir)] if data_dir is not None else []
        status, said = await ask(*asked)
        rows = json_rows(said) if status == 0 else []
        found = [
            Symbol(text_of(row, "name"), text_of(row, "path"), int(number_of(row, "line"))) for row in rows
        ]
        return found[:MOST] or await search_git(root, query)

    return find
