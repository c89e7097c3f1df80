"""The workspace's files for `@` completion.

Invariant: files that git ignores are not offered.
"""

import os
import re
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate
from pathlib import Path
from typing import Final

from tui_agent.config.project.generated_folders import GENERATED_FOLDERS, REPOSITORY_FOLDERS
from tui_agent.config.project.git_query import list_own_files

MAX_PATHS = 50_000
MIN_EXACT_MATCHES: Final = 30
"""If a search finds fewer matches, it also returns paths that contain the query's letters in order."""
MAX_MATCHES_PER_SEARCH: Final = 200
"""Maximum number of matches for each kind of search, e.g. by name or by path."""
MAX_QUERY_LENGTH: Final = 64
"""Maximum length of a query, in characters; the rest of the query is ignored."""
FRESH_S = 5.0
"""Time after which the files are listed again, in seconds."""
_SKIPPED = REPOSITORY_FOLDERS | GENERATED_FOLDERS | {"target"}


def list_files(root: Path) -> list[str]:
    """Return the paths below `root`, as git lists them; without git, walk the folder.

    This function blocks: call it in a thread.
    """
    listed = list_own_files(root)
    if listed is None:
        return _walk(root)
    # Names that are not UTF-8 contain surrogates, which cannot be shown or saved.
    names = (name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in set(listed))
    return sorted(names)[:MAX_PATHS]


def _walk(root: Path) -> list[str]:
    paths: list[str] = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        relative = Path(folder).relative_to(root).as_posix()
        paths.extend(name if relative == "." else f"{relative}/{name}" for name in sorted(names))
        if len(paths) >= MAX_PATHS:
            break
    return paths[:MAX_PATHS]


class _Lines:
    """Many strings joined into one, for a fast search."""

    def __init__(self, texts: Sequence[str]) -> None:
        lowered = [text.lower().replace("\n", " ") for text in texts]
        self.text = "\n" + "\n".join(lowered) + "\n"
        self._starts = list(accumulate((len(line) + 1 for line in lowered), initial=1))

    def find_containing(self, letters: str) -> Iterator[int]:
        """Yield the index of each string that contains `letters`.

        A line feed at the start of `letters` stands for the beginning of a string.
        """
        position = self.text.find(letters)
        while position >= 0:
            yield self._line(position + (letters[:1] == "\n"))
            # Continue in the next string, so that each index is yielded once.
            end = self.text.find("\n", position + 1)
            position = self.text.find(letters, end) if end >= 0 else -1

    def find_with_letters(self, letters: str) -> Iterator[int]:
        """Yield the index of each string that contains the letters of `letters` in order."""
        # `re` is fast if it tries few positions: those of the first letter if it is rare, otherwise the starts of the lines.
        rare = self.text.count(letters[0]) < len(self._starts) // 2
        start = re.escape(letters[0]) if rare else f"^[^{re.escape(letters[0])}\n]*{re.escape(letters[0])}"
        rest = "".join(rf"[^{re.escape(char)}\n]*{re.escape(char)}" for char in letters[1:])
        before = -1
        for hit in re.finditer(start + rest, self.text, re.MULTILINE):
            line = self._line(hit.start())
            if line != before:
                before = line
                yield line

    def _line(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1


class PathIndex:
    """Searchable paths of files and folders, shorter paths first. Paths of folders end with a slash."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = list(files)
        folders: set[str] = set()
        for path in self.files:
            folder = path.rpartition("/")[0]
            while folder and folder + "/" not in folders:
                folders.add(folder + "/")
                folder = folder.rpartition("/")[0]
        self.paths = sorted(sorted([*self.files, *folders]), key=len)
        self.shallow = nsmallest(
            MAX_MATCHES_PER_SEARCH, self.paths, key=lambda path: (path.count("/", 0, -1), path)
        )
        self._lowered_paths = _Lines(self.paths)
        self._lowered_names = _Lines([name_of(path) for path in self.paths])

    def find(self, query: str) -> list[str]:
        """Return the paths that match the query, best match first."""
        needle = query[:MAX_QUERY_LENGTH].lower().replace("\n", " ")
        matches: dict[int, None] = {}  # an ordered set of indices
        searches = (
            self._lowered_names.find_containing("\n" + needle),
            self._lowered_paths.find_containing("\n" + needle),
            self._lowered_names.find_containing(needle),
            self._lowered_paths.find_containing(needle),
        )
        for search in searches:
            _add_some(search, matches)
        if len(matches) < MIN_EXACT_MATCHES and len(needle) > 1:
            _add_some(self._lowered_paths.find_with_letters(needle), matches)
        return [self.paths[index] for index in matches]


def _add_some(indices: Iterator[int], matches: dict[int, None]) -> None:
    for count, index in enumerate(indices, start=1):
        matches[index] = None
        if count == MAX_MATCHES_PER_SEARCH:
            return


def name_of(path: str) -> str:
    """Return the last part of a path; a folder keeps its trailing slash."""
    return path[path.rstrip("/").rfind("/") + 1 :]


class RefusedPaths:
    """The paths whose content the session does not send with a message, such as secret files.

    Only paths that the menu has shown are checked.
    """

    def __init__(self) -> None:
        self.paths: frozenset[str] = frozenset()
        self._asked: frozenset[str] = frozenset()

    def needs_request(self, shown: Iterable[str]) -> bool:
        """Return True if the session must be asked about the files and folders in the menu."""
        return not frozenset(shown) <= self._asked

    def store_result(self, asked: Iterable[str], refused: Iterable[str]) -> None:
        self._asked |= frozenset(asked)
        self.paths = (self.paths - frozenset(asked)) | frozenset(refused)

    def ask_again(self) -> None:
        """Ask about all paths again when they are next shown; until then, use the known answers."""
        self._asked = frozenset()


class FileIndex:
    """The most recent listing of the files in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = PathIndex(())
        self.refused = RefusedPaths()
        self._listed_at = float("-inf")

    @property
    def is_stale(self) -> bool:
        """True if the folder should be listed again."""
        return time.monotonic() - self._listed_at > FRESH_S

    def refresh(self) -> None:
        """List the folder again. This method blocks: call it in a thread."""
        listed = list_files(self.root)
        # Building the index of many files takes longer than this comparison.
        if listed != self.paths.files:
            self.paths = PathIndex(listed)
        self.refused.ask_again()
        self._listed_at = time.monotonic()
