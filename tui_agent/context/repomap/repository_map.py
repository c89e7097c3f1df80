"""Map of one repository: lists the files, keeps the index up to date, ranks files for a question, renders the text.

The methods of `RepoMap` block: call them in a thread.

Invariant: no content of a file or of the cache makes a call fail.
"""

import hashlib
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tui_agent.context.repomap import commit_search, index_worker, indexer
from tui_agent.context.repomap.definition_search import Definition, find_named_symbols, search_symbols
from tui_agent.context.repomap.file_list import Entry, FileList
from tui_agent.context.repomap.file_watch import FileScanner
from tui_agent.context.repomap.index_db import index_path
from tui_agent.context.repomap.index_snapshot import BROKEN_INDEX_ERRORS, OpenIndex, Snapshot
from tui_agent.context.repomap.indexer import UNSETTLED
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.map_query import Ask, ClosedFlag, rank_by_scan, rank_with_index, view
from tui_agent.context.repomap.map_results import MapView, Symbol
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.context.repomap.source_reader import read
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.context.repomap.text_cache import TextCache
from tui_agent.errors import EnvironmentFault, os_errors_as
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.ports.repomap import MapLanguage

SMALL_BYTES, SMALL_FILES = 400_000, 40
"""Limits of the changed files that this process indexes itself: total size in bytes, and number of files.

A worker process indexes larger changes.
"""
MAX_GRAPH_FILES = 12_000
"""This process updates the graph itself for at most this many indexed files."""
SOON_BYTES = 1_500_000
"""The first call waits for the index if the files to index have at most this total size, in bytes."""
MIN_INDEXED_FRACTION = 0.6
"""Minimum fraction of the files that a usable index contains."""
REFRESH_S = 120.0
RETRY_S = 30.0
"""Seconds before the restart of a worker process that ran out of time."""
ANSWERS = 8
"""Maximum number of maps in the cache."""
Key = tuple[str, int, int | None, tuple[str, ...], frozenset[str], frozenset[str], bool]
"""The parameters of a request for a map, as the key of the cache."""


def show_all(path: str) -> bool:
    """Return True for every path that is not empty."""
    return bool(path)


class Visibility(NamedTuple):
    """The parts of a repository that are visible in a map.

    `redaction`: content that must not be shown or stored.
    `may_show`: returns True for a path that can be listed, read and shown.
    `rules`: identifies the rules of `may_show`. If this text changes, the index is rebuilt.
    """

    may_show: Callable[[str], bool] = show_all
    rules: str = ""
    redaction: RedactionOptions = RedactionOptions()


SHOW_ALL = Visibility()


def _is_same(first: tuple[object, object], second: tuple[object, object]) -> bool:
    return first[0] is second[0] and first[1] is second[1]


