"""Index of a repository: one SQLite file in the user's cache folder.

Invariant: a deleted or damaged index is rebuilt, and readers never wait for a writer.
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

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.map_results import Symbol

VERSION = 8
"""Version of the tables and of the rules for splitting words."""
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

SimilarCommit = tuple[float, list[str]]
"""A past commit that is similar to a question: (BM25 score of its message, changed files)."""

Names = tuple[int, bytes, bytes]
"""A file's names: (row id, packed hashes of used names, packed hashes of defined names)."""


class Commits:
    """The commits stored in an open index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def row_ids(self) -> dict[str, int]:
        """Return the row id of each stored commit by the commit's hash."""
        return dict(self._db.execute("SELECT sha, id FROM commits"))

    def add(self, sha: str, words: str, files: Sequence[str]) -> None:
        """Store a commit: the words of its message and the files that it changed."""
        cursor = self._db.execute("INSERT INTO commits(sha,files) VALUES(?,?)", (sha, json.dumps(files)))
        self._db.execute("INSERT INTO messages(rowid,text) VALUES(?,?)", (cursor.lastrowid, words))

    def forget(self, ids: Iterable[int]) -> None:
        """Remove the commits with these row ids."""
        rows = [(row_id,) for row_id in ids]
        self._db.executemany("DELETE FROM messages WHERE rowid=?", rows)
        self._db.executemany("DELETE FROM commits WHERE id=?", rows)

    def search(self, expression: str, limit: int) -> list[SimilarCommit]:
        """Return the stored commits whose messages match the FTS5 `expression`, best first."""
        rows = self._db.execute(
            "SELECT -bm25(messages) AS score, files FROM messages JOIN commits ON commits.id = messages.rowid"
            " WHERE messages MATCH ? ORDER BY score DESC, sha LIMIT ?",
            (expression, limit),
        )
        return [(score, json.loads(files)) for score, files in rows]


class IndexedFile(NamedTuple):
    """The indexed content of one file.

    `reason`: reason why the file has no words.
    `refs`: packed hashes of names that the file uses.
    `defs`: packed hashes of names that the file defines.
    """

    entry: Entry
    language: str
    reason: str
    symbols: tuple[Symbol, ...] = ()
    refs: bytes = b""
    defs: bytes = b""
    path_words: str = ""
    name_words: str = ""
    body_words: str = ""


class KnownFile(NamedTuple):
    """A file's row in the index."""

    id: int
    entry: Entry
    reason: str
    language: str
    rank: float


def index_path(folder: Path, root: Path, variant: str = "") -> Path:
    """Return the path of the index for the repository at `root`; each `variant` has its own index."""
    mark = hashlib.sha256(os.fsencode(os.path.realpath(root)) + variant.encode()).hexdigest()[:16]
    name = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in root.name)
    return folder / f"{name[:40] or 'root'}-{mark}.sqlite3"


def remove(path: Path) -> None:
    """Delete an index and its `-wal` and `-shm` files."""
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{end}").unlink()


