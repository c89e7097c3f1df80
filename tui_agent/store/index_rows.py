"""The tables of the index of all sessions, and how a log goes into them.

Invariant: a row says what `summarise` says of the log as it stood; texts are taken in once, from where the last reading
stopped.
"""

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.protocol.ids import SessionId
from tui_agent.store.chunks import pieces_from
from tui_agent.store.lineage import blobs_of
from tui_agent.store.lock import is_locked
from tui_agent.store.repair import EVENTS
from tui_agent.store.search_text import searched
from tui_agent.store.session_stats import Figures, counted
from tui_agent.store.summary import SessionSummary, summarise

SCHEMA = """
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place INTEGER NOT NULL, started REAL NOT NULL,
  updated REAL NOT NULL, title TEXT NOT NULL, events INTEGER NOT NULL, size INTEGER NOT NULL,
  damaged INTEGER NOT NULL, newer INTEGER NOT NULL, counted_to INTEGER, turns INTEGER, cost REAL, named TEXT,
  counted_model TEXT, counted_place TEXT, outcome TEXT NOT NULL, model TEXT NOT NULL, parent TEXT NOT NULL, forked_at INTEGER,
  stamp TEXT NOT NULL, file INTEGER NOT NULL, read_to INTEGER NOT NULL DEFAULT 0, ends BLOB NOT NULL DEFAULT x'');
CREATE TABLE places (number INTEGER PRIMARY KEY, workspace TEXT NOT NULL UNIQUE);
CREATE TABLE texts (
  number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL);
CREATE INDEX texts_of ON texts (session);
CREATE VIRTUAL TABLE words USING fts5 (text, place, prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2');
"""


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


_COLUMNS = (
    "started", "updated", "title", "events", "size", "damaged", "newer",
    "counted_to", "turns", "cost", "named", "counted_model", "counted_place", "outcome", "model", "parent", "forked_at",
)  # fmt: skip


def known_rows(
    db: sqlite3.Connection, stands: Iterable[Stand]
) -> tuple[list[SessionSummary], list[tuple[Stand, Figures | None]]]:
    """The summaries that are up to date, and of which logs there are none, with what was counted of each."""
    rows = {
        row[0]: row
        for row in db.execute(
            f"SELECT name, stamp, file, workspace, {', '.join(_COLUMNS)}, read_to, ends"
            " FROM sessions JOIN places ON places.number = sessions.place"
        )
    }
    found: list[SessionSummary] = []
    stale: list[tuple[Stand, Figures | None]] = []
    for stand in stands:
        row = rows.get(stand.folder.name)
        if row is None or row[2] != stand.file:
            stale.append((stand, None))
        elif row[1] != stand.stamp:
            goes_on = _goes_on(stand, max(row[-2], row[11] or 0), row[-1])
            stale.append((stand, _figures(row[11:17]) if goes_on else None))
        else:
            found.append(_summary(stand.folder, row[3:-2]))
    return found, stale


_ENDS = 24
"""Bytes of a line's end: its checksum is among them."""


def _goes_on(stand: Stand, known: int, ends: bytes) -> bool:
    """Whether a log only grew since it was known up to a byte: after a crash it may have lost its end, and got another."""
    return known <= stand.size and _ends(stand, known) == ends


def _ends(stand: Stand, known: int) -> bytes:
    """What stands before a byte of a log; nothing where it is gone meanwhile."""
    try:
        with (stand.folder / EVENTS).open("rb") as log:
            log.seek(max(0, known - _ENDS))
            return log.read(min(known, _ENDS))
    except FileNotFoundError:
        return b""


def _figures(row: tuple[Any, ...]) -> Figures | None:
    counted_to, turns, cost, named, model, place = row
    return None if counted_to is None else Figures(turns, cost, named, model, place, counted_to)


def _summary(folder: Path, row: tuple[Any, ...]) -> SessionSummary:
    workspace, started, updated, title, events, size, damaged, newer = row[:8]
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
        damaged=bool(damaged),
        newer=bool(newer),
        figures=_figures(row[8:14]),
        outcome=outcome,
        model=model,
        parent=parent,
        forked_at=forked_at,
    )


