"""Values that a repository map returns.

Invariant: a `MapView` holds no open file, connection or parser.
"""

from typing import NamedTuple


class Symbol(NamedTuple):
    """A definition in a file.

    `kind`: `function`, `class` or another kind of definition.
    `line`, `end`: first and last line, counted from 1.
    `signature`: the definition's head as one line, such as `def total(self) -> int`.
    `parent`: name of the class or other definition around it; empty at the top level.
    """

    name: str
    kind: str
    line: int
    end: int
    signature: str
    parent: str = ""


class RankedFile(NamedTuple):
    """A file with the reasons for its rank, and the symbols that the map shows, in file order."""

    path: str
    score: float
    reasons: tuple[str, ...]
    symbols: tuple[Symbol, ...] = ()


class MapView(NamedTuple):
    """A repository map.

    `files`: files in order of rank.
    `skipped`: number of files that were left out, by reason.
    `partial`: True if the index is incomplete.
    `tokens`: estimated size of `text`.
    `unpinned`: pinned paths that are missing, left out or hidden.
    """

    files: tuple[RankedFile, ...]
    skipped: dict[str, int]
    partial: bool
    text: str
    tokens: int
    total: int
    unpinned: tuple[str, ...] = ()
