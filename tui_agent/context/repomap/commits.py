"""The commits of an index: the words of their messages and the files that each touched.

Invariant: a commit and its words come and go together; what writes is called inside `Kept.writing`.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence


class Commits:
    """Those of an open index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def known(self) -> dict[str, int]:
        """The numbers of those that are kept, by their names."""
        return dict(self._db.execute("SELECT sha, id FROM commits"))

    def put(self, sha: str, words: str, files: Sequence[str]) -> None:
        """Keep the words of a message and the files that the commit touched."""
        cursor = self._db.execute("INSERT INTO commits(sha,files) VALUES(?,?)", (sha, json.dumps(files)))
        self._db.execute("INSERT INTO messages(rowid,text) VALUES(?,?)", (cursor.lastrowid, words))

    def forget(self, ids: Iterable[int]) -> None:
        """Take these out."""
        rows = [(at,) for at in ids]
        self._db.executemany("DELETE FROM messages WHERE rowid=?", rows)
        self._db.executemany("DELETE FROM commits WHERE id=?", rows)

    def like(self, expression: str, most: int) -> list[tuple[float, str, list[str]]]:
        """BM25, words and files of those whose messages match, best first."""
        rows = self._db.execute(
            "SELECT -score, text, files FROM (SELECT rowid AS at, text, bm25(messages) AS score FROM messages"
            " WHERE messages MATCH ? ORDER BY score, rowid LIMIT ?) JOIN commits ON commits.id = at",
            (expression, most),
        )
        return [(score, text, json.loads(files)) for score, text, files in rows]
