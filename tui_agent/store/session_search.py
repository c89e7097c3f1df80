"""Full-text search for events and sessions: in the session index or, without an index, in the logs.

Invariant: no search text raises an error.
"""
# Both searches match words by their beginning. Only the search in the logs matches inside words. Only the search in the
# index ignores accents.

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.ids import SessionId
from tui_agent.store.log_chunks import read_chunk_range
from tui_agent.store.session_index_rows import LogState, extract_texts
from tui_agent.store.session_summary import summarise_session

MAX_HITS = 100_000
"""Maximum number of hits that a search reads, newest first."""
MAX_SNIPPETS = 500
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
class SearchHit:
    """An event that matches a search.

    - `snippet`: part of the event's text around the match.
    - `hit_count`: number of all matches of the session, if the search returns only its newest match.
    """

    session: SessionId
    title: str
    workspace: str
    seq: int
    time: float
    kind: str
    snippet: str
    hit_count: int = 1


def _match_expression(db: sqlite3.Connection, text: str, workspace: str | None) -> str:
    """Return the query of SQLite's full-text search for some words; empty if nothing can match."""
    query = " ".join(f'text:"{word}"*' for word in split_words(text))
    if workspace is None or not query:
        return query
    place = db.execute("SELECT number FROM places WHERE workspace = ?", (workspace,)).fetchone()
    return f"place:w{place[0]} AND {query}" if place is not None else ""


def find_events(db: sqlite3.Connection, text: str, workspace: str | None, limit: int) -> list[SearchHit]:
    """Return up to `limit` matching events from the index, newest first."""
    query = _match_expression(db, text, workspace)
    rows = db.execute(_SEARCH, (query, limit)).fetchall() if query else []
    return [SearchHit(SessionId(name), *rest) for name, *rest in rows]


def find_sessions(db: sqlite3.Connection, text: str, workspace: str | None) -> list[SearchHit]:
    """Return one hit per session from the index."""
    query = _match_expression(db, text, workspace)
    rows = db.execute(_SEARCH_SESSIONS, (query, MAX_HITS)).fetchall() if query else []
    hits: list[SearchHit] = []
    for name, title, place, seq, time, kind, number, places in rows:
        snippet = ""
        if len(hits) < MAX_SNIPPETS:
            (full_text,) = db.execute("SELECT text FROM words WHERE rowid = ?", (number,)).fetchone()
            snippet = _cut_snippet(full_text, _find_word(full_text, split_words(text)))
        hits.append(SearchHit(SessionId(name), title, place, seq, time, kind, snippet, places))
    return hits


def newest_per_session(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Return the last hit of each session, with the session's number of hits."""
    newest: dict[str, SearchHit] = {}
    for hit in hits:
        previous = newest.get(hit.session)
        newest[hit.session] = replace(hit, hit_count=1 if previous is None else previous.hit_count + 1)
    return list(newest.values())


def _find_word(text: str, words: Sequence[str]) -> int:
    """Return the position of the first of `words` in `text`, or 0 if no word is found."""
    folded = text.casefold()
    return max(
        0, min((position for word in words if (position := folded.find(word.casefold())) >= 0), default=0)
    )


def split_words(text: str) -> list[str]:
    """Return the searchable words of a text."""
    # The words are quoted in the query, so a quotation mark inside one would end it.
    return [word for word in text.replace('"', " ").replace("\0", " ").split() if any(map(str.isalnum, word))]


def scan_logs(states: Sequence[LogState], words: Sequence[str], workspace: str | None) -> Iterator[SearchHit]:
    """Search all logs for events that contain all `words`, newest session first."""
    folded_words = [word.casefold() for word in words]
    for state in sorted(states, key=lambda state: state.folder.name, reverse=True) if folded_words else ():
        summary = summarise_session(state.folder)
        if summary is None or workspace not in (None, summary.workspace):
            continue
        for piece in read_chunk_range(state.folder, 0, state.size):
            for entry in extract_texts(piece, state.folder):
                text = entry.text.casefold()
                if all(word in text for word in folded_words):
                    snippet = _cut_snippet(entry.text, text.find(folded_words[0]))
                    yield SearchHit(
                        summary.id,
                        summary.title,
                        summary.workspace,
                        entry.seq,
                        entry.time,
                        entry.kind,
                        snippet,
                    )


def _cut_snippet(text: str, position: int) -> str:
    start, end = max(0, position - 40), position + 80
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
