"""The index of all sessions: what a list shows, and a full text, in one SQLite file.

Invariant: derived from the logs, and never needed: where it is absent, damaged, of another version or locked, the logs
themselves are read. Deleting it loses nothing.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from tui_agent.errors import SessionNotFound
from tui_agent.store import index_search
from tui_agent.store.index_rows import SCHEMA, Stand, drop, known_rows, put, take_in
from tui_agent.store.index_search import Found, read_through, words_of
from tui_agent.store.summary import SessionSummary, summarise

Behind: TypeAlias = Callable[[], None]
FILE = "index.sqlite"
VERSION = 5
BUSY_MS = 2_000
WORTH = 50
"""Sessions from which on a list keeps an index."""
_BATCH = 100
"""Sessions that are read in one transaction."""


def _unsaid() -> None:
    """For those who do not ask how new an answer is."""


class SessionIndex:
    """The index beside the sessions in `root`. Each call opens it anew, so that any process may delete it any time."""

    def __init__(self, root: Path) -> None:
        self.path = root / FILE

    @contextmanager
    def _open(self, *, wait_ms: int = BUSY_MS) -> Iterator[sqlite3.Connection]:
        """The index, made anew where it is damaged or of another version. Raises `sqlite3.Error`, OSError."""
        try:
            db = self._connect(wait_ms)
        except sqlite3.OperationalError:
            raise  # locked, or no place for it
        except sqlite3.DatabaseError:
            self.delete()
            db = self._connect(wait_ms)
        with closing(db):
            yield db

    def _connect(self, wait_ms: int) -> sqlite3.Connection:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        db = sqlite3.connect(self.path, isolation_level=None)
        try:
            db.execute(f"PRAGMA busy_timeout = {wait_ms}")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == VERSION:
                return db
            if version:
                raise sqlite3.DatabaseError("of another version")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            with _transaction(db):
                if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
                    for statement in SCHEMA.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {VERSION}")
        except BaseException:
            db.close()
            raise
        return db

    def delete(self) -> None:
        """Remove the index; it is made again when it is needed."""
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
            self.path.with_name(name).unlink(missing_ok=True)

    def summaries(self, stands: Sequence[Stand]) -> list[SessionSummary]:
        """What a list shows of these sessions: from the index where that is up to date, else from their logs."""
        if len(stands) < WORTH and not self.path.exists():
            return [summary for stand in stands if (summary := summarise(stand.folder))]
        try:
            with self._open(wait_ms=50) as db:
                found, stale = known_rows(db, stands)
        except (sqlite3.Error, OSError) as fault:
            self._heed(fault)
            found, stale = [], [(stand, None) for stand in stands]
        new = [(stand, summary) for stand, known in stale if (summary := summarise(stand.folder, known))]
        if new:
            with suppress(sqlite3.Error, OSError), self._open(wait_ms=50) as db, _transaction(db):
                for stand, summary in new:  # where this cannot be kept the next list reads the logs again
                    put(db, stand, summary)
        return [*found, *(summary for _, summary in new)]

    def summary(self, folder: Path) -> SessionSummary:
        """What a list shows of one session. Raises `SessionNotFound`."""
        stand = Stand.of(str(folder))
        found = self.summaries([stand]) if stand is not None else []
        if not found:
            raise SessionNotFound(
                f"Nothing of a session {folder.name} can be read.", hint="`sessions list --all` shows them."
            )
        return found[0]

    def _heed(self, fault: Exception) -> None:
        """A damaged index goes; one that is only locked, or cannot be written, stays."""
        if isinstance(fault, sqlite3.DatabaseError) and not isinstance(fault, sqlite3.OperationalError):
            self.delete()

    def refresh(self, stands: Sequence[Stand], progress: Callable[[int], None] = lambda done: None) -> None:
        """Bring it up to date: reads only what is new in each log. Raises `sqlite3.Error`, OSError."""
        with self._open() as db:
            known = {
                name: (stamp, read_to)
                for name, stamp, read_to in db.execute("SELECT name, stamp, read_to FROM sessions")
            }
            gone = known.keys() - {stand.folder.name for stand in stands}
            if gone:
                with _transaction(db):
                    for name in gone:
                        drop(db, name)
            waiting = [
                stand
                for stand in sorted(stands, key=lambda stand: stand.folder.name)
                if known.get(stand.folder.name) != (stand.stamp, stand.size)
            ]
            for start in range(0, len(waiting), _BATCH):
                left = waiting[start : start + _BATCH]
                while left:
                    with _transaction(db):
                        left = [stand for stand in left if take_in(db, stand)]
                progress(min(start + _BATCH, len(waiting)))

    def rebuild(self, stands: Sequence[Stand], progress: Callable[[int], None] = lambda done: None) -> None:
        """Make it anew from the logs. Raises `sqlite3.Error`, OSError."""
        self.delete()
        self.refresh(stands, progress)

    def search(
        self,
        stands: Sequence[Stand],
        text: str,
        workspace: str | None = None,
        limit: int = 50,
        *,
        behind: Behind = _unsaid,
    ) -> list[Found]:
        """The events in which all words of a text stand (or words that begin so), the newest session first.

        Brings the index up to date before. Where there can be none, the logs themselves are read through. Where another
        process holds it, what it has is searched, and `behind` is called: what was said since is not found.
        """
        found = self._asked(stands, lambda db: index_search.events_with(db, text, workspace, limit), behind)
        if found is None:
            found = list(islice(read_through(stands, words_of(text), workspace), limit))
        return found

    def sessions_with(
        self,
        stands: Sequence[Stand],
        text: str,
        workspace: str | None = None,
        *,
        behind: Behind = _unsaid,
    ) -> list[Found]:
        """The same for sessions: of each the newest event that was found, of the newest `MOST_PLACES` in all."""
        found = self._asked(stands, lambda db: index_search.sessions_with(db, text, workspace), behind)
        if found is None:
            found = index_search.newest_of_each(read_through(stands, words_of(text), workspace))
        return found

    def _asked(
        self, stands: Sequence[Stand], query: Callable[[sqlite3.Connection], list[Found]], behind: Behind
    ) -> list[Found] | None:
        """What an index that is up to date says, or one that another process holds; None where there can be none."""
        for _ in range(2):
            try:
                whole = self._catch_up(stands)
                with self._open() as db:
                    found = query(db)
                if not whole:
                    behind()
                return found
            except (sqlite3.Error, OSError) as fault:
                self._heed(fault)
                if isinstance(fault, sqlite3.OperationalError):
                    break
        return None

    def _catch_up(self, stands: Sequence[Stand]) -> bool:
        """Whether all is in it; where another process is at it, what that has kept so far can be found now."""
        try:
            self.refresh(stands)
        except sqlite3.OperationalError:
            if not self.path.exists():
                raise
            return False
        return True

    def forks(self, session: str) -> list[str] | None:
        """The sessions that were forked from this one, as of the last time that it was made up to date; None where
        there is no index."""
        if not self.path.exists():
            return None
        try:
            with self._open(wait_ms=50) as db:
                rows = db.execute("SELECT name FROM sessions WHERE parent = ? ORDER BY started", (session,))
                return [name for (name,) in rows]
        except (sqlite3.Error, OSError) as fault:
            self._heed(fault)
            return None


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
