"""The map of one repository: lists, keeps the index fresh, ranks and renders.

Invariant: every call returns a map, whatever is in the files and in the cache; the index is a cache that can be deleted
at any time. Synchronous: to be called in a thread. Calls of one object wait for each other.
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

from tui_agent.context.repomap import history, worker
from tui_agent.context.repomap import indexer as indexing
from tui_agent.context.repomap.cancellation import Ending
from tui_agent.context.repomap.file_list import Entry, Listing, examine
from tui_agent.context.repomap.file_scan import Look
from tui_agent.context.repomap.index_db import place
from tui_agent.context.repomap.indexer import UNSETTLED
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.open_index import BROKEN, Held
from tui_agent.context.repomap.query import Ask, from_index, from_scan, view
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.context.repomap.snapshot import Snapshot
from tui_agent.context.repomap.symbol_search import Defined, defined
from tui_agent.context.repomap.texts import Texts
from tui_agent.context.repomap.views import MapView
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.ports.repomap import MapLanguage

SMALL_BYTES, SMALL_FILES = 400_000, 40
"""What is changed up to here is read at once; more is the worker's."""
SOON_BYTES = 1_500_000
"""An index of up to so much is waited for, as the worker has it in about the time that an answer without it takes."""
ENOUGH = 0.6
"""The share of files in the index from which it answers."""
REFRESH_S = 120.0
MEND_S = 30.0
"""Time between two looks at whether graph and history are up to date."""
ANSWERS = 8
"""So many are kept for as long as no file changes."""
Key = tuple[str, int, int | None, tuple[str, ...], frozenset[str], frozenset[str]]
"""What is asked for."""


def show_all(path: str) -> bool:
    """Nothing is secret."""
    return bool(path)


class Showing(NamedTuple):
    """What of a repository may be shown. `may_show`: whether a path may be listed, read and shown at all; `rules` names what
    it decides by (another name makes the index anew). `redaction` says what is neither shown nor kept."""

    may_show: Callable[[str], bool] = show_all
    rules: str = ""
    redaction: RedactionOptions = RedactionOptions()


ALL = Showing()


def _same(one: tuple[object, object], other: tuple[object, object]) -> bool:
    return one[0] is other[0] and one[1] is other[1]


