"""Exact text search and replacement that works with either kind of line ending.

Invariant: only line endings may differ; all other characters must be equal. New lines take the file's line ending.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """A match in the text, from `start` up to but not including `end`, and the line `ending` used there."""

    start: int
    end: int
    ending: str


def find(text: str, wanted: str) -> list[Match]:
    """Return all non-overlapping matches in order. `wanted` may have either kind of line ending."""
    if "\r" not in text and "\r" not in wanted:
        return _find_plain(text, wanted)
    if "\r\n" not in text:
        return _find_plain(text, wanted) or _find_plain(text, wanted.replace("\r\n", "\n"))
    pattern = "\r?\n".join(re.escape(line) for line in wanted.replace("\r\n", "\n").split("\n"))
    usual = "\r\n" if 2 * text.count("\r\n") >= text.count("\n") else "\n"
    return [
        Match(match.start(), match.end(), _line_ending(match.group(), usual))
        for match in re.finditer(pattern, text)
    ]


def _find_plain(text: str, wanted: str) -> list[Match]:
    matches: list[Match] = []
    start = text.find(wanted)
    while start >= 0:
        matches.append(Match(start, start + len(wanted), "\n"))
        start = text.find(wanted, start + len(wanted))
    return matches


def _line_ending(piece: str, usual: str) -> str:
    if "\n" not in piece:
        return usual
    return "\r\n" if "\r\n" in piece else "\n"


def replaced(text: str, places: Sequence[Match], new: str) -> str:
    """Return the text with every match replaced by `new`, using the line ending found there."""
    pieces: list[str] = []
    position = 0
    for place in places:
        pieces += [text[position : place.start], _with_ending(new, place.ending)]
        position = place.end
    return "".join([*pieces, text[position:]])


def _with_ending(new: str, ending: str) -> str:
    return new.replace("\r\n", "\n").replace("\n", "\r\n") if ending == "\r\n" else new


def line_of(text: str, at: int) -> int:
    """Return the line number, from 1, of the character at index `at`."""
    return text.count("\n", 0, at) + 1
