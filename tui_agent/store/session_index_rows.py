"""Tables of the session index, and the code that adds logs with their searchable texts to them.

Invariant: a row of `sessions` equals `summarise_session` of the log at the time of the update.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import UserMessageReceived, UserShellFinished, UserSteered
from tui_agent.protocol.ids import SessionId
from tui_agent.protocol.parts import Content, ModelPart, TextContent, TextPart
from tui_agent.protocol.stored_text import LongText
from tui_agent.store.blobs import BlobStore
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_chunks import read_chunk_range
from tui_agent.store.log_line import decode_line
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import split_lines
from tui_agent.store.session_stats import SessionStats, count_lines
from tui_agent.store.session_summary import SessionSummary, summarise_session
from tui_agent.store.writer_lock import is_locked

MAX_TEXT_CHARS = 64_000
"""Maximum number of searchable characters of an event. Results for the model are shorter than this."""
OUTPUT_END_CHARS = 2_000
"""Number of searchable characters at the end of a full output, which the screen shows even if the model did not get
it."""
_PAYLOAD = b'"payload":{"kind":"'
_SEARCHABLE_KINDS = (
    b"user.message",
    b"user.steered",
    b"user.shell_finished",
    b"model.responded",
    b"tool.called",
    b"tool.finished",
    b"session.titled",
)
SCHEMA = """
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place INTEGER NOT NULL, started REAL NOT NULL,
  updated REAL NOT NULL, title TEXT NOT NULL, events INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  is_damaged INTEGER NOT NULL, is_other_version INTEGER NOT NULL, outcome TEXT NOT NULL, model TEXT NOT NULL,
  parent TEXT NOT NULL, forked_at INTEGER, last_seq INTEGER NOT NULL, stats_turns INTEGER, stats_cost_usd REAL, stats_cost_precision TEXT, stats_title TEXT,
  stats_model TEXT, stats_workspace TEXT, stats_lines INTEGER, stats_read_to INTEGER,
  stamp TEXT NOT NULL, file INTEGER NOT NULL, read_to INTEGER NOT NULL DEFAULT 0, ends BLOB NOT NULL DEFAULT x'');
CREATE TABLE places (number INTEGER PRIMARY KEY, workspace TEXT NOT NULL UNIQUE);
CREATE TABLE texts (
  number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL);
