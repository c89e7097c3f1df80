"""What the map hands out: plain values.

Invariant: nothing here knows how they were found; a view holds no open file, connection or parser.
"""

from typing import NamedTuple


class Symbol(NamedTuple):
    """Something that a file defines. Lines count from 1, `end` is its last one; `signature` is one line."""

    name: str
    kind: str
    line: int
    end: int
    signature: str
    parent: str = ""


class RankedFile(NamedTuple):
    """A file and why it stands where it does. `symbols` are those that were chosen to be shown, in the file's order."""

    path: str
    score: float
    reasons: tuple[str, ...]
    symbols: tuple[Symbol, ...] = ()


class MapView(NamedTuple):
    """A map. `files` is in rank order and holds what `text` shows; `tokens` is an estimate.

    `partial`: the index is still being built, or did not get all files. `skipped`: how many files were left out, by
    reason. `unpinned`: what was to come first and is not in it, as it is not there, left out or hidden.
    """

    files: tuple[RankedFile, ...]
    skipped: dict[str, int]
    partial: bool
    text: str
    tokens: int
    total: int
    unpinned: tuple[str, ...] = ()
