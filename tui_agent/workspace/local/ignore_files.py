"""Ignore files of a workspace, such as `.gitignore`: they hide files from searches, and can re-include files.

Invariant: this module only reads, and its work is limited. In case of doubt, a file counts as not hidden.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice, takewhile

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.gitignore import MAX_LINES, IgnoreRules
from tui_agent.folds.text.glob import compile_parts, matches_parts

GIT_FOLDER = ".git"
GITIGNORE = ".gitignore"
IGNORE_FILES = frozenset({GITIGNORE, ".ignore", ".rgignore", ".fdignore", ".agignore", ".hgignore"})
_REPOSITORIES = frozenset({GIT_FOLDER, ".jj"})
CONTROL_NAMES = IGNORE_FILES | _REPOSITORIES
"""Names of ignore files and repository folders. They decide which files a search skips."""
MAX_BYTES = 300_000
"""Maximum bytes of all ignore files in one scan. Beyond that, every file counts as possibly re-included."""
MAX_WORK = 500_000
"""Maximum number of pattern comparisons in a scan. After that, every file counts as possibly re-included."""
MAX_STARS = 10
"""Maximum number of `*` in a pattern that re-includes files. A pattern with more counts as matching everything."""
MAX_PATTERNS = 1_000
"""Maximum number of re-including patterns in a folder. With more, every file counts as possibly re-included."""
_AMBIGUOUS = re.compile(r"[\\\[\]{}]|[^/]\*\*|\*\*[^/]")
"""Matches pattern characters that mean different things in different programs."""
_ANYTHING = "*"
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class _FolderRules:
    """Rules and patterns from all ignore files in a folder and above it."""

    rules: IgnoreRules
    """Git's rules from the top of the repository down to the folder."""
    in_repository: bool
    """True inside a repository; outside, programs other than git do not apply git's rules."""
    left_out: bool = False
    """True if the folder itself is hidden from searches."""
    brought_back: tuple[str, ...] = ()
    """Re-included file names, as patterns in lower case: `!logs/*.LOG` gives `*.log`."""


