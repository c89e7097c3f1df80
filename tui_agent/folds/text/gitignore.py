"""What ignore files leave out, by git's rules (`man gitignore`).

Invariant: bounded work, whatever an ignore file holds: a path is matched in time proportional to its length and to
the number of lines, of which the first `MAX_LINES` count. `work` says how much that is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tui_agent.folds.text.glob import Part, fits, parts_of

MAX_LINES = 5_000
"""One with `**` counts as many times as it has names."""
MAX_LINE = 1_000
"""Characters; a longer line is passed over."""
MAX_STARS = 10
"""Runs of stars in a line; a line with more of them is passed over."""
_STARS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class _Line:
    parts: tuple[Part, ...]
    ignores: bool
    folders_only: bool
    by_name: bool
    inside_only: bool
    """It ends with `/**`: what it names is not meant, only what lies in it."""

    @property
    def work(self) -> int:
        """Comparisons for each name of a path."""
        return len(self.parts) if None in self.parts else 1

    def fits(self, names: Sequence[str]) -> bool:
        if not self.by_name:
            return fits(names, self.parts)
        return self.parts[0] is None or self.parts[0].fullmatch(names[-1]) is not None


class IgnoreFile:
    """The lines of one ignore file; the last one that fits decides."""

    def __init__(self, text: str) -> None:
        found = [line for line in map(_line, text.split("\n", MAX_LINES)[:MAX_LINES]) if line is not None]
        works = accumulate(line.work for line in found)
        self._lines = tuple(line for line, work in zip(found, works, strict=True) if work <= MAX_LINES)[::-1]
        self._by_name = sum(line.by_name for line in self._lines)
        self._by_path = sum(line.work for line in self._lines if not line.by_name)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def work(self, path: str) -> int:
        """Return the number of comparisons that a verdict about `path` takes at most."""
        return self._by_name + self._by_path * (path.count("/") + 1)

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Whether `path` (seen from the file's folder) is ignored; None where no line says anything."""
        names = path.split("/")
        for line in self._lines:
            if line.folders_only and not folder:
                continue
            if not line.fits(names):
                continue
            if line.inside_only and fits(names, line.parts[:-1]):
                continue
            return line.ignores
        return None


class Rules:
    """The ignore files that hold for a folder: from the repository's top down, the deepest one decides."""

    def __init__(self, files: tuple[tuple[str, IgnoreFile], ...] = ()) -> None:
        self._files = files

    def below(self, base: str, text: str) -> "Rules":
        """These rules and those of the ignore file in `base` (with a `/` at its end, or empty)."""
        found = IgnoreFile(text)
        return Rules((*self._files, (base, found))) if found else self

    def work(self, path: str) -> int:
        """Return the number of comparisons that `ignores` takes at most."""
        return sum(found.work(path[len(base) :]) for base, found in self._files)

    def ignores(self, path: str, folder: bool) -> bool:
        """Whether `path` (seen from where the rules begin) is ignored, its folders not being."""
        for base, found in reversed(self._files):
            verdict = found.verdict(path[len(base) :], folder)
            if verdict is not None:
                return verdict
        return False

    def ignores_any_of(self, path: str) -> bool:
        """Whether the folder `path`, or one above it, is ignored."""
        names = path.split("/")
        return any(self._holds("/".join(names[: index + 1])) for index in range(len(names)))

    def _holds(self, path: str) -> bool:
        known = tuple(one for one in self._files if path.startswith(one[0]) and path != one[0].rstrip("/"))
        return Rules(known).ignores(path, True)


def _line(text: str) -> _Line | None:
    line = _without_blanks(text.removesuffix("\r"))
    if not line or line.startswith("#") or len(line) > MAX_LINE:
        return None
    if len(_STARS.findall(line)) > MAX_STARS:
        return None
    negated = line.startswith("!")
    line = line[negated:]
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    by_name = "/" not in line
    parts = parts_of(line, escapes=True)
    inside_only = not by_name and len(parts) > 1 and parts[-1] is None
    return _Line(parts, not negated, folders_only, by_name, inside_only) if parts else None


def _without_blanks(line: str) -> str:
    """Without the blanks at its end, but for one that is escaped."""
    short = line.rstrip(" ")
    escaped = (len(short) - len(short.rstrip("\\"))) % 2 == 1
    return short + " " if escaped and len(short) < len(line) else short
