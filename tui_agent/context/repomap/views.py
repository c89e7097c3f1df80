"""Values that a repository map returns.

Invariant: the values do not depend on how they were computed. A view holds no open file, connection or parser.
"""

from typing import NamedTuple


class Symbol(NamedTuple):
    """A definition in a file.

    `line` and `end` are the first and last line, counted from 1. `signature` is one line.
    """

    name: str
    kind: str
    line: int
    end: int
    signature: str
    parent: str = ""


class RankedFile(NamedTuple):
    """A file with the reasons for its rank. `symbols` are the symbols to show, in file order."""

    path: str
    score: float
    reasons: tuple[str, ...]
    symbols: tuple[Symbol, ...] = ()


class MapView(NamedTuple):
    """A repository map.

    `files` are in order of rank, as in `text`; `tokens` is the estimated size of `text`. `partial` is True if the index
    is incomplete. `skipped` counts files that were left out, by reason. `unpinned` are pinned paths that are missing,
    left out or hidden.
    """

    files: tuple[RankedFile, ...]
    skipped: dict[str, int]
    partial: bool
    text: str
    tokens: int
    total: int
    unpinned: tuple[str, ...] = ()
