"""What is asked of the index of all sessions, and the same asked of the logs where there is none.

Invariant: any text can be asked for; both answer alike, but for the order of words that a log spells otherwise.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tui_agent.protocol.ids import SessionId
from tui_agent.store.chunks import pieces_from
from tui_agent.store.index_rows import Stand
from tui_agent.store.search_text import searched
from tui_agent.store.summary import summarise

MOST_PLACES = 100_000
"""Places, the newest ones, in which sessions are looked for: words that stand everywhere tell none apart."""
MOST_SNIPPETS = 500
_SEARCH_SESSIONS = """
SELECT sessions.name, sessions.title, places.workspace, texts.seq, texts.at, texts.kind, texts.number, grouped.places
FROM (SELECT MAX(texts.number) AS newest, count(*) AS places
      FROM (SELECT rowid AS n FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)
      JOIN texts ON texts.number = n GROUP BY texts.session) AS grouped
JOIN texts ON texts.number = grouped.newest JOIN sessions ON sessions.number = texts.session
JOIN places ON places.number = sessions.place ORDER BY texts.number DESC
"""
_SEARCH = """
SELECT sessions.name, sessions.title, places.workspace, texts.seq, texts.at, texts.kind,
       snippet(words, 0, '', '', '…', 16)
FROM words JOIN texts ON texts.number = words.rowid JOIN sessions ON sessions.number = texts.session
     JOIN places ON places.number = sessions.place
WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class Found:
    """An event in which something was found. `snippet` is a part of its text around the place.

    Where sessions were asked for, it is the newest one of its session, and `places` says in how many it was found.
    """

    session: SessionId
    title: str
    workspace: str
    seq: int
    at: float
    kind: str
    snippet: str
    places: int = 1


def _query(db: sqlite3.Connection, text: str, workspace: str | None) -> str:
    """What the index is asked for a text; empty where nothing can be found."""
    query = " ".join(f'text:"{word}"*' for word in words_of(text))
    if workspace is None or not query:
        return query
    place = db.execute("SELECT number FROM places WHERE workspace = ?", (workspace,)).fetchone()
    return f"place:w{place[0]} AND {query}" if place is not None else ""


def events_with(db: sqlite3.Connection, text: str, workspace: str | None, limit: int) -> list[Found]:
    query = _query(db, text, workspace)
    rows = db.execute(_SEARCH, (query, limit)).fetchall() if query else []
    return [Found(SessionId(name), *rest) for name, *rest in rows]


def sessions_with(db: sqlite3.Connection, text: str, workspace: str | None) -> list[Found]:
    """One place a session. The text around it is cut here: the index would look through all that it found for each."""
    query = _query(db, text, workspace)
    rows = db.execute(_SEARCH_SESSIONS, (query, MOST_PLACES)).fetchall() if query else []
    found: list[Found] = []
    for name, title, place, seq, at, kind, number, places in rows:
        snippet = ""
        if len(found) < MOST_SNIPPETS:
            (whole,) = db.execute("SELECT text FROM words WHERE rowid = ?", (number,)).fetchone()
            snippet = _around(whole, _place_in(whole, words_of(text)))
        found.append(Found(SessionId(name), title, place, seq, at, kind, snippet, places))
    return found


def newest_of_each(found: Iterable[Found]) -> list[Found]:
    newest: dict[str, Found] = {}
    for each in found:
        before = newest.get(each.session)
        newest[each.session] = replace(each, places=1 if before is None else before.places + 1)
    return list(newest.values())


def _place_in(text: str, words: Sequence[str]) -> int:
    """Where the first of the words stands, or how it begins; 0 where the index saw it spelled otherwise."""
    folded = text.casefold()
    return max(0, min((at for word in words if (at := folded.find(word.casefold())) >= 0), default=0))


def words_of(text: str) -> list[str]:
    """The words of a text that can be searched for."""
    return [word for word in text.replace('"', " ").replace("\0", " ").split() if any(map(str.isalnum, word))]


def read_through(stands: Sequence[Stand], words: Sequence[str], workspace: str | None) -> Iterator[Found]:
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