class IndexFile:
    """An open index. Not thread-safe. Raises `sqlite3.Error` if the file cannot be used.

    `key`: identifies the index's rules and languages. An index with another key is emptied.
    """

    def __init__(self, path: Path, key: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._db = sqlite3.connect(
            # Transactions are explicit (see `transaction`). The caller's lock allows use from several threads.
            path,
            timeout=BUSY_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
        )
        self.commits = Commits(self._db)
        try:
            self._db.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            if not self._is_current(key):
                self._rebuild(key)
            # The index contains words of the user's code.
            path.chmod(0o600)
            self._path, self._inode = path, path.stat().st_ino
        except sqlite3.Error:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the index."""
        self._db.close()

    def is_in_place(self) -> bool:
        """Return True if the open file is still at its path and was not deleted."""
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False

    def _is_current(self, key: str) -> bool:
        if self._db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return False
        return self.meta("key") == key

    def _rebuild(self, key: str) -> None:
        with self.transaction():
            # Another process may have rebuilt the index while this one waited for the lock.
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
    def transaction(self) -> Iterator[None]:
        """Run the `with` block in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def meta(self, name: str) -> str:
        """Return the setting stored under `name`, or an empty string if there is none."""
        row = self._db.execute("SELECT value FROM meta WHERE name=?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, name: str, value: str) -> None:
        """Store a setting under `name`."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (name, value))

    @property
    def data_version(self) -> int:
        """A number that changes when another connection has written to the index."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def is_sound(self) -> bool:
        """Return True if the database is not damaged. Reads the whole file."""
        try:
            pages = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            for table in ("words", "messages"):
                # This is FTS5's command for a check, and writes nothing.
                self._db.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        except sqlite3.OperationalError:
            return True  # locked by another process, so no damage is known
        except sqlite3.DatabaseError:
            return False
        return bool(pages == "ok")

    def files(self) -> dict[str, KnownFile]:
        """Return all indexed files, keyed by path."""
        return self._parse_rows(self._db.execute(f"SELECT {_FIELDS} FROM files"))

    def files_at(self, paths: Iterable[str]) -> dict[str, KnownFile]:
        """Return the files of these paths that are in the index, keyed by path."""
        files: dict[str, KnownFile] = {}
        for path in paths:
            name = (os.fsencode(path),)
            files |= self._parse_rows(self._db.execute(f"SELECT {_FIELDS} FROM files WHERE path=?", name))
        return files

    def _parse_rows(self, rows: "sqlite3.Cursor") -> dict[str, KnownFile]:
        files: dict[str, KnownFile] = {}
        new = tuple.__new__  # bypasses the constructor: this creates thousands of rows at every start
        for row_id, name, size, mtime, inode, reason, language, rank in rows:
            path = name.decode() if name.isascii() else os.fsdecode(name)
            entry = new(Entry, (path, size, mtime, inode))
            files[path] = new(KnownFile, (row_id, entry, reason, language, rank))
        return files

    def add_files(self, files: Iterable[IndexedFile]) -> None:
        """Store indexed files. The caller must have opened a `transaction`."""
        for item in files:
            path = os.fsencode(item.entry.path)
            row_id, rank = self._forget(path) or (None, 0.0)
            cursor = self._db.execute(
                f"INSERT INTO files({_FIELDS}) VALUES(?,?,?,?,?,?,?,?)",
                (row_id, path, *item.entry[1:], item.reason, item.language, rank),
            )
            if item.reason:
                continue
            texts = (item.path_words, item.name_words, item.body_words)
            row = cursor.lastrowid
            self._db.execute("INSERT INTO words(rowid,path,names,body) VALUES(?,?,?,?)", (row, *texts))
            self._db.execute(
                "INSERT INTO details VALUES(?,?,?,?,?)",
                (
                    row,
                    _pack_symbols(item.symbols),
                    item.refs,
                    item.defs,
                    zlib.compress("\n".join(texts).encode(), 1),
                ),
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Remove the files at these paths. The caller must have opened a `transaction`."""
        for path in paths:
            self._forget(os.fsencode(path))

    def _forget(self, path: bytes) -> tuple[int, float] | None:
        """Remove the file at this path; return its (row id, rank), or None for an unknown path."""
        known = self._db.execute("SELECT id, rank FROM files WHERE path=?", (path,)).fetchone()
        if known is None:
            return None
        row = known[:1]
        details = self._db.execute("SELECT words FROM details WHERE id=?", row).fetchone()
        if details is not None:
            # The table `words` stores no texts (`content=''`), so FTS5 needs the same texts again to delete them.
            texts = zlib.decompress(details[0]).decode().split("\n")
            self._db.execute(
                "INSERT INTO words(words,rowid,path,names,body) VALUES('delete',?,?,?,?)", (row[0], *texts)
            )
            self._db.execute("DELETE FROM details WHERE id=?", row)
        self._db.execute("DELETE FROM files WHERE id=?", row)
        return known[0], known[1]

    def symbols(self, row_id: int) -> tuple[Symbol, ...]:
        """Return the symbols of the file with this row id, in file order."""
        row = self._db.execute("SELECT symbols FROM details WHERE id=?", (row_id,)).fetchone()
        return _unpack_symbols(row[0]) if row else ()

    def all_names(self) -> Iterator[Names]:
        """Yield the `Names` of each file with words in the index, in path order."""
        yield from self._db.execute("SELECT id, refs, defs FROM files JOIN details USING (id) ORDER BY path")

    def names(self, path: str) -> Names | None:
        """Return the names of the file at this path, or None if the file has no words in the index."""
        query = "SELECT id, refs, defs FROM files JOIN details USING (id) WHERE path=?"
        row: Names | None = self._db.execute(query, (os.fsencode(path),)).fetchone()
        return row

    def neighbours(self, row_id: int) -> tuple[bytes, bytes]:
        """Return (edges to the files that this file uses, edges from the files that use it), as packed by `graph`."""
        row = self._db.execute("SELECT outs, ins FROM edges WHERE id=?", (row_id,)).fetchone()
        return (bytes(row[0]), bytes(row[1])) if row else (b"", b"")

    def put_graph(
        self, ranks: Iterable[tuple[float, int]], edges: Iterable[tuple[int, bytes, bytes]]
    ) -> None:
        """Replace the ranks and edges of all files. The caller must have opened a `transaction`."""
        self._db.executemany("UPDATE files SET rank=? WHERE id=?", ranks)
        self._db.execute("DELETE FROM edges")
        self._db.executemany("INSERT INTO edges VALUES(?,?,?)", edges)

    def scores(self, term: str, weights: Sequence[float]) -> tuple["array[int]", "array[float]"]:
        """Return the row ids of the files with a word, and the word's BM25 score in each file.

        `weights`: factors for a match in the path, in the defined names, and in the rest of the file.
        """
        rows = self._db.execute(
            "SELECT rowid, -bm25(words,?,?,?) FROM words WHERE words MATCH ? ORDER BY rowid",
            (*weights, f'"{term}"'),
        ).fetchall()
        return array("q", [row_id for row_id, _ in rows]), array("d", [score for _, score in rows])

    def files_naming(self, expression: str, limit: int) -> Iterator[tuple[str, tuple[Symbol, ...]]]:
        """Yield (path, symbols) of files that define a matching name, highest rank first.

        `expression`: FTS5 query for the names. If empty, all files match.
        """
        condition = "WHERE id IN (SELECT rowid FROM words WHERE words MATCH ?) " if expression else ""
        rows = self._db.execute(
            f"SELECT path, symbols FROM files JOIN details USING (id) {condition}ORDER BY rank DESC, path LIMIT ?",
            (*([f"names : ({expression})"] if expression else []), limit),
        )
        for path, symbols in rows:
            yield os.fsdecode(path), _unpack_symbols(symbols)

    @property
    def count(self) -> int:
        """The number of files in the index."""
        count: int = self._db.execute("SELECT count(*) FROM files").fetchone()[0]
        return count


def _pack_symbols(symbols: Sequence[Symbol]) -> bytes:
    return zlib.compress(
        json.dumps(symbols, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace"), 1
    )


def _unpack_symbols(data: bytes) -> tuple[Symbol, ...]:
    return tuple(Symbol(*fields) for fields in json.loads(zlib.decompress(data)))


def open_index(path: Path, key: str) -> IndexFile:
    """Open the index, and rebuild a damaged one.

    Raise `sqlite3.Error` or `OSError` if the index cannot be used.
    """
    try:
        return IndexFile(path, key)
    # The base class of `OperationalError` means damage below, so the locked file must be told apart first.
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        remove(path)
        return IndexFile(path, key)
