"""Commits of an index: the words of their messages and the files they changed.

Invariant: a commit and its words are added and removed together; callers write inside `Kept.writing`.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence


class Commits:
    """The commits of an open index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def known(self) -> dict[str, int]:
        """Return the row ids of the stored commits by hash."""
        return dict(self._db.execute("SELECT sha, id FROM commits"))

    def put(self, sha: str, words: str, files: Sequence[str]) -> None:
        """Store the words of a message and the files that the commit changed."""
        cursor = self._db.execute("INSERT INTO commits(sha,files) VALUES(?,?)", (sha, json.dumps(files)))
        self._db.execute("INSERT INTO messages(rowid,text) VALUES(?,?)", (cursor.lastrowid, words))

    def forget(self, ids: Iterable[int]) -> None:
        """Remove these commits."""
        rows = [(row_id,) for row_id in ids]
        self._db.executemany("DELETE FROM messages WHERE rowid=?", rows)
        self._db.executemany("DELETE FROM commits WHERE id=?", rows)

    def like(self, expression: str, most: int) -> list[tuple[float, str, list[str]]]:
        """Return BM25 score, words and files of commits with matching messages, best first."""
        rows = self._db.execute(
            "SELECT -score, text, files FROM (SELECT rowid AS at, text, bm25(messages) AS score FROM messages"
            " WHERE messages MATCH ? ORDER BY score, rowid LIMIT ?) JOIN commits ON commits.id = at",
            (expression, most),
        )
        return [(score, text, json.loads(files)) for score, text, files in rows]
