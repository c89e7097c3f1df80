"""The texts of files that were looked into lately, and where words stand in them.

Invariant: a text is kept for its key and is read anew under another one; what is kept is bounded by `MOST_BYTES`. Not
thread-safe.
"""

import os
import time
from typing import NamedTuple

from tui_agent.context.repomap.file_text import read

MOST_BYTES = 8_000_000
TICK_NS = 2_000_000_000
"""The coarsest time of a file system."""
MAX_HITS = 400
_is_letter = [chr(sign).isascii() and chr(sign).isalnum() for sign in range(256)]


class Text:
    """One file's text; the lines of a word are sought once."""

    __slots__ = ("_lines", "_small", "count", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._small = data.lower()
        self.count = data.count(b"\n") + 1
        self._lines: dict[str, list[int]] = {}

    def lines_of(self, word: str) -> list[int]:
        """The lines, from 1, at which a lower-case word begins a piece of an identifier, at most `MAX_HITS` times."""
        found = self._lines.get(word)
        if found is None:
            found = self._lines[word] = _lines(self.data, self._small, word.encode("utf-8", "replace"))
        return found


class _Kept(NamedTuple):
    key: tuple[int, int, int]
    text: Text


class Texts:
    """Texts of the files below `root`."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._kept: dict[str, _Kept] = {}
        self._bytes = 0

    def of(self, path: str) -> Text:
        """The text of a file; empty where it is no text any more."""
        key = self._key(path)
        known = self._kept.pop(path, None)
        if known is not None and known.key == key:
            self._kept[path] = known
            return known.text
        if known is not None:
            self._bytes -= len(known.text.data)
        text = Text(read(f"{self._root}/{path}").data)
        if key is not None:
            self._keep(path, _Kept(key, text))
        return text

    def _key(self, path: str) -> tuple[int, int, int] | None:
        """What a file is the same by; None where it is so new that it could be written again under the same key."""
        try:
            seen = os.lstat(f"{self._root}/{path}")
        except (OSError, ValueError):
            return None
        if time.time_ns() - seen.st_mtime_ns < TICK_NS:
            return None
        return (seen.st_size, seen.st_mtime_ns, seen.st_ino)

    def _keep(self, path: str, one: _Kept) -> None:
        self._kept[path] = one
        self._bytes += len(one.text.data)
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._kept.pop(next(iter(self._kept))).text.data)


def _lines(data: bytes, small: bytes, word: bytes) -> list[int]:
    found: list[int] = []
    size, short, number, line, counted = len(word), len(word) < 4, word[-1:].isdigit(), 1, 0
    whole = len(small) != len(data)
    find, count = small.find, small.count
    at = find(word)
    while at >= 0 and len(found) < MAX_HITS:
        if (
            (whole or at == 0 or not _is_letter[before := data[at - 1]] or _turns(data, at, before))
            and not (short and _goes_on(data, at + size))
            and not (number and data[at + size : at + size + 1].isdigit())
        ):
            line += count(b"\n", counted, at)
            counted = at
            found.append(line)
        at = find(word, at + size)
    return found


def _turns(data: bytes, at: int, before: int) -> bool:
    """Whether a piece of an identifier begins behind this letter or digit."""
    if before <= 57:
        return not 48 <= data[at] <= 57
    return data[at] <= 90 and (before >= 97 or data[at + 1 : at + 2] > b"Z")


def _goes_on(data: bytes, at: int) -> bool:
    after = data[at : at + 2]
    return after[:1].isalpha() and after[:1] >= b"a" and not (after[:1] == b"s" and not after[1:2].isalpha())
