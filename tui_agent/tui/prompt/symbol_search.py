"""Search for names defined in the workspace, for `@` completion: in the index of the repository map, then with git.

Invariant: a search returns at most `MAX_SYMBOLS` names, the likeliest first, sources before tests.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tui_agent.config.path_kind import is_test
from tui_agent.config.project.git_query import query_git
from tui_agent.tui.cli_client import Ask, json_rows, number_of, text_of
from tui_agent.tui.prompt.completion_symbols import FindSymbols, Symbol, can_be_symbol

MAX_SYMBOLS: Final = 20
_KEYWORDS: Final = "def|class|function|func|fn|struct|enum|trait|interface|type|module|const|record"
_LINE: Final = re.compile(rf"\b(?:{_KEYWORDS})\s+(?:\([^()]*\)\s*)?(\w+)")


def find_definitions(root: Path, query: str) -> list[Symbol]:
    """Find definitions of names that contain the query, with git grep. This function blocks: call it in a thread."""
    if not can_be_symbol(query):
        return []
    # git grep only finds the lines; `_LINE` then extracts the name. `query` consists of word characters, so it needs no
    # escaping.
    pattern = rf"(^|[^[:alnum:]_])({_KEYWORDS})[[:space:]]+(\([^)]*\)[[:space:]]*)?[[:alnum:]_]*{query}"
    output = query_git(root, "grep", "--untracked", "-nIiE", "--max-depth", "12", "-e", pattern, "--", ".")
    symbols: dict[str, Symbol] = {}
    for line in (output or b"").decode("utf-8", "replace").splitlines():
        path, _, rest = line.partition(":")
        number, _, text = rest.partition(":")
        hit = _LINE.search(text)
        if hit is not None and number.isdigit() and query.lower() in hit[1].lower():
            known = symbols.get(hit[1])
            if known is None or (is_test(known.path) and not is_test(path)):
                symbols[hit[1]] = Symbol(hit[1], path, int(number))
    prefix = query.lower()
    ordered = sorted(
        symbols.values(),
        key=lambda symbol: (
            not symbol.name.lower().startswith(prefix),
            is_test(symbol.path),
            len(symbol.name),
            symbol,
        ),
    )
    return ordered[:MAX_SYMBOLS]


async def search_git(root: Path, query: str) -> Sequence[Symbol]:
    """Find definitions with git, without blocking the event loop."""
    return await asyncio.to_thread(find_definitions, root, query)


def search_index(ask: Ask, data_dir: Path | None) -> FindSymbols:
    """Return a function that searches the repository map's index or, if nothing matches, the files with git."""

    async def find(root: Path, query: str) -> Sequence[Symbol]:
        words = ["map", "--json", "--symbol", query, "--cwd", str(root)]
        words += ["--data-dir", str(data_dir)] if data_dir is not None else []
        status, output = await ask(*words)
        rows = json_rows(output) if status == 0 else []
        symbols = [
            Symbol(text_of(row, "name"), text_of(row, "path"), int(number_of(row, "line"))) for row in rows
        ]
        return symbols[:MAX_SYMBOLS] or await search_git(root, query)

    return find
