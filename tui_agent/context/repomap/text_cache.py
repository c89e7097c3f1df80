"""A cache of file texts, and the positions of words in a text. Not thread-safe.

Invariant: a cached text is read again if the file changed.
"""

import os
import time
from typing import NamedTuple

from tui_agent.context.repomap.source_reader import read

MAX_CACHE_BYTES = 8_000_000
TICK_NS = 2_000_000_000
"""The coarsest resolution of modification times in any file system, in nanoseconds."""
MAX_HITS = 400
_is_letter = [chr(sign).isascii() and chr(sign).isalnum() for sign in range(256)]


class Text:
    """A file's text, with cached results of word searches."""

    __slots__ = ("_lines", "_lowered", "count", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._lowered = data.lower()
        self.count = data.count(b"\n") + 1
        self._lines: dict[str, list[int]] = {}

    def lines_of(self, word: str) -> list[int]:
        """Return the line number (from 1) of each occurrence of `word`, for at most `MAX_HITS` occurrences.

        `word` must start a part of an identifier: `name` is found in `fileName` and `named`, but not in `rename`.
        """
        lines = self._lines.get(word)
        if lines is None:
            lines = self._lines[word] = _find_lines(self.data, self._lowered, word.encode("utf-8", "replace"))
        return lines


class _CachedText(NamedTuple):
    key: tuple[int, int, int]
    text: Text


class TextCache:
    """Cached texts of the files below `root`."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._texts: dict[str, _CachedText] = {}
        self._bytes = 0

    def get(self, path: str) -> Text:
        """Return a file's text, or an empty text if the file is no longer a text file."""
        key = self._file_key(path)
        known = self._texts.pop(path, None)
        if known is not None and known.key == key:
            self._texts[path] = known
            return known.text
        if known is not None:
            self._bytes -= len(known.text.data)
        text = Text(read(f"{self._root}/{path}").data)
        if key is not None:
            self._store(path, _CachedText(key, text))
        return text

    def _file_key(self, path: str) -> tuple[int, int, int] | None:
        """Return a key that changes when the file changes, or None if the file was written very recently."""
        try:
            info = os.lstat(f"{self._root}/{path}")
        except (OSError, ValueError):
            return None
        if time.time_ns() - info.st_mtime_ns < TICK_NS:
            return None
        return (info.st_size, info.st_mtime_ns, info.st_ino)

    def _store(self, path: str, entry: _CachedText) -> None:
        self._texts[path] = entry
        self._bytes += len(entry.text.data)
        while self._bytes > MAX_CACHE_BYTES:
            # `get` moves a text to the end, so the first text was not used for the longest time.
            self._bytes -= len(self._texts.pop(next(iter(self._texts))).text.data)


def _find_lines(data: bytes, lowered: bytes, word: bytes) -> list[int]:
    lines: list[int] = []
    size, short, number, line, counted_to = len(word), len(word) < 4, word[-1:].isdigit(), 1, 0
    find, count = lowered.find, lowered.count
    position = find(word)
    while position >= 0 and len(lines) < MAX_HITS:
        if (
            (
                position == 0
                or not _is_letter[before := data[position - 1]]
                or _starts_part(data, position, before)
            )
            # A short word must be a whole part, or its plural: `id` is in `user_ids`, but not in `idle`.
            and not (short and _continues(data, position + size))
            # `sha1` is not in `sha128`.
            and not (number and data[position + size : position + size + 1].isdigit())
        ):
            line += count(b"\n", counted_to, position)
            counted_to = position
            lines.append(line)
        position = find(word, position + size)
    return lines


def _starts_part(data: bytes, position: int, before: int) -> bool:
    """Return True if a part of an identifier starts at `position`; `before` is the preceding byte."""
    if before <= 57:
        return not 48 <= data[position] <= 57
    return data[position] <= 90 and (before >= 97 or data[position + 1 : position + 2] > b"Z")


def _continues(data: bytes, position: int) -> bool:
    after = data[position : position + 2]
    return after[:1].isalpha() and after[:1] >= b"a" and not (after[:1] == b"s" and not after[1:2].isalpha())
