"""L7: a listing of paths that is searched at every key: by name, by path, by letters in their order.

Invariant: made off the loop; a search looks at one text of all paths and stops once it has enough, so that it takes as
long for fifty thousand files as for few.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate
from typing import Final

FEW: Final = 30
"""With fewer, letters in their order are enough."""
ENOUGH: Final = 200
"""So many of each kind are found before they are put in order."""
LONGEST: Final = 64
"""Letters of a query that count."""


class _Lines:
    """Texts as one, to find in which of them something stands."""

    def __init__(self, texts: Sequence[str]) -> None:
        lowered = [text.lower().replace("\n", " ") for text in texts]
        self.text = "\n" + "\n".join(lowered) + "\n"
        self._starts = list(accumulate((len(one) + 1 for one in lowered), initial=1))

    def holding(self, wanted: str) -> Iterator[int]:
        """Which texts hold this, in order, each once; `\\n` in front: which begin with it."""
        at = self.text.find(wanted)
        while at >= 0:
            yield self._line(at + (wanted[:1] == "\n"))
            end = self.text.find("\n", at + 1)
            at = self.text.find(wanted, end) if end >= 0 else -1

    def spelling(self, wanted: str) -> Iterator[int]:
        """Which texts hold these letters in their order, each once."""
        rare = self.text.count(wanted[0]) < len(self._starts) // 2
        start = re.escape(wanted[0]) if rare else f"^[^{re.escape(wanted[0])}\n]*{re.escape(wanted[0])}"
        rest = "".join(rf"[^{re.escape(char)}\n]*{re.escape(char)}" for char in wanted[1:])
        before = -1
        for found in re.finditer(start + rest, self.text, re.MULTILINE):
            line = self._line(found.start())
            if line != before:
                before = line
                yield line

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


class PathIndex:
    """Files and the folders that hold them (with a slash behind), the shorter first."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = list(files)
        folders: set[str] = set()
        for path in self.files:
            folder = path.rpartition("/")[0]
            while folder and folder + "/" not in folders:
                folders.add(folder + "/")
                folder = folder.rpartition("/")[0]
        self.paths = sorted(sorted([*self.files, *folders]), key=len)
        self.shallow = nsmallest(ENOUGH, self.paths, key=lambda path: (path.count("/", 0, -1), path))
        self._whole = _Lines(self.paths)
        self._names = _Lines([name_of(path) for path in self.paths])

    def find(self, query: str) -> list[str]:
        """The paths worth a closer look: names that begin with it, names and paths that hold it; where these are few,
        those with its letters in their order."""
        wanted = query[:LONGEST].lower().replace("\n", " ")
        found: dict[int, None] = {}
        ways = (
            self._names.holding("\n" + wanted),
            self._whole.holding("\n" + wanted),
            self._names.holding(wanted),
            self._whole.holding(wanted),
        )
        for way in ways:
            _take(way, found)
        if len(found) < FEW and len(wanted) > 1:
            _take(self._whole.spelling(wanted), found)
        return [self.paths[at] for at in found]


def _take(way: Iterator[int], found: dict[int, None]) -> None:
    for count, at in enumerate(way, start=1):
        found[at] = None
        if count == ENOUGH:
            return


def name_of(path: str) -> str:
    """The last part of a path; of a folder with its slash."""
    return path[path.rstrip("/").rfind("/") + 1 :]
