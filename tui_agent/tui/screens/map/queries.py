"""Arguments for `tui-agent map`, and parsing of its output, for the screen with the repository map.

Invariant: all functions are pure.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.settings import RepoMapOptions
from tui_agent.tui.cli_client import non_json_text, read_rows


@dataclass(frozen=True, slots=True)
class MapSymbol:
    """A definition in a file of the repository map.

    - `line`, `end`: first and last line, counted from 1
    - `parent`: the class around the symbol
    """

    line: int = 0
    end: int = 0
    signature: str = ""
    name: str = ""
    parent: str | None = None

    @property
    def text(self) -> str:
        """The signature of the symbol, indented if the symbol has a parent."""
        return ("  " if self.parent else "") + (self.signature or self.name)

    @property
    def lines(self) -> str:
        """The range of lines of the symbol: `3-5`, `28`."""
        return f"{self.line}-{self.end}" if self.end > self.line else str(self.line)


@dataclass(frozen=True, slots=True)
class MapFile:
    """A file in the repository map.

    `score`: the score relative to the first file, from 0 to 1.
    """

    path: str
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    symbols: tuple[MapSymbol, ...] = ()
    words: tuple[tuple[str, int], ...] = ()
    """Words of the question that match the file, each with the number of matching lines.

    The number is 0 for a word that is only in the path.
    """
    used_by: tuple[str, ...] = ()
    """The files that use names defined in this file. The file with the most uses comes first."""

    @property
    def matches(self) -> str:
        """The matching words of the question, or the reasons why the file is in the map."""
        return ", ".join([word for word, _ in self.words] or self.reasons)


class MapLine(NamedTuple):
    """A row in the list of the repository map: a file, or a symbol in the file."""

    file: MapFile
    symbol: MapSymbol | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The row's path and signature, to find the row again after the files are listed again."""
        return self.file.path, self.symbol.text if self.symbol is not None else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of `tui-agent map`: the ranked files, and a note for the user.

    `fault`: why there is no map.
    """

    files: tuple[MapFile, ...] = ()
    note: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of the repository map's index: the number of indexed files, and whether it is being built."""

    files: int = 0
    building: bool = False


def map_arguments(
    query: str, choice: RepoMapOptions, folder: str, *, refresh: bool, data_dir: Path | None = None
) -> list[str]:
    """Return the arguments with which `tui-agent` prints a map.

    `refresh`: True to read all files again. `data_dir`: folder for the index; None for the default.
    """
    words = ["map", "--json", "--max-tokens", str(choice.max_tokens), "--cwd", folder]
    words += _data_dir_option(data_dir)
    words += ["--refresh"] if refresh else []
    words += ["--query", query] if query else []
    for option, paths in (("--pin", choice.pinned), ("--hide", choice.hidden)):
        words += [word for path in paths for word in (option, path)]
    return words


def index_arguments(folder: str, data_dir: Path | None = None) -> list[str]:
    """Return the arguments of `tui-agent` for the state of the map's index."""
    return ["map", "--state", "--json", "--cwd", folder, *_data_dir_option(data_dir)]


def _data_dir_option(data_dir: Path | None) -> list[str]:
    return ["--data-dir", str(data_dir)] if data_dir is not None else []


def parse_answer(status: int, output: str) -> Answer:
    """Parse the output of `tui-agent map`; `status` is the exit status."""
    note = non_json_text(output)
    if status:
        return Answer(fault=note or "The map could not be created.")
    files = read_rows(MapFile, output)
    # Until the index exists, all scores are 0.
    top = max((file.score for file in files), default=0.0) or 1.0
    return Answer(tuple(replace(file, score=max(0.0, min(1.0, file.score / top))) for file in files), note)


def map_lines(files: Sequence[MapFile], *, airy: bool) -> list[MapLine | None]:
    """Return a row for each file, followed by rows for its symbols.

    `airy`: True to add an empty row (None) before and after a file with symbols.
    """
    lines: list[MapLine | None] = []
    previous = MapFile("")
    for file in files:
        if airy and lines and (file.symbols or previous.symbols):
            lines.append(None)
        lines += [MapLine(file), *(MapLine(file, symbol) for symbol in file.symbols)]
        previous = file
    return lines
