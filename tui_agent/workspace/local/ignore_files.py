"""Which files of a workspace its ignore files leave out of searches, and which they may bring back.

Invariant: looks only, and the work of one look is bounded; what lies beyond that is not left out and may be brought back. A file
counts as left out only by rules that git and other programs read alike and that count where it lies; what may be read in another
way may bring a file back.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from tui_agent.folds.text.gitignore import MAX_LINES, Rules
from tui_agent.folds.text.glob import fits, parts_of

GIT = ".git"
GIT_RULES = ".gitignore"
IGNORE_FILES = frozenset({GIT_RULES, ".ignore", ".rgignore", ".fdignore", ".agignore", ".hgignore"})
_REPOSITORIES = frozenset({GIT, ".jj"})
CONTROL_NAMES = IGNORE_FILES | _REPOSITORIES
"""Names in a folder on which it depends what is left out below it."""
MAX_BYTES = 300_000
"""Of all ignore files of one look. Behind them they may bring anything back."""
MAX_WORK = 500_000
"""Comparisons of one look. After them nothing is left out and anything may be brought back."""
MAX_STARS = 10
"""In a pattern that brings files back."""
MAX_PATTERNS = 1_000
"""Patterns of what may be brought back in one folder; more of them may bring anything back."""
_READ_DIFFERENTLY = re.compile(r"[\\\[\]{}]|[^/]\*\*|\*\*[^/]")
"""Signs in a pattern that programs do not read alike."""
_ANYTHING = "*"
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class _FolderRules:
    """Rules and patterns of all ignore files in a folder and above it."""

    rules: Rules
    """Those of git, from the top of the repository on."""
    in_repository: bool
    """Outside of one the rules of git do not count to other programs."""
    left_out: bool = False
    """The folder itself is left out."""
    brought_back: tuple[str, ...] = ()
    """Patterns in lower case for the last names of what may be brought back."""


class IgnoreFiles:
    """The ignore files in a workspace and above it, as they are at one moment.

    `names_in` returns those of `CONTROL_NAMES` that are in a folder, as seen from the workspace, with a slash at its end.
    """

    def __init__(self, root: str, names_in: Callable[[str], Collection[str]]) -> None:
        self._root = root
        self._names_in = names_in
        self._folders: dict[str, _FolderRules] = {}
        self._files: dict[str, bytes] = {}
        self._bytes_left = MAX_BYTES
        """Below 0 once a file had more."""
        self._work_left = MAX_WORK

    def leave_out(self, name: str, *, folder: bool = False) -> bool:
        """Return True if programs that respect ignore files certainly pass over a file or folder."""
        found = self._read_folder(name.rpartition("/")[0])
        return found.left_out or self._ignores(found.rules, name, folder)

    def _ignores(self, rules: Rules, name: str, folder: bool) -> bool:
        self._work_left -= rules.work(name)
        return self._work_left >= 0 and rules.ignores(name, folder)

    def may_bring_back(self, name: str) -> bool:
        """Return True if a `!` line may mean a file or a folder on its way."""
        shapes = self._read_folder(name.rpartition("/")[0]).brought_back
        names = name.lower().split("/")
        self._work_left -= len(shapes) * len(names)
        if self._work_left < 0:
            return True
        return any(fits((each,), parts) for parts in map(parts_of, shapes) for each in names)

    def _read_folder(self, folder: str) -> _FolderRules:
        if folder not in self._folders:
            unread = takewhile(lambda path: path not in self._folders, (folder, *folders_above(folder)))
            for path in reversed(list(unread)):
                self._folders[path] = self._read_below(path) if path else self._read_top()
        return self._folders[folder]

    def _read_top(self) -> _FolderRules:
        """Read the files in the workspace's own folder, and what those above it bring back."""
        above = list(folders_above(self._root))
        in_repository = any(os.path.exists(f"{path}/{GIT}") for path in above)  # noqa: PTH110
        patterns = chain.from_iterable(self._brought_back(path, CONTROL_NAMES) for path in above)
        return self._read_own(_FolderRules(Rules(), in_repository, brought_back=_bounded(patterns)), "")

    def _read_below(self, folder: str) -> _FolderRules:
        above = self._folders[folder.rpartition("/")[0]]
        left_out = above.left_out or self._ignores(above.rules, folder, True)
        found = self._read_own(above, f"{folder}/")
        return _FolderRules(found.rules, found.in_repository, left_out, found.brought_back)

    def _read_own(self, above: _FolderRules, base: str) -> _FolderRules:
        """Add to the rules above those of the files in one folder."""
        path, names = f"{self._root}/{base}", self._names_in(base)
        rules, in_repository = above.rules, above.in_repository
        if not _REPOSITORIES.isdisjoint(names):  # the rules of a repository above end here
            rules = Rules()
        if GIT in names:
            in_repository = os.path.exists(f"{path}{GIT}")  # noqa: PTH110
        if in_repository and GIT_RULES in names:
            rules = rules.below(base, _common_rules(self._read(f"{path}{GIT_RULES}")))
        patterns = chain(above.brought_back, self._brought_back(path.rstrip("/"), names))
        return _FolderRules(rules, in_repository, brought_back=_bounded(patterns))

    def _brought_back(self, folder: str, names: Collection[str]) -> Iterator[str]:
        """Return patterns for what the ignore files in a folder may bring back."""
        for name in sorted(names):
            paths = self._exclude_files(f"{folder}/{GIT}") if name == GIT else [f"{folder}/{name}"]
            for path in paths:
                yield from _returning_patterns(self._read(path))
                if self._bytes_left < 0:
                    yield _ANYTHING

    def _exclude_files(self, git: str) -> list[str]:
        """Return the ignore files in a repository's own folder, to which `.git` leads."""
        if os.path.isdir(git):  # noqa: PTH112
            return [f"{git}/info/exclude"]
        named = self._read(git).decode("utf-8", "replace").removeprefix("gitdir:").strip()
        own = os.path.join(os.path.dirname(git), named)  # noqa: PTH118, PTH120
        shared = self._read(f"{own}/commondir").decode("utf-8", "replace").strip()
        return [f"{each}/info/exclude" for each in (own, os.path.join(own, shared))]  # noqa: PTH118

    def _read(self, path: str) -> bytes:
        """Read a file as far as the bytes of this look go, and one byte more if it has more."""
        if path not in self._files:
            self._files[path] = data = _read(path, self._bytes_left + 1)
            self._bytes_left -= len(data)
        return self._files[path]