class RepoMap:
    """The map of the repository or folder at `root`. Nothing is read before the first call.

    `cache_folder`: folder of the index, outside the repository. `patience`: maximum seconds that a call waits for the
    worker process. `detached`: if True, the worker process continues after this process ends. `languages`: languages
    added by plugins. Each set of added languages has its own index file.
    """

    def __init__(
        self,
        root: Path,
        cache_folder: Path,
        *,
        showing: Visibility = SHOW_ALL,
        patience: float = 1.0,
        detached: bool = False,
        languages: Sequence[MapLanguage] = (),
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._languages = Languages(languages)
        self.index = index_path(cache_folder, self.root, self._languages.added_digest)
        self._index = OpenIndex(self.index, lambda: self.key)
        self._may_show, self._rules = showing.may_show, f"{showing.rules}{showing.redaction.table_digest}"
        self._patience, self._detached = patience, detached
        self._cleaner = Cleaner(showing.redaction)
        self._lock = threading.RLock()
        self._closed = ClosedFlag()
        self._texts = TextCache(os.fspath(self.root))
        self._complete: tuple[FileList, Snapshot] | None = None
        self._answers: dict[Key, MapView] = {}
        self._answers_state: tuple[FileList, Snapshot | None] | None = None
        self._scanner = FileScanner(self.root, self._may_list)
        self._visible: set[str] = set()
        self._hidden: set[str] = set()
        self._failed_state: tuple[str, Snapshot | None] | None = None
        self._last_failure = float("-inf")
        self._worker: subprocess.Popen[bytes] | None = None

    def map(
        self,
        query: str | None = None,
        max_tokens: int = 1200,
        max_files: int | None = None,
        refresh: bool = False,
        pinned: Collection[str] = (),
        hidden: Collection[str] = (),
        recent: Collection[str] = (),
        brief: bool = False,
    ) -> MapView:
        """Return the map for the question `query`. An empty question gives a map of the whole repository.

        `refresh`: wait until every file is indexed.
        `pinned`: files that come first.
        `hidden`: files that are left out, even if pinned.
        `recent`: recently used files.
        `brief`: name few files, and count the rest by folder.

        Raise `EnvironmentFault` if the folder cannot be read or the map is closed.
        """
        with self._lock:
            if refresh:
                self._index.require_sound()
            listing = self._list_files(rescan=refresh)
            complete = self._update_index(listing, refresh=refresh)
            pinned_paths, hidden_paths = map(self._relative_path, pinned), map(self._relative_path, hidden)
            key = (
                query or "",
                max_tokens,
                max_files,
                tuple(pinned_paths),
                frozenset(hidden_paths),
                frozenset(recent),
                brief,
            )
            if not complete:
                return self._answer(listing, key, partial=True)
            if self._answers_state is None or not _is_same(
                self._answers_state, (listing, self._index.snapshot)
            ):
                self._answers.clear()
            answer = self._answers.get(key)
            if answer is None:
                if len(self._answers) >= ANSWERS:
                    self._answers.clear()
                answer = self._answers[key] = self._answer(listing, key, partial=False)
            self._answers_state = (listing, self._index.snapshot)
            return answer

    def _relative_path(self, path: str) -> str:
        """Return the path relative to the repository's root, such as `a.py` for `./a.py` or for an absolute path."""
        return os.path.relpath(path, self.root) if path.startswith("/") else os.path.normpath(path)

    def _answer(self, listing: FileList, key: Key, *, partial: bool) -> MapView:
        """Build the map from the index if it covers enough files, otherwise by reading the files."""
        ask = Ask(Query(key[0]), *key[1:])
        index = self._index.snapshot
        covered = 0.0 if index is None else len(index.known) / max(1, len(listing.entries))
        if index is not None and covered >= MIN_INDEXED_FRACTION:
            try:
                basis = rank_with_index(index, listing, self._texts, ask)
                clean = basis._replace(symbols=lambda path: self._cleaner.symbols(basis.symbols(path)))
                return view(clean, ask, partial=partial)
            except BROKEN_INDEX_ERRORS:
                self._index.discard()
                partial = True
        return view(
            rank_by_scan(listing, os.fspath(self.root), ask, self._languages, self._cleaner, self._closed),
            ask,
            partial=partial,
        )

    def wait(self, seconds: float) -> bool:
        """Wait until no worker is running; return False on timeout."""
        deadline = time.monotonic() + seconds
        while self._is_building():
            if time.monotonic() >= deadline or self._closed:
                return False
            if self._worker is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._worker.wait(0.05)
            else:
                # The worker belongs to another process, so only its lock can be observed.
                threading.Event().wait(0.02)
        return True

    def state(self) -> tuple[int, bool]:
        """Return the number of indexed files, and True if a worker process is running."""
        with self._lock:
            index_file = self._index.open()
            try:
                return 0 if index_file is None else index_file.count, self._is_building()
            except sqlite3.Error as error:
                self._index.fail(error)
                return 0, self._is_building()

    def find_definitions(self, name: str, limit: int) -> list[Definition]:
        """Return definitions whose names contain `name`, best match first. Without an index, the list is empty."""
        with self._lock:
            index_file = self._index.open()
            try:
                return [] if index_file is None else search_symbols(index_file, name, limit)
            except BROKEN_INDEX_ERRORS:
                return []

    def find_named_symbols(self, name: str) -> list[tuple[str, Symbol]]:
        """Return (path, symbol) of each symbol with exactly this name. Without an index, the list is empty."""
        with self._lock:
            index_file = self._index.open()
            try:
                return [] if index_file is None else find_named_symbols(index_file, name)
            except BROKEN_INDEX_ERRORS:
                return []

    def read_symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return all symbols of a file that a map shows, read from the file itself and not from the index."""
        data = read(f"{self.root}/{path}").data
        return symbols_of(path, data, self._languages, cleaner=self._cleaner)[1]

    def find_users(self, path: str, limit: int) -> list[str]:
        """Return the files that use names defined in the file `path`, strongest use first.

        Without an index, the list is empty.
        """
        with self._lock:
            index = self._index.snapshot
            try:
                return [] if index is None else index.users(path)[:limit]
            except BROKEN_INDEX_ERRORS:
                return []

    def close(self) -> None:
        """Close the index, and end a worker process that is not detached."""
        self._closed.close()
        with self._lock:
            self._index.drop()
            self._scanner.close()
            if self._worker is not None:
                index_worker.end(self._worker, detached=self._detached)
                self._worker = None

    @property
    def key(self) -> str:
        """A hash of the index's languages and rules."""
        return f"{self._languages.digest()} {self._rules}"

    def _may_list(self, path: str) -> bool:
        self._closed.require_open()
        if path in self._visible or path in self._index.known:
            return True
        # Only a hash, because these marks are stored in the index, where the names of secret files do not belong.
        mark = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        if mark in self._hidden:
            return False
        # A question to the policy takes long, so both answers are remembered.
        if self._may_show(path):
            self._visible.add(path)
            return True
        self._hidden.add(mark)
        return False

    def _list_files(self, *, rescan: bool) -> FileList:
        self._index.reload()
        # Before the listing to learn the hidden paths of other processes, after it to share new ones.
        self._index.share(self._hidden)
        with os_errors_as(EnvironmentFault, f"The folder {self.root} cannot be mapped"):
            listing = self._scanner.list_files(rescan=rescan)
        self._index.share(self._hidden)
        return listing

    def _update_index(self, listing: FileList, *, refresh: bool) -> bool:
        """Update the index as far as time permits.

        Return True if the index is now complete, or if there is none because it cannot be opened.
        """
        if self._index.open() is None:
            return True
        index = self._index.snapshot
        changed, gone = self._changes(listing)
        if not changed and not gone and index is not None:
            self._complete = (listing, index)
            if not refresh:
                return self._refresh_graph()
        if (
            len(changed) <= SMALL_FILES
            and sum(entry.size for entry in changed) <= SMALL_BYTES
            and self._index.known
        ):
            done = self._index_files(changed, gone)
            if not refresh:
                return done and self._refresh_graph()
            changed, gone = [], []
        size = sum(entry.size for entry in changed)
        self._start_worker(changed, gone)
        self._await_worker(
            REFRESH_S if refresh else self._patience if self._index.known or size <= SOON_BYTES else 0.0
        )
        is_behind = any(self._is_behind(entry) for entry in self._changes(listing)[0])
        return not is_behind and self._is_graph_current()

    def _await_worker(self, seconds: float) -> None:
        """Wait until no worker is running, at most `seconds`, and read the index again."""
        self.wait(seconds)
        self._index.reload()

    def _is_behind(self, entry: Entry) -> bool:
        """Return True if the index lacks the new version of the changed file `entry`."""
        # A version that was indexed directly after a write (`UNSETTLED`) counts as the new one.
        known = self._index.known.get(entry.path)
        return known is None or known.entry.mtime_ns != UNSETTLED

    def _refresh_graph(self) -> bool:
        """Update the graph and the commit history as far as time permits; return True if both are current."""
        if len(self._index.known) <= MAX_GRAPH_FILES and not self._is_building():
            self._index.refresh_graph()
        if self._is_graph_current():
            return True
        state = (commit_search.head(self.root), self._index.snapshot)
        if state == self._failed_state and time.monotonic() - self._last_failure < RETRY_S:
            return False
        deadline = time.monotonic() + self._patience
        for _ in range(2):  # a worker that was already running may not have read the last changes
            self._start_worker([], [])
            self._await_worker(deadline - time.monotonic())
            if is_current := self._is_graph_current():
                break
        self._failed_state = None if is_current else (state[0], self._index.snapshot)
        self._last_failure = time.monotonic()
        return is_current

    def _is_graph_current(self) -> bool:
        """Return True if the graph and the commit history are current."""
        index_file = self._index.index_file
        if index_file is None:
            return False
        try:
            return bool(index_file.meta("graph")) and index_file.meta("history") == commit_search.head(
                self.root
            )
        except sqlite3.Error as error:
            self._index.fail(error)
            return False

    def _changes(self, listing: FileList) -> tuple[list[Entry], list[str]]:
        if self._complete is not None and _is_same(self._complete, (listing, self._index.snapshot)):
            return [], []
        known, present = self._index.known, {entry.path for entry in listing.entries}
        changed = [
            entry for entry in listing.entries if (old := known.get(entry.path)) is None or old.entry != entry
        ]
        return changed, [path for path in known if path not in present]

    def _start_worker(self, changed: list[Entry], gone: list[str]) -> None:
        if index_worker.is_building(self.index):
            return
        if self._worker is not None:
            # The earlier worker has ended: no process holds the lock. Waiting for it frees its process id.
            index_worker.end(self._worker, detached=False)
        with suppress(OSError):
            build = index_worker.Build(
                self.index, self.key, self.root, self._languages.added, self._cleaner.options
            )
            self._worker = index_worker.start(build, changed, gone, detached=self._detached)

    def _is_building(self) -> bool:
        if self._worker is not None and self._worker.poll() is None:
            return True
        return index_worker.is_building(self.index)

    def _index_files(self, changed: list[Entry], gone: list[str]) -> bool:
        index_file = self._index.open()
        if index_file is None:
            return False
        try:
            indexer.update(index_file, os.fspath(self.root), changed, gone, self._languages, self._cleaner)
            self._index.add_written(index_file, [entry.path for entry in changed], gone)
        except BROKEN_INDEX_ERRORS:
            self._index.discard()
            return False
        return True
