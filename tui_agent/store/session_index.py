"""The index of all sessions in one SQLite file: their summaries for lists, and full-text search.

Invariant: if the index cannot be used, the logs are read.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from tui_agent.errors import SessionNotFound
from tui_agent.store import session_search
from tui_agent.store.session_index_rows import (
    SCHEMA,
    LogState,
    delete_session,
    index_log,
    known_rows,
    save_summary,
)
from tui_agent.store.session_search import SearchHit, scan_logs, split_words
from tui_agent.store.session_summary import SessionSummary, summarise_session

OnStale: TypeAlias = Callable[[], None]
INDEX_FILE = "index.sqlite"
VERSION = 12
"""Version of the index's format: its tables and the choice of its texts. An index of another version is recreated."""
# An index of another version is rebuilt from the logs.
BUSY_MS = 2_000
MIN_SESSIONS = 50
"""To list fewer sessions than this, no index is created."""
_BATCH = 100
"""Maximum number of sessions per transaction."""


def _ignore_stale() -> None:
    """Do nothing (the default of the argument `on_stale`)."""


class SessionIndex:
    """The index of the sessions in the folder `root`, stored in the same folder.

    Any process can delete it at any time.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / INDEX_FILE

    @contextmanager
    def _open(self, *, wait_ms: int = BUSY_MS) -> Iterator[sqlite3.Connection]:
        """Open the index. Recreate an index that is damaged or has another version."""
        try:
            db = self._connect(wait_ms)
        except sqlite3.OperationalError:
            raise  # locked, or the folder is not writable
        except sqlite3.DatabaseError:
            self.delete()
            db = self._connect(wait_ms)
        with closing(db):
            yield db

    def _connect(self, wait_ms: int) -> sqlite3.Connection:
        # SQLite would create the file with the default permissions, and would follow a link.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        db = sqlite3.connect(self.path, isolation_level=None)
        try:
            db.execute(f"PRAGMA busy_timeout = {wait_ms}")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == VERSION:
                return db
            if version:
                raise sqlite3.DatabaseError("of another version")
            # With WAL, other processes can search during an update. Fewer syncs are enough, since the index can be
            # rebuilt from the logs.
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            with _transaction(db):
                # Asked again inside the transaction: another process may have created the tables meanwhile.
                if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
                    for statement in SCHEMA.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {VERSION}")
        except BaseException:
            db.close()
            raise
        return db

    def delete(self) -> None:
        """Remove the index; it is recreated when needed."""
        for name in (INDEX_FILE, f"{INDEX_FILE}-wal", f"{INDEX_FILE}-shm", f"{INDEX_FILE}-journal"):
            self.path.with_name(name).unlink(missing_ok=True)

    def summaries(self, states: Sequence[LogState]) -> list[SessionSummary]:
        """Return the summaries of these sessions.

        If the index has no current summary of a session, read the session's log.
        """
        if len(states) < MIN_SESSIONS and not self.path.exists():
            return [summary for state in states if (summary := summarise_session(state.folder))]
        try:
            with self._open(wait_ms=50) as db:  # a list must appear at once, even during an update
                current, stale = known_rows(db, states)
        except (sqlite3.Error, OSError) as fault:
            self._delete_if_damaged(fault)
            current, stale = [], [(state, None) for state in states]
        fresh = [
            (state, summary) for state, known in stale if (summary := summarise_session(state.folder, known))
        ]
        if fresh:
            with suppress(sqlite3.Error, OSError), self._open(wait_ms=50) as db, _transaction(db):
                for state, summary in fresh:  # if saving fails, the next list reads the logs again
                    save_summary(db, state, summary)
        return [*current, *(summary for _, summary in fresh)]

    def summary(self, folder: Path) -> SessionSummary:
        """Return the summary of one session. Raise `SessionNotFound` if the session cannot be read."""
        state = LogState.read(str(folder))
        summaries = self.summaries([state]) if state is not None else []
        if not summaries:
            raise SessionNotFound(
                f"The session {folder.name} cannot be read.",
                hint="Run `tui-agent sessions list --all` to list all sessions.",
            )
        return summaries[0]

    def _delete_if_damaged(self, fault: Exception) -> None:
        if isinstance(fault, sqlite3.DatabaseError) and not isinstance(fault, sqlite3.OperationalError):
            self.delete()

    def refresh(
        self, states: Sequence[LogState], progress: Callable[[int], None] = lambda done: None
    ) -> None:
        """Update the index, reading only new lines of each log.

        `progress` is called with the number of updated sessions. Raise `sqlite3.Error` or `OSError` if the update
        fails.
        """
        with self._open() as db:
            known = {
                name: (stamp, read_to)
                for name, stamp, read_to in db.execute("SELECT name, stamp, read_to FROM sessions")
            }
            removed = known.keys() - {state.folder.name for state in states}
            if removed:
                with _transaction(db):
                    for name in removed:
                        delete_session(db, name)
            pending = [
                state
                for state in sorted(states, key=lambda state: state.folder.name)
                if known.get(state.folder.name) != (state.stamp, state.size)
            ]
            for start in range(0, len(pending), _BATCH):
                batch = pending[start : start + _BATCH]
                while batch:
                    with _transaction(db):
                        batch = [state for state in batch if index_log(db, state)]
                progress(min(start + _BATCH, len(pending)))

    def rebuild(
        self, states: Sequence[LogState], progress: Callable[[int], None] = lambda done: None
    ) -> None:
        """Recreate the index from the logs.

        `progress` is called with the number of indexed sessions. Raise `sqlite3.Error` or `OSError` if that fails.
        """
        self.delete()
        self.refresh(states, progress)

    def search(
        self,
        states: Sequence[LogState],
        text: str,
        workspace: str | None = None,
        limit: int = 50,
        *,
        on_stale: OnStale = _ignore_stale,
    ) -> list[SearchHit]:
        """Return the events with all words of `text`, newest session first. A word also matches longer words that start
        with it.

        `on_stale` is called if another process is updating the index. The newest events can then be missing.
        """
        hits = self._query(
            states, lambda db: session_search.find_events(db, text, workspace, limit), on_stale
        )
        if hits is None:
            hits = list(islice(scan_logs(states, split_words(text), workspace), limit))
        return hits

    def search_sessions(
        self,
        states: Sequence[LogState],
        text: str,
        workspace: str | None = None,
        *,
        on_stale: OnStale = _ignore_stale,
    ) -> list[SearchHit]:
        """Return the newest hit of each session, like `search`. Only the newest `MAX_HITS` hits are considered."""
        hits = self._query(states, lambda db: session_search.find_sessions(db, text, workspace), on_stale)
        if hits is None:
            hits = session_search.newest_per_session(scan_logs(states, split_words(text), workspace))
        return hits

    def _query(
        self,
        states: Sequence[LogState],
        query: Callable[[sqlite3.Connection], list[SearchHit]],
        on_stale: OnStale,
    ) -> list[SearchHit] | None:
        """Update and query the index. Return None if the index cannot be used."""
        for _ in range(2):  # the second time, a damaged index has been deleted, and is built anew
            try:
                is_current = self._refresh_if_free(states)
                with self._open() as db:
                    hits = query(db)
                if not is_current:
                    on_stale()
                return hits
            except (sqlite3.Error, OSError) as fault:
                self._delete_if_damaged(fault)
                if isinstance(fault, sqlite3.OperationalError):
                    break
        return None

    def _refresh_if_free(self, states: Sequence[LogState]) -> bool:
        try:
            self.refresh(states)
        except sqlite3.OperationalError:
            # Another process is updating the index. Search in what the index has so far.
            if not self.path.exists():
                raise
            return False
        return True

    def find_forks(self, session: str) -> list[str] | None:
        """Return the forks of a session that the index had at its last update. Return None if there is no index."""
        if not self.path.exists():
            return None
        try:
            with self._open(wait_ms=50) as db:
                rows = db.execute("SELECT name FROM sessions WHERE parent = ? ORDER BY started", (session,))
                return [name for (name,) in rows]
        except (sqlite3.Error, OSError) as fault:
            self._delete_if_damaged(fault)
            return None


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    # IMMEDIATE: lock now and wait if needed. A transaction that locks at its first write can fail without waiting.
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