def folders_above(path: str) -> Iterator[str]:
    """Return the folders above a path, the nearest first; the last one is empty: `/`, or where a relative path begins."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _returning_patterns(data: bytes) -> Iterator[str]:
    for line in data.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK).splitlines():
        if line.startswith("!"):
            pattern = line[1:].strip().strip("/")
            unclear = pattern.count("*") > MAX_STARS or _READ_DIFFERENTLY.search(pattern)
            yield _ANYTHING if unclear else pattern.rpartition("/")[2].lower()


def _bounded(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the different patterns; if there are too many, one that fits anything."""
    found = list(islice(patterns, MAX_PATTERNS + 1))
    return (_ANYTHING,) if _ANYTHING in found or len(found) > MAX_PATTERNS else tuple(dict.fromkeys(found))


def _common_rules(data: bytes) -> str:
    """Return the lines that every program reads alike; some programs end at the first one that is not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data[: error.start].decode("utf-8").rpartition("\n")[0]
    lines = text.split("\n", MAX_LINES)[:MAX_LINES]
    return "\n".join(line for line in lines if not _READ_DIFFERENTLY.search(line))


def _read(path: str, max_bytes: int) -> bytes:
    """Read the beginning of a file; nothing where there is none."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113 - asked for many names before each command
            return b""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(max_bytes)
    except (OSError, ValueError):
        return b""
