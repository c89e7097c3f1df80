"""What is kept of a repository between maps: one SQLite file in the user's cache folder.

Invariant: it can be deleted at any time, and whatever is wrong with it costs only the time to build it anew; nothing is
unpickled; readers never wait for a writer. The same files give the same content, however it came about.
"""

import hashlib
import json
import os
import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tui_agent.context.repomap.commits import Commits
from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.views import Symbol

VERSION = 8
"""Of the tables and of how words are cut; another one is built anew."""
BUSY_MS = 5_000
_FIELDS = "id, path, size, mtime, inode, reason, language, rank"
_SCHEMA = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files(id INTEGER PRIMARY KEY, path BLOB UNIQUE NOT NULL, size INTEGER, mtime INTEGER, inode INTEGER,
  language TEXT NOT NULL, reason TEXT NOT NULL, rank REAL NOT NULL DEFAULT 0);
CREATE TABLE details(id INTEGER PRIMARY KEY, symbols BLOB NOT NULL, refs BLOB NOT NULL, defs BLOB NOT NULL,
  words BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(path, names, body, content='', tokenize='ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
CREATE TABLE edges(id INTEGER PRIMARY KEY, outs BLOB NOT NULL, ins BLOB NOT NULL);
CREATE TABLE commits(id INTEGER PRIMARY KEY, sha TEXT UNIQUE NOT NULL, files TEXT NOT NULL);
CREATE VIRTUAL TABLE messages USING fts5(text, tokenize='ascii');
"""


class Found(NamedTuple):
    """What was found in one file. `reason` says why it has no words; `refs` are packed hashes of the names in it, `defs`
    of those that it defines."""

    entry: Entry
    language: str
    reason: str
    symbols: tuple[Symbol, ...] = ()
    refs: bytes = b""
    defs: bytes = b""
    path_words: str = ""
    name_words: str = ""
    body_words: str = ""


class Known(NamedTuple):
    """A file of the index."""

    id: int
    entry: Entry
    reason: str
    language: str
    rank: float


def place(folder: Path, root: Path, variant: str = "") -> Path:
    """Where the index of the repository at `root` is kept; another `variant` has another one."""
    mark = hashlib.sha256(os.fsencode(os.path.realpath(root)) + variant.encode()).hexdigest()[:16]
    name = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in root.name)
    return folder / f"{name[:40] or 'root'}-{mark}.sqlite3"


def remove(path: Path) -> None:
    """Delete an index with what SQLite keeps beside it."""
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{end}").unlink()


class Kept:
    """An open index. `key` is what it depends on beside the files; another one makes it empty. Not thread-safe.

    Raises `sqlite3.Error` where it cannot be used; see `opened`.
    """

    def __init__(self, path: Path, key: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._db = sqlite3.connect(
            path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self.commits = Commits(self._db)
        try:
            self._db.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            if not self._fits(key):
                self._rebuild(key)
            path.chmod(0o600)
            self._path, self._inode = path, path.stat().st_ino
        except sqlite3.Error:
            self._db.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def in_place(self) -> bool:
        """Whether the file is still the one at its path: nobody has deleted it."""
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False

    def _fits(self, key: str) -> bool:
        if self._db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return False
        return self.meta("key") == key

    def _rebuild(self, key: str) -> None:
        with self.writing():
            if self._db.execute("PRAGMA user_version").fetchone()[0] == VERSION and self.meta("key") == key:
                return
            for name in ("vocabulary", "words", "messages", "meta", "files", "details", "edges", "commits"):
                self._db.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in _SCHEMA.split(";"):
                if statement.strip():
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={VERSION}")
            self.set_meta("key", key)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction; all of it or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def meta(self, name: str) -> str:
        """A remembered value; empty where there is none."""
        row = self._db.execute("SELECT value FROM meta WHERE name=?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, name: str, value: str) -> None:
        """Remember a value."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (name, value))

    @property
    def data_version(self) -> int:
        """Changes when another connection has written."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def is_sound(self) -> bool:
        """Whether every page holds what was written; takes as long as reading the file."""
        try:
            pages = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            for table in ("words", "messages"):
                self._db.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        except sqlite3.OperationalError:
            return True  # held by another: not known to be broken
        except sqlite3.DatabaseError:
            return False
        return bool(pages == "ok")

    def files(self) -> dict[str, Known]:
        """All files of the index by their paths."""
        return self._known(self._db.execute(f"SELECT {_FIELDS} FROM files"))

    def some(self, paths: Iterable[str]) -> dict[str, Known]:
        """Those of these files that the index has."""
        found: dict[str, Known] = {}
        for path in paths:
            name = (os.fsencode(path),)
            found |= self._known(self._db.execute(f"SELECT {_FIELDS} FROM files WHERE path=?", name))
        return found

    def _known(self, rows: "sqlite3.Cursor") -> dict[str, Known]:
        found, new = {}, tuple.__new__  # thousands, each time that a process begins
        for at, name, size, mtime, inode, reason, language, rank in rows:
            path = name.decode() if name.isascii() else os.fsdecode(name)
            entry = new(Entry, (path, size, mtime, inode))
            found[path] = new(Known, (at, entry, reason, language, rank))
        return found

    def put(self, found: Iterable[Found]) -> None:
        """Write files anew; call it inside `writing`."""
        for one in found:
            path = os.fsencode(one.entry.path)
            self._forget(path)
            cursor = self._db.execute(
                "INSERT INTO files(path,size,mtime,inode,language,reason) VALUES(?,?,?,?,?,?)",
                (path, one.entry.size, one.entry.mtime_ns, one.entry.inode, one.language, one.reason),
            )
            if one.reason:
                continue
            texts = (one.path_words, one.name_words, one.body_words)
            row = cursor.lastrowid
            self._db.execute("INSERT INTO words(rowid,path,names,body) VALUES(?,?,?,?)", (row, *texts))
            self._db.execute(
                "INSERT INTO details VALUES(?,?,?,?,?)",
                (row, _packed(one.symbols), one.refs, one.defs, zlib.compress("\n".join(texts).encode(), 1)),
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Take files out; call it inside `writing`."""
        for path in paths:
            self._forget(os.fsencode(path))

    def _forget(self, path: bytes) -> None:
        row = self._db.execute("SELECT id FROM files WHERE path=?", (path,)).fetchone()
        if row is None:
            return
        kept = self._db.execute("SELECT words FROM details WHERE id=?", row).fetchone()
        if kept is not None:
            texts = zlib.decompress(kept[0]).decode().split("\n")
            self._db.execute(
                "INSERT INTO words(words,rowid,path,names,body) VALUES('delete',?,?,?,?)", (row[0], *texts)
            )
            self._db.execute("DELETE FROM details WHERE id=?", row)
        self._db.execute("DELETE FROM files WHERE id=?", row)

    def symbols(self, at: int) -> tuple[Symbol, ...]:
        """The symbols of a file, in its order."""
        row = self._db.execute("SELECT symbols FROM details WHERE id=?", (at,)).fetchone()
        return _unpacked(row[0]) if row else ()

    def all_names(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Every file's packed hashes of the names in it, and of those that it defines, in the order of their paths."""
        yield from self._db.execute(
            "SELECT details.id, refs, defs FROM files JOIN details ON details.id = files.id ORDER BY path"
        )

    def neighbours(self, at: int) -> tuple[bytes, bytes]:
        """What a file speaks of and what speaks of it, as the graph packed it; empty where it is not computed."""
        row = self._db.execute("SELECT outs, ins FROM edges WHERE id=?", (at,)).fetchone()
        return (bytes(row[0]), bytes(row[1])) if row else (b"", b"")

    def put_graph(
        self, ranks: Iterable[tuple[float, int]], edges: Iterable[tuple[int, bytes, bytes]]
    ) -> None:
        """Keep every file's rank and neighbours in place of the old ones; call it inside `writing`."""
        self._db.executemany("UPDATE files SET rank=? WHERE id=?", ranks)
        self._db.execute("DELETE FROM edges")
        self._db.executemany("INSERT INTO edges VALUES(?,?,?)", edges)

    def scores(self, term: str, weights: Sequence[float]) -> tuple["array[int]", "array[float]"]:
        """The numbers of the files in which a word occurs, and its BM25 in each; that of several words is the sum."""
        rows = self._db.execute(
            "SELECT rowid, -bm25(words,?,?,?) FROM words WHERE words MATCH ? ORDER BY rowid",
            (*weights, f'"{term}"'),
        ).fetchall()
        return array("q", [at for at, _ in rows]), array("d", [score for _, score in rows])

    def naming(self, expression: str, most: int) -> Iterator[tuple[str, tuple[Symbol, ...]]]:
        """Files among whose names there is what FTS5's `expression` says, all where it is empty, the most important first,
        with their symbols."""
        fitting = "WHERE id IN (SELECT rowid FROM words WHERE words MATCH ?) " if expression else ""
        rows = self._db.execute(
            f"SELECT path, symbols FROM files JOIN details USING (id) {fitting}ORDER BY rank DESC, path LIMIT ?",
            (*([f"names : ({expression})"] if expression else []), most),
        )
        for path, symbols in rows:
            yield os.fsdecode(path), _unpacked(symbols)

    @property
    def count(self) -> int:
        """How many files it has."""
        count: int = self._db.execute("SELECT count(*) FROM files").fetchone()[0]
        return count


def _packed(symbols: Sequence[Symbol]) -> bytes:
    return zlib.compress(
        json.dumps(symbols, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace"), 1
    )


def _unpacked(data: bytes) -> tuple[Symbol, ...]:
    return tuple(Symbol(*one) for one in json.loads(zlib.decompress(data)))


def opened(path: Path, key: str) -> Kept:
    """The index, built anew where it is broken. Raises `sqlite3.Error` or OSError where none can be kept at all."""
    try:
        return Kept(path, key)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        remove(path)
        return Kept(path, key)
