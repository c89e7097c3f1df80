"""Names that are defined in the workspace, for `@` completion: of the map's index where it has some, else what git finds.

Invariant: loaded when a session opens, not for the first screen; the index is read as it is.
"""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.tui.cli_client import Ask, json_rows, number_of, text_of
from tui_agent.tui.prompt.git_symbols import MOST
from tui_agent.tui.prompt.symbols import FindSymbols, Symbol, of_git


def of_index(ask: Ask, data_dir: Path | None) -> FindSymbols:
    """What the map's index has, beside the sessions that have a place of their own; where it has nothing, what git finds."""

    async def find(root: Path, query: str) -> Sequence[Symbol]:
        asked = ["map", "--json", "--symbol", query, "--cwd", str(root)]
        asked += ["--data-dir", str(data_dir)] if data_dir is not None else []
        status, said = await ask(*asked)
        rows = json_rows(said) if status == 0 else []
        found = [
            Symbol(text_of(row, "name"), text_of(row, "path"), int(number_of(row, "line"))) for row in rows
        ]
        return found[:MOST] or await of_git(root, query)

    return find
