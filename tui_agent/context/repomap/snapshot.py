"""The content of the index at one moment, with cached lookups.

Invariant: a snapshot shows one state of the index.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import log

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.graph import unpack_edges
from tui_agent.context.repomap.index_db import IndexFile, KnownFile, SimilarCommit
from tui_agent.context.repomap.path_kinds import by_first_name
from tui_agent.context.repomap.views import Symbol

PATH, NAMES, BODY = 4.0, 3.0, 1.0
"""Weights of a question's word in a file's path, in its defined names, and in its text."""
MOST_MATCHES, MOST_FILES = 400_000, 2_000
Scores = tuple["array[int]", "array[float]"]


class Snapshot:
    """The files of an index by path, with lookups. All methods raise `sqlite3.Error` if the index cannot be read."""

    def __init__(
        self, index_file: IndexFile, known: dict[str, KnownFile], before: "Snapshot | None" = None
    ) -> None:
        """Read the index.

        `before`: an earlier snapshot. Its cached symbols are used for files that have not changed.
        """
        self._index_file = index_file
        self.known = known
        self._scores: dict[str, Scores] = {}
        self._matches = 0
        self._listed: tuple[Sequence[Entry], list[str]] | None = None
        self._symbols: dict[str, tuple[KnownFile, tuple[Symbol, ...]]] = before._symbols if before else {}

    @cached_property
    def text(self) -> dict[str, KnownFile]:
        """The files that have words in the index, keyed by path."""
        return {path: known for path, known in self.known.items() if not known.reason}

    @cached_property
    def skipped(self) -> dict[str, int]:
        """The number of files without words in the index, by reason."""
        return Counter(known.reason for known in self.known.values() if known.reason)

    @cached_property
    def paths(self) -> dict[int, str]:
        """The paths of files with words in the index, by row id."""
        return {known.id: path for path, known in self.text.items()}

    def visible_paths(self, entries: Sequence[Entry]) -> Sequence[str]:
        """Return the paths of `entries`. Files without words in the index are left out."""
        if self._listed is None or self._listed[0] is not entries:
            text, known = self.text, self.known
            paths = [entry.path for entry in entries if entry.path in text or entry.path not in known]
            self._listed = entries, paths
        return self._listed[1]

    def files_with_first_name(self, first: str) -> Sequence[str]:
        """Return all files whose names start with the given word."""
        return [*self._names.get(first, ()), *self._wordless.get(first, ())]

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        return by_first_name(self.text)

    @cached_property
    def _wordless(self) -> dict[str, list[str]]:
        return by_first_name(path for path, known in self.known.items() if known.reason)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return a file's symbols in file order."""
        known = self.known.get(path)
        if known is None:
            return ()
        cached = self._symbols.get(path)
        if cached is None or cached[0] is not known:
            if len(self._symbols) >= MOST_FILES:
                self._symbols.clear()
            cached = self._symbols[path] = (known, self._index_file.symbols(known.id))
        return cached[1]

    def neighbours(self, path: str) -> tuple[bytes, bytes]:
        """Return a file's packed edges in two parts: to the files that it uses, and from the files that use it."""
        known = self.known.get(path)
        return self._index_file.neighbours(known.id) if known is not None else (b"", b"")

    def users(self, path: str) -> list[str]:
        """Return the files that use names defined in `path`, strongest use first."""
        return [self.paths[row] for row, _ in unpack_edges(self.neighbours(path)[1]) if row in self.paths]

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of files that contain each word."""
        return {term: len(self._word_shares(term)[0]) for term in terms}

    def matches(self, values: Mapping[str, float], most: int) -> dict[str, float]:
        """Return the BM25 scores of the `most` best files. If more files share the last score, they are included."""
        total: dict[int, float] = {}
        get = total.get
        for term, value in values.items():
            for row_id, share in zip(*self._word_shares(term), strict=True):
                total[row_id] = get(row_id, 0.0) + value * share
        min_score = sorted(total.values(), reverse=True)[most - 1] if len(total) > most else 0.0
        paths = self.paths
        return {
            paths[row_id]: score for row_id, score in total.items() if score >= min_score and row_id in paths
        }

    def similar_commits(self, expression: str, most: int) -> list[SimilarCommit]:
        """Return the stored commits whose messages match the FTS5 `expression`, best first."""
        return self._index_file.commits.search(expression, most)

    def _word_shares(self, term: str) -> Scores:
        """Return the row ids of the files with a word, and the word's BM25 scores. The factor for rarity is left out."""
        shares_by_row = self._scores.get(term)
        if shares_by_row is None:
            row_ids, scores = self._index_file.scores(term, (PATH, NAMES, BODY))
            rarity = _rarity_of_index(len(row_ids), len(self.text))
            shares_by_row = row_ids, array("d", [score / rarity for score in scores])
            self._matches += len(row_ids)
            if self._matches > MOST_MATCHES:
                self._scores.clear()
                self._matches = len(row_ids)
            self._scores[term] = shares_by_row
        return shares_by_row


def _rarity_of_index(count: int, total: int) -> float:
    """Return SQLite's BM25 factor for a word in `count` of `total` files."""
    rarity = log((total - count + 0.5) / (count + 0.5)) if count <= total else 0.0
    return rarity if rarity > 0 else 1e-6