def put(db: sqlite3.Connection, stand: Stand, summary: SessionSummary) -> None:
    """Keep what a list shows of a session. Its texts stay, unless its log is another file or was written anew."""
    columns = "file, max(read_to, coalesce(counted_to, 0)), ends"
    old = db.execute(f"SELECT {columns} FROM sessions WHERE name = ?", (summary.id,)).fetchone()
    if old is not None and (old[0] != stand.file or not _goes_on(stand, old[1], old[2])):
        drop(db, summary.id)
    db.execute("INSERT OR IGNORE INTO places (workspace) VALUES (?)", (summary.workspace,))
    (place,) = db.execute("SELECT number FROM places WHERE workspace = ?", (summary.workspace,)).fetchone()
    sums = summary.figures
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
            stand.stamp,
            stand.file,
            summary.started,
            summary.updated,
            summary.title,
            summary.events,
            summary.size_bytes,
            summary.damaged,
            summary.newer,
            *counted,
            summary.outcome,
            summary.model,
            summary.parent,
            summary.forked_at,
        ),
    )
    _mark(db, stand, summary.id)


def _mark(db: sqlite3.Connection, stand: Stand, name: str) -> None:
    """Keep what stands before the last byte that is known of a log."""
    known = "max(read_to, coalesce(counted_to, 0))"
    (end,) = db.execute(f"SELECT {known} FROM sessions WHERE name = ?", (name,)).fetchone()
    db.execute("UPDATE sessions SET ends = ? WHERE name = ?", (_ends(stand, end), name))


_STORED = ("place", "stamp", "file", *_COLUMNS)
_PUT = (
    f"INSERT INTO sessions (name, {', '.join(_STORED)}) VALUES (?{', ?' * len(_STORED)})"
    f" ON CONFLICT (name) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _STORED)}"
)


def drop(db: sqlite3.Connection, name: str) -> None:
    row = db.execute("SELECT number FROM sessions WHERE name = ?", (name,)).fetchone()
    if row is not None:
        db.execute("DELETE FROM words WHERE rowid IN (SELECT number FROM texts WHERE session = ?)", row)
        db.execute("DELETE FROM texts WHERE session = ?", row)
        db.execute("DELETE FROM sessions WHERE number = ?", row)


AT_ONCE = 64 * 1024 * 1024
"""Bytes of a log that are taken in at once: whoever is stopped in a long one goes on from there the next time."""


def take_in(db: sqlite3.Connection, stand: Stand, most: int = AT_ONCE) -> bool:
    """Take in what is new in a session's log; True where that was too much for once, and more is left."""
    before = db.execute(
        "SELECT counted_to, turns, cost, named, counted_model, counted_place, file,"
        " max(read_to, coalesce(counted_to, 0)), ends FROM sessions WHERE name = ?",
        (stand.folder.name,),
    ).fetchone()
    grew = before is not None and before[6] == stand.file and _goes_on(stand, *before[7:])
    known = _figures(before[:6]) if grew else None
    summary = summarise(stand.folder, known)
    if summary is None:
        return False
    put(db, stand, summary)
    number, place, offset = db.execute(
        "SELECT number, place, read_to FROM sessions WHERE name = ?", (summary.id,)
    ).fetchone()
    end = min(stand.size, offset + most)
    for piece in pieces_from(stand.folder, offset, end):
        for each in searched(piece, stand.folder):
            row = (number, each.seq, each.at, each.kind)
            text = db.execute("INSERT INTO texts (session, seq, at, kind) VALUES (?, ?, ?, ?)", row).lastrowid
            db.execute(
                "INSERT INTO words (rowid, text, place) VALUES (?, ?, ?)", (text, each.text, f"w{place}")
            )
        offset += len(piece)
    left: bool = end < stand.size
    if summary.figures is None and not left:  # too long to be counted for a list
        sums, blobs = known or Figures(), blobs_of(stand.folder)
        for piece in pieces_from(stand.folder, sums.read_to, stand.size):
            sums = counted(piece, sums, blobs)
        put(db, stand, summarise(stand.folder, sums) or summary)
    db.execute("UPDATE sessions SET read_to = ? WHERE number = ?", (offset, number))
    _mark(db, stand, summary.id)
    return left
