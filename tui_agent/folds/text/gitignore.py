"""Rules of gitignore files (`man gitignore`).

Invariant: the time to match a path is proportional to the length of the path and to the number of lines.
"""
# The library pathspec is not used: it matches with regular expressions that backtrack, and ignore files come from
# untrusted repositories (`tests/unit/workspace/local/test_ignoring.py`, `test_a_hostile_line_costs_little`). It also
# differs from git in character classes such as `[[:alpha:]]` (`test_git_says_the_same` in the same file).

import re
from collections.abc import Sequence
from itertools import accumulate

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.glob import NamePattern, compile_parts, matches_parts

MAX_LINES = 5_000
"""Maximum number of lines that are read. A line with `**` counts several times."""
MAX_LINE_CHARS = 1_000
"""Maximum length of a line, in characters. Longer lines are skipped."""
MAX_STAR_RUNS = 10
"""Maximum number of star sequences (`*` or `**`) in a line. Lines with more of them are skipped."""
_STARS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class _Line:
    parts: tuple[NamePattern, ...]
    ignores: bool
    folders_only: bool
    by_name: bool
    inside_only: bool
    """True if the line ends with `/**`. It then matches a folder's contents, but not the folder."""

    @property
    def work(self) -> int:
        """The number of comparisons needed to match the line with one name of a path."""
        return len(self.parts) if None in self.parts else 1

    def fits(self, names: Sequence[str]) -> bool:
        if not self.by_name:
            return matches_parts(names, self.parts)
        return self.parts[0] is None or self.parts[0].fullmatch(names[-1]) is not None


class IgnoreFile:
    """The lines of one ignore file. The last matching line decides."""

    def __init__(self, text: str) -> None:
        lines = [
            line for line in map(_parse_line, text.split("\n", MAX_LINES)[:MAX_LINES]) if line is not None
        ]
        works = accumulate(line.work for line in lines)
        self._lines = tuple(line for line, work in zip(lines, works, strict=True) if work <= MAX_LINES)[::-1]
        self._by_name = sum(line.by_name for line in self._lines)
        self._by_path = sum(line.work for line in self._lines if not line.by_name)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def max_comparisons(self, path: str) -> int:
        """Return the maximum number of comparisons that `verdict` makes for this path."""
        return self._by_name + self._by_path * (path.count("/") + 1)

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Return True if a line ignores `path`, False if a line with `!` includes it, and None if no line matches.

        `path` is relative to the folder of the ignore file.
        """
        names = path.split("/")
        for line in self._lines:
            if line.folders_only and not folder:
                continue
            if not line.fits(names):
                continue
            # `docs/**` also matches the folder `docs` itself, because `**` may match zero names.
            if line.inside_only and matches_parts(names, line.parts[:-1]):
                continue
            return line.ignores
        return None


class IgnoreRules:
    """The ignore files that apply to a folder. The deepest file with a matching line decides."""

    def __init__(self, files: tuple[tuple[str, IgnoreFile], ...] = ()) -> None:
        self._files = files

    def with_file(self, base: str, text: str) -> "IgnoreRules":
        """Return the rules with one more ignore file.

        `base`: the folder of the file, e.g. `src/`, or empty for the rules' root.
        """
        ignore_file = IgnoreFile(text)
        return IgnoreRules((*self._files, (base, ignore_file))) if ignore_file else self

    def max_comparisons(self, path: str) -> int:
        """Return the maximum number of comparisons that `is_ignored` makes for this path."""
        return sum(ignore_file.max_comparisons(path[len(base) :]) for base, ignore_file in self._files)

    def is_ignored(self, path: str, folder: bool) -> bool:
        """Return True if a rule ignores `path` itself. The path is relative to the rules' root."""
        for base, ignore_file in reversed(self._files):
            verdict = ignore_file.verdict(path[len(base) :], folder)
            if verdict is not None:
                return verdict
        return False

    def is_inside_ignored(self, path: str) -> bool:
        """Return True if the folder `path` or one of its parent folders is ignored."""
        names = path.split("/")
        return any(self._ignores_folder("/".join(names[: index + 1])) for index in range(len(names)))

    def _ignores_folder(self, path: str) -> bool:
        above = tuple(
            (base, ignore_file)
            for base, ignore_file in self._files
            if path.startswith(base) and path != base.rstrip("/")
        )
        return IgnoreRules(above).is_ignored(path, True)


def _parse_line(text: str) -> _Line | None:
    line = _strip_trailing_spaces(text.removesuffix("\r"))
    if not line or line.startswith("#") or len(line) > MAX_LINE_CHARS:
        return None
    if len(_STARS.findall(line)) > MAX_STAR_RUNS:
        return None
    negated = line.startswith("!")
    line = line[negated:]
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    by_name = "/" not in line
    parts = compile_parts(line, escapes=True)
    inside_only = not by_name and len(parts) > 1 and parts[-1] is None
    return _Line(parts, not negated, folders_only, by_name, inside_only) if parts else None


def _strip_trailing_spaces(line: str) -> str:
    """Return the line without trailing spaces. A space after a backslash is kept."""
    stripped = line.rstrip(" ")
    escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
    return stripped + " " if escaped and len(stripped) < len(line) else stripped