class RepoMap:
    """The map of the repository, or plain folder, at `root`. Nothing is read before the first call.

    `cache_folder`: where the index is kept, outside of the repository. `patience`: seconds that an answer may wait for
    changed files. `lasting`: a worker goes on when this process ends. `languages`: those that plugins teach; they have an
    index of their own.
    """

    def __init__(
        self,
        root: Path,
        cache_folder: Path,
        *,
        showing: Showing = ALL,
        patience: float = 1.0,
        lasting: bool = False,
        languages: Sequence[MapLanguage] = (),
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._languages = Languages(languages)
        self.index = place(cache_folder, self.root, self._languages.added_digest)
        self._held = Held(self.index, lambda: self.key)
        self._may_show, self._rules = showing.may_show, f"{showing.rules}{showing.redaction.table_digest}"
        self._patience, self._lasting = patience, lasting
        self._cleaner = Cleaner(showing.redaction)
        self._lock = threading.RLock()
        self._ending = Ending()
        self._texts = Texts(os.fspath(self.root))
        self._complete: tuple[Listing, Snapshot] | None = None
        self._answers: dict[Key, MapView] = {}
        self._answered: tuple[Listing, Snapshot | None] | None = None
        self._look = Look(self.root, self._shows)
        self._cleared: set[str] = set()
        self._hidden: set[str] = set()
        self._mended = float("-inf")
        self._child: subprocess.Popen[bytes] | None = None

    def map(
        self,
        query: str | None = None,
        max_tokens: int = 1200,
        max_files: int | None = None,
        refresh: bool = False,
        pinned: Collection[str] = (),
        hidden: Collection[str] = (),
        recent: Collection[str] = (),
    ) -> MapView:
        """The map for a question, or of the whole. `pinned` come first, `hidden` not at all (also what is pinned), `recent`
        were touched lately.

        `refresh` waits until the index has every file. Raises `EnvironmentFault` where the folder cannot be read, and once
        the map is closed.
        """
        with self._lock:
            if refresh:
                self._held.require_sound()
            listing = self._listed(anew=refresh)
            complete = self._brought_up(listing, refresh=refresh)
            first, out = map(self._inside, pinned), map(self._inside, hidden)
            key = (query or "", max_tokens, max_files, tuple(first), frozenset(out), frozenset(recent))
            if not complete:
                return self._answer(listing, key, partial=True)
            if self._answered is None or not _same(self._answered, (listing, self._held.snapshot)):
                self._answers.clear()
            found = self._answers.get(key)
            if found is None:
                if len(self._answers) >= ANSWERS:
                    self._answers.clear()
                found = self._answers[key] = self._answer(listing, key, partial=False)
            self._answered = (listing, self._held.snapshot)
            return found

    def _inside(self, path: str) -> str:
        """A path as the list of files has it: `./a.py`, or the whole of it, is `a.py`."""
        return os.path.relpath(path, self.root) if path.startswith("/") else os.path.normpath(path)

    def _answer(self, listing: Listing, key: Key, *, partial: bool) -> MapView:
        """From the index where it has enough, else from the files themselves."""
        ask = Ask(Query(key[0]), *key[1:])
        index = self._held.snapshot
        if index is not None and len(index.known) >= ENOUGH * len(listing.entries):
            try:
                basis = from_index(index, listing, self._texts, ask)
                clean = basis._replace(symbols=lambda path: self._cleaner.symbols(basis.symbols(path)))
                return view(clean, ask, partial=partial)
            except BROKEN:
                self._held.discard()
                partial = True
        return view(
            from_scan(listing, os.fspath(self.root), ask, self._languages, self._cleaner, self._ending),
            ask,
            partial=partial,
        )

    def touched(self, paths: Sequence[str]) -> None:
        """Files that were just written or removed: their new content counts from the next map on."""
        with self._lock:
            if self._held.open() is None:
                return
            names = [name for name in paths if self._shows(name)]
            now = examine(self.root, sorted(names), self._shows, (0, 0)).entries
            there = {entry.path for entry in now}
            self._update([*now], [name for name in names if name not in there])

    def wait(self, seconds: float) -> bool:
        """Wait until no worker is at work; whether none is."""
        until = time.monotonic() + seconds
        while self._is_building():
            if time.monotonic() >= until or self._ending:
                return False
            if self._child is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._child.wait(0.05)
            else:
                threading.Event().wait(0.02)
        return True

    def state(self) -> tuple[int, bool]:
        """How many files the index has now, and whether a worker is at work on it."""
        with self._lock:
            kept = self._held.open()
            try:
                return 0 if kept is None else kept.count, self._is_building()
            except sqlite3.Error as error:
                self._held.fail(error)
                return 0, self._is_building()

    def defined(self, name: str, most: int) -> list[Defined]:
        """Names of the index that hold this, the likeliest first; none where there is no index."""
        with self._lock:
            kept = self._held.open()
            try:
                return [] if kept is None else defined(kept, name, most)
            except BROKEN:
                return []

    def close(self) -> None:
        """End the worker, unless it is to last, and let go of the index. A call that is under way ends soon, without answer."""
        self._ending.end()
        with self._lock:
            self._held.drop()
            self._look.close()
            if self._child is not None:
                worker.end(self._child, lasting=self._lasting)
                self._child = None

    @property
    def key(self) -> str:
        """What the index depends on beside the files."""
        return f"{self._languages.digest()} {self._rules}"

    def _shows(self, path: str) -> bool:
        self._ending.require_open()
        if path in self._cleared or path in self._held.known:
            return True
        mark = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        if mark in self._hidden:
            return False
        if self._may_show(path):
            self._cleared.add(path)
            return True
        self._hidden.add(mark)
        return False

    def _listed(self, *, anew: bool) -> Listing:
        self._held.reload()
        self._held.share(self._hidden)
        try:
            listing = self._look.now(anew=anew)
        except OSError as error:
            raise EnvironmentFault(f"The folder {self.root} cannot be mapped: {error.strerror}.") from error
        self._held.share(self._hidden)
        return listing

    def _brought_up(self, listing: Listing, *, refresh: bool) -> bool:
        """Bring the index up to date as far as there is time; whether it has everything."""
        if self._held.open() is None:
            return False
        index = self._held.snapshot
        changed, gone = self._changes(listing)
        if not changed and not gone and index is not None:
            self._complete = (listing, index)
            if not refresh:
                self._mend()
                return True
        if (
            len(changed) <= SMALL_FILES
            and sum(entry.size for entry in changed) <= SMALL_BYTES
            and self._held.known
        ):
            done = self._update(changed, gone)
            if not refresh:
                return done
            changed, gone = [], []
        size = sum(entry.size for entry in changed)
        self._begin(changed, gone)
        self.wait(REFRESH_S if refresh else self._patience if self._held.known or size <= SOON_BYTES else 0.0)
        self._held.reload()
        return not any(self._is_behind(entry) for entry in self._changes(listing)[0])

    def _is_behind(self, entry: Entry) -> bool:
        """Whether the index lacks a changed file: not where it was only read too soon after it was written."""
        known = self._held.known.get(entry.path)
        return known is None or known.entry.mtime_ns != UNSETTLED

    def _mend(self) -> None:
        """Have the graph and the history brought up to date, where they are behind the files; nobody waits for it."""
        kept = self._held.kept
        if kept is None or time.monotonic() - self._mended < MEND_S:
            return
        self._mended = time.monotonic()
        try:
            behind = not kept.meta("graph") or kept.meta("history") != history.head(self.root)
        except sqlite3.Error as error:
            self._held.fail(error)
            return
        if behind and self._held.known:
            self._begin([], [])

    def _changes(self, listing: Listing) -> tuple[list[Entry], list[str]]:
        if self._complete is not None and _same(self._complete, (listing, self._held.snapshot)):
            return [], []
        known, present = self._held.known, {entry.path for entry in listing.entries}
        changed = [e for e in listing.entries if (old := known.get(e.path)) is None or old.entry != e]
        return changed, [path for path in known if path not in present]

    def _begin(self, changed: list[Entry], gone: list[str]) -> None:
        if worker.is_building(self.index):
            return
        if self._child is not None:
            worker.end(self._child, lasting=False)
        with suppress(OSError):
            build = worker.Build(
                self.index, self.key, self.root, self._languages.added, self._cleaner.options
            )
            self._child = worker.start(build, changed, gone, lasting=self._lasting)

    def _is_building(self) -> bool:
        if self._child is not None and self._child.poll() is None:
            return True
        return worker.is_building(self.index)

    def _update(self, changed: list[Entry], gone: list[str]) -> bool:
        kept = self._held.open()
        if kept is None:
            return False
        try:
            indexing.update(kept, os.fspath(self.root), changed, gone, self._languages, self._cleaner)
            self._held.learn(kept, [entry.path for entry in changed], gone)
        except BROKEN:
            self._held.discard()
            return False
        return True
