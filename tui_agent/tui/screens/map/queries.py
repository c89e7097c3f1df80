"""What the map's screen asks the command line, and the rows that it makes of the answer.

Invariant: one question goes on at a time, the newest; what came of an older one is never shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tui_agent.protocol.settings import RepoMapOptions
from tui_agent.tui.cli_client import JsonRow, beside_json, json_rows, number_of, text_of


@dataclass(frozen=True, slots=True)
class MapSymbol:
    """Something that a file defines. Lines count from 1."""

    signature: str
    line: int
    end: int
    kind: str

    @property
    def lines(self) -> str:
        """Where it stands: `3-5`, `28`."""
        return f"{self.line}-{self.end}" if self.end > self.line else str(self.line)


@dataclass(frozen=True, slots=True)
class MapFile:
    """A ranked file. `share` is its score against the first one's, 0 to 1."""

    path: str
    share: float
    reasons: tuple[str, ...]
    symbols: tuple[MapSymbol, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A map; `said` is what the command line told beside it, `fault` what went wrong in place of one."""

    files: tuple[MapFile, ...] = ()
    said: str = ""
    fault: str = ""


MapLine: TypeAlias = tuple[int, int] | None
"""(file, symbol) of a row; symbol -1 is the file's own row. None is an empty one."""


def words(
    query: str, choice: RepoMapOptions, folder: str, *, refresh: bool, data_dir: Path | None = None
) -> list[str]:
    """What the command line is asked. `data_dir`: the sessions have a place of their own, and beside them the index."""
    asked = ["map", "--json", "--max-tokens", str(choice.max_tokens), "--cwd", folder]
    asked += _beside(data_dir)
    asked += ["--refresh"] if refresh else []
    asked += ["--query", query] if query else []
    for option, paths in (("--pin", choice.pinned), ("--hide", choice.hidden)):
        asked += [word for path in paths for word in (option, path)]
    return asked


def state_words(folder: str, data_dir: Path | None = None) -> list[str]:
    """How the command line is asked how far the index is."""
    return ["map", "--state", "--json", "--cwd", folder, *_beside(data_dir)]


def _beside(data_dir: Path | None) -> list[str]:
    return ["--data-dir", str(data_dir)] if data_dir is not None else []


def answer_of(status: int, text: str) -> Answer:
    """The answer that was printed."""
    said = beside_json(text)
    if status:
        return Answer(fault=said or "The map could not be made.")
    rows = json_rows(text)
    top = max((number_of(row, "score") for row in rows), default=0.0) or 1.0
    return Answer(tuple(_file(row, top) for row in rows), said)


def _file(row: JsonRow, top: float) -> MapFile:
    symbols, reasons = row.get("symbols"), row.get("reasons")
    return MapFile(
        text_of(row, "path"),
        max(0.0, min(1.0, number_of(row, "score") / top)),
        tuple(str(one) for one in reasons) if isinstance(reasons, list) else (),
        tuple(_symbol(one) for one in symbols if isinstance(one, dict)) if isinstance(symbols, list) else (),
    )


def _symbol(row: JsonRow) -> MapSymbol:
    parent = text_of(row, "parent")
    signature = text_of(row, "signature", "name")
    return MapSymbol(
        f"  {signature}" if parent else signature,
        int(number_of(row, "line")),
        int(number_of(row, "end")),
        text_of(row, "kind"),
    )


def lines_of(files: Sequence[MapFile], *, airy: bool) -> list[MapLine]:
    """The rows: a file, then its symbols; where there is room an empty one before each file that has some."""
    lines: list[MapLine] = []
    for at, one in enumerate(files):
        if airy and lines and (one.symbols or files[at - 1].symbols):
            lines.append(None)
        lines.append((at, -1))
        lines += [(at, symbol) for symbol in range(len(one.symbols))]
    return lines


def key_of(line: MapLine, files: Sequence[MapFile]) -> tuple[str, str]:
    """What stands in a row, whatever its place: a path, and of a symbol's row what it shows."""
    if line is None:
        return "", ""
    one = files[line[0]]
    return one.path, one.symbols[line[1]].signature if line[1] >= 0 else ""
