"""Tables of the session index, and how a log is added to them.

Invariant: a row equals `summarise_session` of the log at that time; each text is added once, from where the last
update stopped.
"""

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.protocol.ids import SessionId
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_chunks import read_chunk_range
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.search_text import extract_texts
from tui_agent.store.session_stats import SessionStats, count_lines
from tui_agent.store.session_summary import SessionSummary, summarise_session
from tui_agent.store.writer_lock import is_locked

SCHEMA = """
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place INTEGER NOT NULL, started REAL NOT NULL,
  updated REAL NOT NULL, title TEXT NOT NULL, events INTEGER NOT NULL, size INTEGER NOT NULL,
  damaged INTEGER NOT NULL, other_version INTEGER NOT NULL, counted_to INTEGER, turns INTEGER, cost REAL, named TEXT,
  counted_model TEXT, counted_place TEXT, outcome TEXT NOT NULL, model TEXT NOT NULL, parent TEXT NOT NULL, forked_at INTEGER,
  stamp TEXT NOT NULL, file INTEGER NOT NULL, read_to INTEGER NOT NULL DEFAULT 0, ends BLOB NOT NULL DEFAULT x'');
CREATE TABLE places (number INTEGER PRIMARY KEY, workspace TEXT NOT NULL UNIQUE);
CREATE TABLE texts (
  number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL);
CREATE INDEX texts_of ON texts (session);
CREATE VIRTUAL TABLE words USING fts5 (text, place, prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2');
"""


@dataclass(frozen=True, slots=True)
class LogState:
    """State of a log file: while it is equal, the log is unchanged."""

    folder: Path
    stamp: str
    file: int
    size: int

    @classmethod
    def read(cls, folder: str) -> "LogState | None":
        """Return the current state; None if there is no log."""
        try:
            status = os.stat(f"{folder}/{EVENTS_FILE}")  # noqa: PTH116 - thousands at once
        except OSError:
            return None
        return cls(Path(folder), f"{status.st_size} {status.st_mtime_ns}", status.st_ino, status.st_size)


_COLUMNS = (
    "started", "updated", "title", "events", "size", "damaged", "other_version",
    "counted_to", "turns", "cost", "named", "counted_model", "counted_place", "outcome", "model", "parent", "forked_at",
)  # fmt: skip


def known_rows(
    db: sqlite3.Connection, states: Iterable[LogState]
) -> tuple[list[SessionSummary], list[tuple[LogState, SessionStats | None]]]:
    """Return the current summaries, and the logs that need reading with their previous counts."""
    rows = {
        row[0]: row
        for row in db.execute(
            f"SELECT name, stamp, file, workspace, {', '.join(_COLUMNS)}, read_to, ends"
            " FROM sessions JOIN places ON places.number = sessions.place"
        )
    }
    current: list[SessionSummary] = []
    stale: list[tuple[LogState, SessionStats | None]] = []
    for stand in states:
        row = rows.get(stand.folder.name)
        if row is None or row[2] != stand.file:
            stale.append((stand, None))
        elif row[1] != stand.stamp:
            is_extended = _is_extended(stand, max(row[-2], row[11] or 0), row[-1])
            stale.append((stand, _figures(row[11:17]) if is_extended else None))
        else:
            current.append(_summary(stand.folder, row[3:-2]))
    return current, stale


_END_BYTES = 24
"""Bytes kept of a line's end; they include its checksum."""


def _is_extended(stand: LogState, known: int, ends: bytes) -> bool:
    """Return True if a log only grew since byte `known`: after a crash it may have lost its end and got
    another.
    """
    return known <= stand.size and _read_end(stand, known) == ends


def _read_end(stand: LogState, known: int) -> bytes:
    """Return the bytes before an offset of a log; empty if the log is gone."""
    try:
        with (stand.folder / EVENTS_FILE).open("rb") as log:
            log.seek(max(0, known - _END_BYTES))
            return log.read(min(known, _END_BYTES))
    except FileNotFoundError:
        return b""


def _figures(row: tuple[Any, ...]) -> SessionStats | None:
    counted_to, turns, cost, named, model, place = row
    return None if counted_to is None else SessionStats(turns, cost, named, model, place, counted_to)


def _summary(folder: Path, row: tuple[Any, ...]) -> SessionSummary:
    workspace, started, updated, title, events, size, damaged, other_version = row[:8]
    outcome, model, parent, forked_at = row[14:]
    return SessionSummary(
        SessionId(folder.name),
        folder,
        workspace,
        started,
        updated,
        title,
        events,
        is_locked(f"{folder}/lock"),
        size,
        is_damaged=bool(damaged),
        is_other_version=bool(other_version),
        stats=_figures(row[8:14]),
        outcome=outcome,
        model=model,
        parent=parent,
        forked_at=forked_at,
    )


