"""The open index of one repository map, and a snapshot of its content with cached lookups. Not thread-safe.

Invariant: a snapshot shows one state of the index. A damaged index raises no error, but is deleted and built again.
"""

import sqlite3
import struct
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from math import log
from pathlib import Path

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.graph import unpack_edges, write_graph
from tui_agent.context.repomap.index_db import IndexFile, KnownFile, SimilarCommit, open_index, remove
from tui_agent.context.repomap.map_results import Symbol
from tui_agent.context.repomap.path_kinds import group_by_first_name

PATH, NAMES, BODY = 4.0, 3.0, 1.0
"""Weights of a question's word in a file's path, in its defined names, and in its text."""
MAX_CACHED_MATCHES, MAX_CACHED_FILES = 400_000, 2_000
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
        return group_by_first_name(self.text)

    @cached_property
    def _wordless(self) -> dict[str, list[str]]:
        return group_by_first_name(path for path, known in self.known.items() if known.reason)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return a file's symbols in file order."""
        known = self.known.get(path)
        if known is None:
            return ()
        cached = self._symbols.get(path)
        if cached is None or cached[0] is not known:
            if len(self._symbols) >= MAX_CACHED_FILES:
                self._symbols.clear()
            cached = self._symbols[path] = (known, self._index_file.symbols(known.id))
        return cached[1]

    def neighbours(self, path: str) -> tuple[bytes, bytes]:
        """Return (edges to the files that this file uses, edges from the files that use it), as packed by `graph`."""
        known = self.known.get(path)
        return self._index_file.neighbours(known.id) if known is not None else (b"", b"")

    def users(self, path: str) -> list[str]:
        """Return the files that use names defined in `path`, strongest use first."""
        return [self.paths[row] for row, _ in unpack_edges(self.neighbours(path)[1]) if row in self.paths]

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of files that contain each word."""
        return {term: len(self._word_shares(term)[0]) for term in terms}

    def matches(self, values: Mapping[str, float], limit: int) -> dict[str, float]:
        """Map the paths of the `limit` best files to their BM25 scores.

        Files with the same score as the last are added.

        `values`: maps each word of the question to its value (weight times rarity).
        """
        total: dict[int, float] = {}
        get = total.get
        for term, value in values.items():
            for row_id, share in zip(*self._word_shares(term), strict=True):
                total[row_id] = get(row_id, 0.0) + value * share
        min_score = sorted(total.values(), reverse=True)[limit - 1] if len(total) > limit else 0.0
        paths = self.paths
        return {
            paths[row_id]: score for row_id, score in total.items() if score >= min_score and row_id in paths
        }

    def similar_commits(self, expression: str, limit: int) -> list[SimilarCommit]:
        """Return the stored commits whose messages match the FTS5 `expression`, best first."""
        return self._index_file.commits.search(expression, limit)

    def _word_shares(self, term: str) -> Scores:
        """Return the row ids of the files with a word, and the word's BM25 scores. The factor for rarity is left out."""
        shares_by_row = self._scores.get(term)
        if shares_by_row is None:
            row_ids, scores = self._index_file.scores(term, (PATH, NAMES, BODY))
            # The caller multiplies by a rarity of its own, which counts only the files that it may show.
            rarity = _rarity_of_index(len(row_ids), len(self.text))
            shares_by_row = row_ids, array("d", [score / rarity for score in scores])
            self._matches += len(row_ids)
            if self._matches > MAX_CACHED_MATCHES:
                self._scores.clear()
                self._matches = len(row_ids)
            self._scores[term] = shares_by_row
        return shares_by_row


def _rarity_of_index(count: int, total: int) -> float:
    """Return SQLite's BM25 factor for a word in `count` of `total` files."""
    rarity = log((total - count + 0.5) / (count + 0.5)) if count <= total else 0.0
    return rarity if rarity > 0 else 1e-6


BROKEN_INDEX_ERRORS = (sqlite3.Error, zlib.error, struct.error, ValueError, TypeError)
"""Types of the errors that reading a damaged index can raise."""


class OpenIndex:
    """The index at `path`, opened when it is first needed.

    `key`: see `IndexFile`.
    """

    def __init__(self, path: Path, key: Callable[[], str]) -> None:
        self._path, self._key = path, key
        self.index_file: IndexFile | None = None
        """The open index file."""
        self.snapshot: Snapshot | None = None
        """The content that was read from the open index file."""
        self._version = -1

    @property
    def known(self) -> Mapping[str, KnownFile]:
        """The files in the index, keyed by path."""
        return self.snapshot.known if self.snapshot is not None else {}

    def open(self) -> IndexFile | None:
        """Open or create the index; return None on failure."""
        if self.index_file is not None and not self.index_file.is_in_place():
            self.drop()
        if self.index_file is None:
            try:
                self.index_file = open_index(self._path, self._key())
            except (sqlite3.Error, OSError):
                return None
            self._version = -1
        return self.index_file

    def drop(self) -> None:
        """Close the index and drop the cached content."""
        if self.index_file is not None:
            self.index_file.close()
        self.index_file, self.snapshot, self._version = None, None, -1

    def discard(self) -> None:
        """Delete the index, so that it is rebuilt."""
        self.drop()
        remove(self._path)

    def fail(self, error: Exception) -> None:
        """Handle an error raised by reading the index: delete a damaged index, close a locked one."""
        if isinstance(error, sqlite3.OperationalError):
            self.drop()
        else:
            self.discard()

    def require_sound(self) -> None:
        """Delete the index if its pages are damaged even though the file could be opened."""
        index_file = self.open()
        if index_file is not None and not index_file.is_sound():
            self.discard()

    def reload(self) -> None:
        """Read the index again if another process has written to it."""
        index_file = self.open()
        if index_file is None:
            return
        try:
            version = index_file.data_version
            if version != self._version:
                self.snapshot, self._version = Snapshot(index_file, index_file.files()), version
        except sqlite3.Error as error:
            self.fail(error)

    def add_written(self, index_file: IndexFile, written: Collection[str], gone: Collection[str]) -> None:
        """Read the entries of the files in `written` again from the index, and forget those of the files in `gone`.

        Raise `BROKEN_INDEX_ERRORS` if the index is damaged.
        """
        changed = {*written, *gone}
        unchanged = {path: item for path, item in self.known.items() if path not in changed}
        self.snapshot = Snapshot(index_file, unchanged | index_file.files_at(written), self.snapshot)

    def refresh_graph(self) -> None:
        """Write the graph of the indexed files if it is outdated, and read the files' new ranks."""
        index_file = self.open()
        try:
            if index_file is not None and not index_file.meta("graph"):
                write_graph(index_file)
                self.snapshot = Snapshot(index_file, index_file.files(), self.snapshot)
        except BROKEN_INDEX_ERRORS as error:
            self.fail(error)

    def share(self, hidden: set[str]) -> None:
        """Exchange the hashes of hidden paths with other processes through the index.

        Add the other processes' hashes to the set `hidden`.
        """
        # So only one process has to check each path.
        index_file = self.open()
        if index_file is None:
            return
        try:
            known = set(index_file.meta("hidden").split())
            if not hidden <= known:
                with index_file.transaction():
                    index_file.set_meta("hidden", " ".join(sorted(hidden | known)))
            hidden |= known
        except sqlite3.Error as error:
            self.fail(error)
