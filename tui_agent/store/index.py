"""L1: the index of all sessions: what a list shows, and a full text, in one SQLite file.

Invariant: derived from the logs, and never needed: where it is absent, damaged, of another version or locked, the logs
themselves are read. Deleting it loses nothing.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tui_agent.protocol.ids import SessionId
from tui_agent.store.lock import is_locked
from tui_agent.store.pieces import pieces_from
from tui_agent.store.repair import EVENTS
from tui_agent.store.searched import searched
from tui_agent.store.summary import SessionSummary, summarise

FILE = "index.sqlite"
VERSION = 2
BUSY_MS = 2_000
WORTH = 50
"""Sessions from which on a list keeps an index."""
_SCHEMA = """
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place INTEGER NOT NULL, started REAL NOT NULL,
  updated REAL NOT NULL, title TEXT NOT NULL, events INTEGER NOT NULL, size INTEGER NOT NULL,
  damaged INTEGER NOT NULL, newer INTEGER NOT NULL,
  stamp TEXT NOT NULL, file INTEGER NOT NULL, read_to INTEGER NOT NULL DEFAULT 0);
CREATE TABLE places (number INTEGER PRIMARY KEY, workspace TEXT NOT NULL UNIQUE);
CREATE TABLE texts (
  number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL);
CREATE INDEX texts_of ON texts (session);
CREATE VIRTUAL TABLE words USING fts5 (text, place, prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2');
"""


@dataclass(frozen=True, slots=True)
class Found:
    """An event in which something was found. `snippet` is a part of its text around the place."""

    session: SessionId
    title: str
    workspace: str
    seq: int
    at: float
    kind: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Stand:
    """How a log's file stands: it is unchanged as long as this is."""

    folder: Path
    stamp: str
    file: int
    size: int

    @classmethod
    def of(cls, folder: str) -> "Stand | None":
        """As it is now; None where there is no log."""
        try:
            status = os.stat(f"{folder}/{EVENTS}")  # noqa: PTH116 - thousands at once
        except OSError:
            return None
        return cls(Path(folder), f"{status.st_size} {status.st_mtime_ns}", status.st_ino, status.st_size)


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
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
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
                    for statement in _SCHEMA.split(";"):
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
                found, stale = _known(db, stands)
        except (sqlite3.Error, OSError) as fault:
            self._heed(fault)
            found, stale = [], list(stands)
        new = [(stand, summary) for stand in stale if (summary := summarise(stand.folder))]
        if new:
            with suppress(sqlite3.Error, OSError), self._open(wait_ms=50) as db, _transaction(db):
                for stand, summary in new:  # where this cannot be kept the next list reads the logs again
                    _put(db, stand, summary)
        return [*found, *(summary for _, summary in new)]

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
            here = {stand.folder.name for stand in stands}
            with _transaction(db):
                for name in known.keys() - here:
                    _drop(db, name)
            waiting = [
                stand
                for stand in sorted(stands, key=lambda stand: stand.folder.name)
                if known.get(stand.folder.name) != (stand.stamp, stand.size)
            ]
            for start in range(0, len(waiting), _BATCH):
                with _transaction(db):
                    for stand in waiting[start : start + _BATCH]:
                        _read(db, stand)
                progress(min(start + _BATCH, len(waiting)))

    def rebuild(self, stands: Sequence[Stand], progress: Callable[[int], None] = lambda done: None) -> None:
        """Make it anew from the logs. Raises `sqlite3.Error`, OSError."""
        self.delete()
        self.refresh(stands, progress)

    def search(
        self, stands: Sequence[Stand], text: str, workspace: str | None = None, limit: int = 50
    ) -> list[Found]:
        """The events in which all words of a text stand (or words that begin so), the newest session first.

        Brings the index up to date before. Where there can be none, the logs themselves are read through.
        """
        for _ in range(2):
            try:
                self._catch_up(stands)
                return self._search(text, workspace, limit)
            except (sqlite3.Error, OSError) as fault:
                self._heed(fault)
                if isinstance(fault, sqlite3.OperationalError):
                    break
        return list(islice(_read_through(stands, words_of(text), workspace), limit))

    def _catch_up(self, stands: Sequence[Stand]) -> None:
        try:
            self.refresh(stands)
        except sqlite3.OperationalError:
            if not self.path.exists():
                raise
            # another process is at it: what it has kept so far is what can be found now

    def _search(self, text: str, workspace: str | None, limit: int) -> list[Found]:
        query = " ".join(f'text:"{word}"*' for word in words_of(text))
        if not query:
            return []
        with self._open() as db:
            if workspace is not None:
                place = db.execute("SELECT number FROM places WHERE workspace = ?", (workspace,)).fetchone()
                if place is None:
                    return []
                query = f"place:w{place[0]} AND {query}"
            rows = db.execute(_SEARCH, (query, limit)).fetchall()
        return [Found(SessionId(name), *rest) for name, *rest in rows]


def words_of(text: str) -> list[str]:
    """The words of a text that can be searched for."""
    return [word for word in text.replace('"', " ").replace("\0", " ").split() if any(map(str.isalnum, word))]


def _read_through(stands: Sequence[Stand], words: Sequence[str], workspace: str | None) -> Iterator[Found]:
    """The same without an index: as slow as reading all logs."""
    wanted = [word.casefold() for word in words]
    for stand in sorted(stands, key=lambda stand: stand.folder.name, reverse=True) if wanted else ():
        summary = summarise(stand.folder)
        if summary is None or workspace not in (None, summary.workspace):
            continue
        for piece in pieces_from(stand.folder, 0, stand.size):
            for each in searched(piece, stand.folder):
                text = each.text.casefold()
                if all(word in text for word in wanted):
                    snippet = _around(each.text, text.find(wanted[0]))
                    yield Found(
                        summary.id, summary.title, summary.workspace, each.seq, each.at, each.kind, snippet
                    )


def _around(text: str, at: int) -> str:
    start, end = max(0, at - 40), at + 80
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


_BATCH = 100
"""Sessions that are read in one transaction."""
_SEARCH = """
SELECT sessions.name, sessions.title, places.workspace, texts.seq, texts.at, texts.kind,
       snippet(words, 0, '', '', '…', 16)
FROM words JOIN texts ON texts.number = words.rowid JOIN sessions ON sessions.number = texts.session
     JOIN places ON places.number = sessions.place
WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?
"""


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _known(db: sqlite3.Connection, stands: Iterable[Stand]) -> tuple[list[SessionSummary], list[Stand]]:
    """The summaries that are up to date, and of which logs there are none."""
    rows = {
        row[0]: row
        for row in db.execute(
            "SELECT name, stamp, file, workspace, started, updated, title, events, size, damaged, newer"
            " FROM sessions JOIN places ON places.number = sessions.place"
        )
    }
    found, stale = [], []
    for stand in stands:
        row = rows.get(stand.folder.name)
        if row is None or (row[1], row[2]) != (stand.stamp, stand.file):
            stale.append(stand)
            continue
        _, _, _, workspace, started, updated, title, events, size, damaged, newer = row
        locked = is_locked(stand.folder / "lock")
        name = SessionId(stand.folder.name)
        found.append(
            SessionSummary(
                name,
                stand.folder,
                workspace,
                started,
                updated,
                title,
                events,
                locked,
                size,
                damaged=bool(damaged),
                newer=bool(newer),
            )
        )
    return found, stale


def _put(db: sqlite3.Connection, stand: Stand, summary: SessionSummary) -> None:
    """Keep what a list shows of a session. Its texts stay, unless its log is another file or has shrunk."""
    old = db.execute("SELECT file, read_to FROM sessions WHERE name = ?", (summary.id,)).fetchone()
    if old is not None and (old[0] != stand.file or old[1] > stand.size):
        _drop(db, summary.id)
    db.execute("INSERT OR IGNORE INTO places (workspace) VALUES (?)", (summary.workspace,))
    (place,) = db.execute("SELECT number FROM places WHERE workspace = ?", (summary.workspace,)).fetchone()
    db.execute(
        "INSERT INTO sessions (name, place, started, updated, title, events, size, damaged, newer,"
        " stamp, file) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET place = excluded.place,"
        " started = excluded.started, updated = excluded.updated, title = excluded.title,"
        " events = excluded.events, size = excluded.size,"
        " damaged = excluded.damaged, newer = excluded.newer, stamp = excluded.stamp, file = excluded.file",
        (
            summary.id,
            place,
            summary.started,
            summary.updated,
            summary.title,
            summary.events,
            summary.size_bytes,
            summary.damaged,
            summary.newer,
            stand.stamp,
            stand.file,
        ),
    )


def _drop(db: sqlite3.Connection, name: str) -> None:
    row = db.execute("SELECT number FROM sessions WHERE name = ?", (name,)).fetchone()
    if row is not None:
        db.execute("DELETE FROM words WHERE rowid IN (SELECT number FROM texts WHERE session = ?)", row)
        db.execute("DELETE FROM texts WHERE session = ?", row)
        db.execute("DELETE FROM sessions WHERE number = ?", row)


def _read(db: sqlite3.Connection, stand: Stand) -> None:
    """Take in what is new in a session's log."""
    summary = summarise(stand.folder)
    if summary is None:
        return
    _put(db, stand, summary)
    number, place, offset = db.execute(
        "SELECT number, place, read_to FROM sessions WHERE name = ?", (summary.id,)
    ).fetchone()
    for piece in pieces_from(stand.folder, offset, stand.size):
        offset += len(piece)
        for each in searched(piece, stand.folder):
            row = (number, each.seq, each.at, each.kind)
            text = db.execute("INSERT INTO texts (session, seq, at, kind) VALUES (?, ?, ?, ?)", row).lastrowid
            db.execute(
                "INSERT INTO words (rowid, text, place) VALUES (?, ?, ?)", (text, each.text, f"w{place}")
            )
    db.execute("UPDATE sessions SET read_to = ? WHERE number = ?", (offset, number))
