"""L1: what ignore files leave out, by git's rules (`man gitignore`).

Invariant: bounded work, whatever an ignore file holds: a path is matched in time proportional to its length and to
the number of lines, of which the first `MAX_LINES` count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.folds.path_pattern import Part, fits, parts_of

MAX_LINES = 5_000
MAX_LINE = 1_000
"""Characters; a longer line is passed over."""


@dataclass(frozen=True, slots=True)
class _Line:
    parts: tuple[Part, ...]
    ignores: bool
    folders_only: bool
    by_name: bool
    inside_only: bool
    """It ends with `/**`: what it names is not meant, only what lies in it."""

    def fits(self, names: Sequence[str]) -> bool:
        if not self.by_name:
            return fits(names, self.parts)
        return self.parts[0] is None or self.parts[0].fullmatch(names[-1]) is not None


class IgnoreFile:
    """The lines of one ignore file; the last one that fits decides."""

    def __init__(self, text: str) -> None:
        found = [_line(line) for line in text.split("\n")[:MAX_LINES]]
        self._lines = tuple(line for line in reversed(found) if line is not None)

    def __bool__(self) -> bool:
        return bool(self._lines)

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