CREATE INDEX texts_of ON texts (session);
CREATE VIRTUAL TABLE words USING fts5 (text, place, prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2');
"""
_SUMMARY_FIELDS = (
    "started", "updated", "title", "events", "size_bytes", "is_damaged", "is_other_version", "outcome", "model", "parent",
    "forked_at", "last_seq",
)  # fmt: skip
_STATS_FIELDS = tuple(field.name for field in fields(SessionStats))
_STORED = ("place", "stamp", "file", *_SUMMARY_FIELDS, *(f"stats_{name}" for name in _STATS_FIELDS))
_SAVE = (
    f"INSERT INTO sessions (name, {', '.join(_STORED)}) VALUES (?{', ?' * len(_STORED)})"
    f" ON CONFLICT (name) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _STORED)}"
)
_SELECT = (
    "SELECT sessions.*, workspace, max(read_to, coalesce(stats_read_to, 0)) AS known_to"
    " FROM sessions JOIN places ON places.number = sessions.place"
)
_END_BYTES = 24
"""Number of bytes that the index stores from the end of the indexed log.

If they differ later, the log was rewritten.
"""
MAX_BYTES_AT_ONCE = 64 * 1024 * 1024
"""Maximum number of bytes of a log that one transaction indexes."""


@dataclass(frozen=True, slots=True)
class SearchText:
    """The searchable text of one event."""

    seq: int
    time: float
    kind: str
    text: str


def extract_texts(piece: bytes, folder: Path) -> Iterator[SearchText]:
    """Yield the searchable texts in whole lines of a session's log."""
    blobs = open_blobs(folder)
    for _, line in split_lines(piece):
        start = line.find(_PAYLOAD) + len(_PAYLOAD)
        if not line.startswith(_SEARCHABLE_KINDS, start):
            continue
        record = decode_line(line, blobs)
        if isinstance(record, Envelope):
            text = _event_text(record, blobs)[:MAX_TEXT_CHARS]
            if text:
                yield SearchText(record.seq, record.time, record.payload.kind, text)


def _event_text(event: Envelope, blobs: BlobStore) -> str:
    match event.payload:
        case UserMessageReceived(text=text) | UserSteered(text=text):
            return _load_text(text, blobs)
        case ModelResponded(parts=parts):
            return _join_texts(parts, blobs)
        case UserShellFinished(command=command, output=output, full_output=full_output):
            return f"{command}\n{_add_end(_load_text(output, blobs), full_output, blobs)}"
        case ToolCalled(name=name, target=target, arguments=arguments):
            return "\n".join(
                [f"{name} {target}", *(text for text in _strings_in(arguments) if text != target)]
            )
        case ToolFinished(content=content, full_output=output):
            return _add_end(_join_texts(content, blobs), output, blobs)
        case SessionTitled(title=title):
            return title
    return ""


def _add_end(text: str, full_output: LongText | None, blobs: BlobStore) -> str:
    """Append the end of the full output, if the text does not contain it yet."""
    end = _load_text(full_output or "", blobs)[-OUTPUT_END_CHARS:].strip()
    return text if end in text else f"{text}\n{end}"


def _strings_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(item)


def _join_texts(parts: Iterable[ModelPart | Content], blobs: BlobStore) -> str:
    return "\n".join(
        _load_text(part.text, blobs) for part in parts if isinstance(part, TextPart | TextContent)
    )


def _load_text(text: LongText, blobs: BlobStore) -> str:
    if isinstance(text, str):
        return text
    data = blobs.find(text.blob_sha256)
    return text.preview if data is None else data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class LogState:
    """The state of a log file. Equal states mean an unchanged log."""

    folder: Path
    stamp: str
    file: int
    size: int

    @property
    def modified_at(self) -> float:
        """The time of the newest write, in seconds since the epoch."""
        return int(self.stamp.split()[1]) / 1e9

    @classmethod
    def read(cls, folder: str) -> "LogState | None":
        """Return the current state of the log in a folder; None if there is no log."""
        try:
            status = os.stat(f"{folder}/{EVENTS_FILE}")  # noqa: PTH116 - thousands at once
        except OSError:
            return None
        return cls(Path(folder), f"{status.st_size} {status.st_mtime_ns}", status.st_ino, status.st_size)


def known_rows(
    db: sqlite3.Connection, states: Iterable[LogState]
) -> tuple[list[SessionSummary], list[tuple[LogState, SessionStats | None]]]:
    """Return the summaries that are still current, and the logs that must be read for new summaries.

    Each log comes with the counts of its earlier part, so that only new lines must be counted. If the counts are None,
    all lines must be counted.
    """
    rows = {row["name"]: row for row in _select(db)}
    current: list[SessionSummary] = []
    stale: list[tuple[LogState, SessionStats | None]] = []
    for state in states:
        row = rows.get(state.folder.name)
        if row is not None and (row["file"], row["stamp"]) == (state.file, state.stamp):
            current.append(_summary(state.folder, row))
        else:
            stale.append((state, _known_stats(state, row)))
    return current, stale


def _select(db: sqlite3.Connection, name: str | None = None) -> Iterator[sqlite3.Row]:
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    condition, values = ("", ()) if name is None else (" WHERE name = ?", (name,))
    yield from cursor.execute(_SELECT + condition, values)


def _known_stats(state: LogState, row: sqlite3.Row | None) -> SessionStats | None:
    """Return the counts from the log's earlier part, or None if the whole log must be read again."""
    return _stats(row) if row is not None and _is_extended(state, row) else None


def _is_extended(state: LogState, row: sqlite3.Row) -> bool:
    """Return True if the log has only grown since its row was saved, and its earlier part is unchanged."""
    # After a crash, the end of the log can have been rewritten, so the bytes before the saved offset are compared.
    known_to: int = row["known_to"]
    return row["file"] == state.file and known_to <= state.size and _read_end(state, known_to) == row["ends"]


def _read_end(state: LogState, known_to: int) -> bytes:
    """Return the `_END_BYTES` bytes before the offset `known_to` of a log. Empty if the log no longer exists."""
    try:
        with (state.folder / EVENTS_FILE).open("rb") as log:
            log.seek(max(0, known_to - _END_BYTES))
            return log.read(min(known_to, _END_BYTES))
    except FileNotFoundError:
        return b""


def _stats(row: sqlite3.Row) -> SessionStats | None:
    if row["stats_read_to"] is None:
        return None
    return SessionStats(**{name: row[f"stats_{name}"] for name in _STATS_FIELDS})


def _summary(folder: Path, row: sqlite3.Row) -> SessionSummary:
    values = {name: row[name] for name in ("workspace", *_SUMMARY_FIELDS)}
    values |= {name: bool(row[name]) for name in ("is_damaged", "is_other_version")}
    locked = is_locked(f"{folder}/lock")
    return SessionSummary(
        id=SessionId(folder.name), path=folder, is_locked=locked, stats=_stats(row), **values
    )


def save_summary(db: sqlite3.Connection, state: LogState, summary: SessionSummary) -> None:
    """Save a session's summary in the index. Delete the session's texts if its log was rewritten."""
    old = next(_select(db, summary.id), None)
    if old is not None and not _is_extended(state, old):
        delete_session(db, summary.id)
    db.execute("INSERT OR IGNORE INTO places (workspace) VALUES (?)", (summary.workspace,))
    (place,) = db.execute("SELECT number FROM places WHERE workspace = ?", (summary.workspace,)).fetchone()
    values = [getattr(summary, name) for name in _SUMMARY_FIELDS]
    values += [getattr(summary.stats, name, None) for name in _STATS_FIELDS]
    db.execute(_SAVE, (summary.id, place, state.stamp, state.file, *values))
    _save_end(db, state, summary.id)


def _save_end(db: sqlite3.Connection, state: LogState, name: str) -> None:
    row = next(_select(db, name))
    db.execute("UPDATE sessions SET ends = ? WHERE name = ?", (_read_end(state, row["known_to"]), name))


def delete_session(db: sqlite3.Connection, name: str) -> None:
    """Delete a session's row and texts from the index."""
    row = db.execute("SELECT number FROM sessions WHERE name = ?", (name,)).fetchone()
    if row is not None:
        db.execute("DELETE FROM words WHERE rowid IN (SELECT number FROM texts WHERE session = ?)", row)
        db.execute("DELETE FROM texts WHERE session = ?", row)
        db.execute("DELETE FROM sessions WHERE number = ?", row)


def index_log(db: sqlite3.Connection, state: LogState, max_bytes: int = MAX_BYTES_AT_ONCE) -> bool:
    """Index up to `max_bytes` of new lines of a session's log. Return True if lines remain for the next call."""
    known = _known_stats(state, next(_select(db, state.folder.name), None))
    summary = summarise_session(state.folder, known)
    if summary is None:
        return False
    save_summary(db, state, summary)
    row = next(_select(db, summary.id))
    # The workspace is stored as a word of the text, so that one full-text query also selects the workspace.
    number, offset, place_word = row["number"], row["read_to"], f"w{row['place']}"
    end = min(state.size, offset + max_bytes)
    for piece in read_chunk_range(state.folder, offset, end):
        for entry in extract_texts(piece, state.folder):
            text = db.execute(
                "INSERT INTO texts (session, seq, at, kind) VALUES (?, ?, ?, ?)",
                (number, entry.seq, entry.time, entry.kind),
            ).lastrowid
            db.execute(
                "INSERT INTO words (rowid, text, place) VALUES (?, ?, ?)", (text, entry.text, place_word)
            )
        offset += len(piece)
    is_unfinished: bool = end < state.size
    if summary.stats is None and not is_unfinished:  # too long to count while a list waits
        sums, blobs = known or SessionStats(), open_blobs(state.folder)
        for piece in read_chunk_range(state.folder, sums.read_to, state.size):
            sums = count_lines(piece, sums, blobs)
        save_summary(db, state, summarise_session(state.folder, sums) or summary)
    db.execute("UPDATE sessions SET read_to = ? WHERE number = ?", (offset, number))
    _save_end(db, state, summary.id)
    return is_unfinished
