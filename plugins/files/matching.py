"""Where a text stands in a file, whatever the file's line endings are.

Invariant: only line endings are forgiven; every other character must be the same. New lines take the file's ending.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """A place in the text, from `start` to before `end`."""

    start: int
    end: int
    ending: str


def find(text: str, wanted: str) -> list[Match]:
    """All places, in order, not overlapping. `wanted` may have either kind of line ending."""
    if "\r" not in text and "\r" not in wanted:
        return _plain(text, wanted)
    if "\r\n" not in text:
        return _plain(text, wanted) or _plain(text, wanted.replace("\r\n", "\n"))
    pattern = "\r?\n".join(re.escape(line) for line in wanted.replace("\r\n", "\n").split("\n"))
    usual = "\r\n" if 2 * text.count("\r\n") >= text.count("\n") else "\n"
    return [
        Match(found.start(), found.end(), _ending(found.group(), usual))
        for found in re.finditer(pattern, text)
    ]


def _plain(text: str, wanted: str) -> list[Match]:
    found: list[Match] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(Match(at, at + len(wanted), "\n"))
        at = text.find(wanted, at + len(wanted))
    return found


def _ending(piece: str, usual: str) -> str:
    if "\n" not in piece:
        return usual
    return "\r\n" if "\r\n" in piece else "\n"


def replaced(text: str, places: Sequence[Match], new: str) -> str:
    """The text with every place replaced by `new`, its lines ended as they were there."""
    pieces: list[str] = []
    at = 0
    for place in places:
        pieces += [text[at : place.start], _ended(new, place.ending)]
        at = place.end
    return "".join([*pieces, text[at:]])


def _ended(new: str, ending: str) -> str:
    return new.replace("\r\n", "\n").replace("\n", "\r\n") if ending == "\r\n" else new


def line_of(text: str, at: int) -> int:
    """The number of the line that holds the character `at`, from 1."""
    return text.count("\n", 0, at) + 1