class IgnoreFiles:
    """The ignore files in and above a workspace at one moment.

    `names_in`: takes the relative path of a folder with a slash at the end, and returns which of the names in
    `CONTROL_NAMES` this folder contains.
    """

    def __init__(self, root: str, names_in: Callable[[str], Collection[str]]) -> None:
        self._root = root
        self._names_in = names_in
        self._folders: dict[str, _FolderRules] = {}
        self._files: dict[str, bytes] = {}
        self._bytes_left = MAX_BYTES
        """Number of bytes of ignore files that the scan can still read. It is negative after the limit was exceeded."""
        self._work_left = MAX_WORK

    def is_left_out(self, name: str, *, folder: bool = False) -> bool:
        """Return True if programs that respect ignore files certainly skip this file or folder."""
        folder_rules = self._read_folder(name.rpartition("/")[0])
        return folder_rules.left_out or self._ignores(folder_rules.rules, name, folder)

    def _ignores(self, rules: IgnoreRules, name: str, folder: bool) -> bool:
        self._work_left -= rules.max_comparisons(name)
        return self._work_left >= 0 and rules.is_ignored(name, folder)

    def may_be_brought_back(self, name: str) -> bool:
        """Return True if a line with `!` in an ignore file could re-include this file or a folder above it."""
        patterns = self._read_folder(name.rpartition("/")[0]).brought_back
        names = name.lower().split("/")
        self._work_left -= len(patterns) * len(names)
        if self._work_left < 0:
            return True
        return any(
            matches_parts((part,), pattern_parts)
            for pattern_parts in map(compile_parts, patterns)
            for part in names
        )

    def _read_folder(self, folder: str) -> _FolderRules:
        if folder not in self._folders:
            unread = takewhile(lambda path: path not in self._folders, (folder, *parent_folders(folder)))
            for path in reversed(list(unread)):
                self._folders[path] = self._read_below(path) if path else self._read_top()
        return self._folders[folder]

    def _read_top(self) -> _FolderRules:
        above = list(parent_folders(self._root))
        in_repository = any(os.path.exists(f"{path}/{GIT_FOLDER}") for path in above)  # noqa: PTH110
        patterns = chain.from_iterable(self._reincluding_patterns(path, CONTROL_NAMES) for path in above)
        return self._read_folder_rules(
            _FolderRules(IgnoreRules(), in_repository, brought_back=_limit_patterns(patterns)), ""
        )

    def _read_below(self, folder: str) -> _FolderRules:
        above = self._folders[folder.rpartition("/")[0]]
        left_out = above.left_out or self._ignores(above.rules, folder, True)
        own = self._read_folder_rules(above, f"{folder}/")
        return _FolderRules(own.rules, own.in_repository, left_out, own.brought_back)

    def _read_folder_rules(self, above: _FolderRules, base: str) -> _FolderRules:
        path, names = f"{self._root}/{base}", self._names_in(base)
        rules, in_repository = above.rules, above.in_repository
        if not _REPOSITORIES.isdisjoint(names):  # a nested repository does not inherit rules
            rules = IgnoreRules()
        if GIT_FOLDER in names:
            in_repository = os.path.exists(f"{path}{GIT_FOLDER}")  # noqa: PTH110
        if in_repository and GITIGNORE in names:
            rules = rules.with_file(base, _common_rules(self._read_limited(f"{path}{GITIGNORE}")))
        patterns = chain(above.brought_back, self._reincluding_patterns(path.rstrip("/"), names))
        return _FolderRules(rules, in_repository, brought_back=_limit_patterns(patterns))

    def _reincluding_patterns(self, folder: str, names: Collection[str]) -> Iterator[str]:
        for name in sorted(names):
            paths = (
                self._find_exclude_files(f"{folder}/{GIT_FOLDER}")
                if name == GIT_FOLDER
                else [f"{folder}/{name}"]
            )
            for path in paths:
                yield from _returning_patterns(self._read_limited(path))
                if self._bytes_left < 0:
                    yield _ANYTHING

    def _find_exclude_files(self, git: str) -> list[str]:
        if os.path.isdir(git):  # noqa: PTH112
            return [f"{git}/info/exclude"]
        target = self._read_limited(git).decode("utf-8", "replace").removeprefix("gitdir:").strip()
        own = os.path.join(os.path.dirname(git), target)  # noqa: PTH118, PTH120
        shared = self._read_limited(f"{own}/commondir").decode("utf-8", "replace").strip()
        return [f"{folder}/info/exclude" for folder in (own, os.path.join(own, shared))]  # noqa: PTH118

    def _read_limited(self, path: str) -> bytes:
        """Read an ignore file and subtract its size from `_bytes_left`.

        If the file exceeds the limit, `_bytes_left` becomes negative.
        """
        if path not in self._files:
            self._files[path] = data = _read_start(path, self._bytes_left + 1)
            self._bytes_left -= len(data)
        return self._files[path]


def parent_folders(path: str) -> Iterator[str]:
    """Yield the folders above a path, nearest first, up to `/` or an empty string."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _returning_patterns(data: bytes) -> Iterator[str]:
    for line in data.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK).splitlines():
        if line.startswith("!"):
            pattern = line[1:].strip().strip("/")
            is_ambiguous = pattern.count("*") > MAX_STARS or _AMBIGUOUS.search(pattern)
            yield _ANYTHING if is_ambiguous else pattern.rpartition("/")[2].lower()


def _limit_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    limited = list(islice(patterns, MAX_PATTERNS + 1))
    matches_all = _ANYTHING in limited or len(limited) > MAX_PATTERNS
    return (_ANYTHING,) if matches_all else tuple(dict.fromkeys(limited))


def _common_rules(data: bytes) -> str:
    """Return the lines of an ignore file that all programs interpret in the same way."""
    # Ends before the first line that is not UTF-8: some programs stop there.
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data[: error.start].decode("utf-8").rpartition("\n")[0]
    lines = text.split("\n", MAX_LINES)[:MAX_LINES]
    return "\n".join(line for line in lines if not _AMBIGUOUS.search(line))


def _read_start(path: str, max_bytes: int) -> bytes:
    try:
        if not os.path.isfile(path):  # noqa: PTH113 - called for many names before each command
            return b""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(max_bytes)
    except (OSError, ValueError):
        return b""
