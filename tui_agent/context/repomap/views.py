"""Values that a repository map returns.

Invariant: a view holds no open file, connection or parser.
"""

from typing import NamedTuple


class Symbol(NamedTuple):
    """A definition in a file.

    `line`, `end`: first and last line, counted from 1.
    `signature`: one line.
    """

    name: str
    kind: str
    line: int
    end: int
    signature: str
    parent: str = ""


class RankedFile(NamedTuple):
    """A file with the reasons for its rank, and the symbols to show in file order."""

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