def save_summary(db: sqlite3.Connection, state: LogState, summary: SessionSummary) -> None:
    """Save a session's list row. Its texts stay, unless its log is another file or was rewritten."""
    columns = "file, max(read_to, coalesce(counted_to, 0)), ends"
    old = db.execute(f"SELECT {columns} FROM sessions WHERE name = ?", (summary.id,)).fetchone()
    if old is not None and (old[0] != state.file or not _is_extended(state, old[1], old[2])):
        delete_session(db, summary.id)
    db.execute("INSERT OR IGNORE INTO places (workspace) VALUES (?)", (summary.workspace,))
    (place,) = db.execute("SELECT number FROM places WHERE workspace = ?", (summary.workspace,)).fetchone()
    sums = summary.stats
    counted = (
        (sums.read_to, sums.turns, sums.cost_usd, sums.title, sums.model, sums.workspace)
        if sums
        else (None,) * 6
    )
    db.execute(
        _PUT,
        (
            summary.id,
            place,
            state.stamp,
            state.file,
            summary.started,
            summary.updated,
            summary.title,
            summary.events,
            summary.size_bytes,
            summary.is_damaged,
            summary.is_other_version,
            *counted,
            summary.outcome,
            summary.model,
            summary.parent,
            summary.forked_at,
        ),
    )
    _save_end(db, state, summary.id)


def _save_end(db: sqlite3.Connection, stand: LogState, name: str) -> None:
    """Save the bytes before the last known offset of a log."""
    known = "max(read_to, coalesce(counted_to, 0))"
    (end,) = db.execute(f"SELECT {known} FROM sessions WHERE name = ?", (name,)).fetchone()
    db.execute("UPDATE sessions SET ends = ? WHERE name = ?", (_read_end(stand, end), name))


_STORED = ("place", "stamp", "file", *_COLUMNS)
_PUT = (
    f"INSERT INTO sessions (name, {', '.join(_STORED)}) VALUES (?{', ?' * len(_STORED)})"
    f" ON CONFLICT (name) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _STORED)}"
)


def delete_session(db: sqlite3.Connection, name: str) -> None:
    row = db.execute("SELECT number FROM sessions WHERE name = ?", (name,)).fetchone()
    if row is not None:
        db.execute("DELETE FROM words WHERE rowid IN (SELECT number FROM texts WHERE session = ?)", row)
        db.execute("DELETE FROM texts WHERE session = ?", row)
        db.execute("DELETE FROM sessions WHERE number = ?", row)


MAX_BYTES_AT_ONCE = 64 * 1024 * 1024
"""Most bytes of a log indexed at once; an interrupted update continues from there."""


def index_log(db: sqlite3.Connection, state: LogState, max_bytes: int = MAX_BYTES_AT_ONCE) -> bool:
    """Index what is new in a session's log; return True if some of it is left for the next call."""
    before = db.execute(
        "SELECT counted_to, turns, cost, named, counted_model, counted_place, file,"
        " max(read_to, coalesce(counted_to, 0)), ends FROM sessions WHERE name = ?",
        (state.folder.name,),
    ).fetchone()
    grew = before is not None and before[6] == state.file and _is_extended(state, *before[7:])
    known = _figures(before[:6]) if grew else None
    summary = summarise_session(state.folder, known)
    if summary is None:
        return False
    save_summary(db, state, summary)
    number, place, offset = db.execute(
        "SELECT number, place, read_to FROM sessions WHERE name = ?", (summary.id,)
    ).fetchone()
    end = min(state.size, offset + max_bytes)
    for piece in read_chunk_range(state.folder, offset, end):
        for text_entry in extract_texts(piece, state.folder):
            row = (number, text_entry.seq, text_entry.time, text_entry.kind)
            text = db.execute("INSERT INTO texts (session, seq, at, kind) VALUES (?, ?, ?, ?)", row).lastrowid
            db.execute(
                "INSERT INTO words (rowid, text, place) VALUES (?, ?, ?)",
                (text, text_entry.text, f"w{place}"),
            )
        offset += len(piece)
    is_unfinished: bool = end < state.size
    if summary.stats is None and not is_unfinished:  # too long to count for a list
        sums, blobs = known or SessionStats(), open_blobs(state.folder)
        for piece in read_chunk_range(state.folder, sums.read_to, state.size):
            sums = count_lines(piece, sums, blobs)
        save_summary(db, state, summarise_session(state.folder, sums) or summary)
    db.execute("UPDATE sessions SET read_to = ? WHERE number = ?", (offset, number))
    _save_end(db, state, summary.id)
    return is_unfinished
