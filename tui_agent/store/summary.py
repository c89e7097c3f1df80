"""What a list shows of a session: from the ends of its log, and what `store.session_stats` counts of it.

Invariant: nothing is parsed but the first line, the last ones, and those that give a title or a figure.
"""

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from tui_agent.folds.session.branches import Stretch, on_branch
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.session import SessionForked, SessionStarted, SessionTitled, WorkspaceMoved
from tui_agent.protocol.ids import SessionId
from tui_agent.store.blobs import BlobStore
from tui_agent.store.chunks import first_line
from tui_agent.store.line import decode
from tui_agent.store.lineage import Strand, blobs_of, lineage
from tui_agent.store.lock import is_locked
from tui_agent.store.reader import tail_bytes
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import end_of, lines, records, seq_of
from tui_agent.store.session_stats import Figures, Outcome, counted, figures, outcome

_MOST_MOVES = 8
_HEAD_BYTES, _TAIL_BYTES, _LONG_TAIL_BYTES = 16 * 1024, 4 * 1024, 128 * 1024
_TITLED = b'"payload":{"kind":"session.titled"'
_PLACED = (b'"payload":{"kind":"session.started"', b'"payload":{"kind":"env.started"')
_FORKED = b'"payload":{"kind":"session.forked"'
_MOVED = b'"payload":{"kind":"session.workspace_moved"'


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as a list shows it. `updated` is the time of its last event, `events` how many it has.

    `figures` is None for a log that is too long to be counted for a list. `outcome` is how its newest turn stands.
    `parent` and `forked_at` tell whose event it was forked from; empty for one that begins itself.
    `damaged`: its beginning cannot be read; then `workspace` is what another event says, empty where none does.
    `newer`: a newer version of the product wrote its beginning or its end; it can be listed and read, not opened.
    """

    id: SessionId
    path: Path
    workspace: str
    started: float
    updated: float
    title: str
    events: int
    locked: bool
    size_bytes: int
    damaged: bool = False
    newer: bool = False
    figures: Figures | None = None
    outcome: Outcome = "empty"
    model: str = ""
    parent: str = ""
    forked_at: int | None = None

    @property
    def state(self) -> str:
        """`outcome` in view of who holds it: a turn without an end is `running`, or was `stopped` by a crash."""
        return self.outcome if self.outcome != "open" else "running" if self.locked else "stopped"


def summarise(folder: Path, known: Figures | None = None) -> SessionSummary | None:
    """A session's summary from its log's ends; None where nothing readable stands at either.

    `known` is what was counted of the log before; a long log is not counted for this.
    """
    path = folder / EVENTS
    blobs = blobs_of(folder)
    try:
        size = path.stat().st_size
        last, stands = _end(path, size, blobs)
        sums = figures(folder, size, blobs, known)
        named = sums or _ends_of(path, blobs, known)
        first = decode(first_line(folder), blobs)
    except OSError:
        return None
    start = first if isinstance(first, Envelope) else None
    if first is None and last is None:
        return None
    foreign = first if _is_newer(first) else None
    workspace, title = _inherited(folder, start)
    origin = start.payload if start is not None and isinstance(start.payload, SessionForked) else None
    if start is None:
        start = last if isinstance(last, Envelope) else None
        workspace = _told(foreign, "workspace") or _place_of(path, size)
        title = _told(foreign, "title")
    return SessionSummary(
        id=SessionId(folder.name),
        path=folder,
        workspace=named.workspace or workspace,
        started=foreign.at if foreign else (start.at if start else 0.0),
        updated=last.at if last else (start.at if start else 0.0),
        title=named.title or title,
        events=last.seq + 1 if last else 0,
        locked=is_locked(folder / "lock"),
        size_bytes=size,
        damaged=not isinstance(first, Envelope) and foreign is None,
        newer=foreign is not None or _is_newer(last),
        figures=sums,
        outcome=stands,
        model=named.model,
        parent=origin.parent_session if origin else "",
        forked_at=origin.at_seq if origin else None,
    )


def _ends_of(path: Path, blobs: BlobStore, known: Figures | None) -> Figures:
    """Title and model of a log that is too long to be counted now: the newest at its end, else what was known."""
    end = counted(tail_bytes(path, _LONG_TAIL_BYTES), known or Figures(), blobs)
    if end.title and end.model and end.workspace:
        return end
    with path.open("rb") as log:
        head = counted(log.read(_HEAD_BYTES), Figures(), blobs)
    return replace(
        end,
        title=end.title or head.title,
        model=end.model or head.model,
        workspace=end.workspace or head.workspace,
    )


def _is_newer(record: Record | None) -> TypeGuard[UnknownEvent]:
    return isinstance(record, UnknownEvent) and record.newer


def _told(record: UnknownEvent | None, field: str) -> str:
    """What the first line of a newer version says in a field that was there before."""
    payload = record.raw.get("payload") if record is not None else None
    value = payload.get(field) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def _place_of(path: Path, size: int) -> str:
    """The workspace, from any event that tells it."""
    for mark in _PLACED:
        for payload, _ in _from_the_end(path, size, mark):
            match payload:
                case SessionStarted(workspace=workspace):
                    return workspace
                case EnvStarted(environment="local", root=root):
                    return root
                case _:
                    pass
    return ""


def _first(folder: Path) -> Envelope | None:
    record = decode(first_line(folder), blobs_of(folder))
    return record if isinstance(record, Envelope) else None


def _inherited(folder: Path, start: Envelope | None) -> tuple[str, str]:
    """Workspace and first title, as the first line says them, or for a fork what it was forked from."""
    match start and start.payload:
        case SessionStarted(workspace=workspace, title=title):
            if start is not None and start.session != folder.name:
                workspace = _forked_to(folder / EVENTS) or workspace
            return workspace, title
        case SessionForked(changed=changed):
            elders = lineage(folder).elders
            return changed.workspace or _workspace(elders), _elder_title(elders)
    return "", ""


def _workspace(elders: Sequence[Strand]) -> str:
    for strand in reversed(elders):
        moved = _moved_to(strand.folder / EVENTS, strand.kept)
        if moved:
            return moved
        start = _first(strand.folder)
        if start is not None and isinstance(start.payload, SessionStarted):
            return start.payload.workspace
        forked = start.payload if start is not None else None
        if isinstance(forked, SessionForked) and forked.changed.workspace:
            return forked.changed.workspace
    return ""


def _moved_to(path: Path, kept: Sequence[Stretch] | None) -> str:
    """The folder to which a parent had moved by then, if it had."""
    for payload, seq in _from_the_end(path, path.stat().st_size, _MOVED):
        if isinstance(payload, WorkspaceMoved) and (kept is None or on_branch(seq, kept)):
            return payload.workspace
    return ""


def _elder_title(elders: Sequence[Strand]) -> str:
    for strand in reversed(elders):
        path = strand.folder / EVENTS
        title = _title(path, path.stat().st_size, strand.kept)
        if title:
            return title
    start = _first(elders[0].folder) if elders else None
    return start.payload.title if start and isinstance(start.payload, SessionStarted) else ""


def _end(path: Path, size: int, blobs: BlobStore) -> tuple[Record | None, Outcome]:
    """The last whole record, and how the session stands: from as little of the log's end as tells it."""
    last: Record | None = None
    data, moved_to = b"", None
    for reach in (_TAIL_BYTES, _LONG_TAIL_BYTES):
        whole = size <= max(reach, _HEAD_BYTES)
        data = path.read_bytes() if whole else tail_bytes(path, reach)
        last = last or _last(data, blobs)
        stands, moved_to = outcome(data, blobs, whole=whole)
        if whole or (last is not None and stands):
            return last, stands
    return last, _outcome_further(path, data, moved_to, blobs)


def _outcome_further(path: Path, data: bytes, moved_to: int | None, blobs: BlobStore) -> Outcome:
    """How a session stands whose head was moved to before all of these lines, its last: from what stands there."""
    stands: Outcome = ""
    asked: set[int] = set()
    while moved_to is not None and moved_to not in asked and len(asked) < _MOST_MOVES:
        asked.add(moved_to)
        end = end_of(path, moved_to)
        begin = max(0, end - _LONG_TAIL_BYTES)
        with path.open("rb") as log:
            log.seek(begin)
            piece = log.read(end - begin)
        whole_lines = piece if begin == 0 else piece[piece.find(b"\n") + 1 :]
        data = whole_lines + data
        stands, moved_to = outcome(data, blobs, whole=begin == 0)
        if stands:
            return stands
    return "open"  # a turn so long that nothing else stands in all of it


def _last(data: bytes, blobs: BlobStore) -> Record | None:
    """The last whole record in these bytes, behind which a torn one may stand."""
    for _, line in reversed(list(lines(data))):
        if seq_of(line) is None:
            continue
        found = list(records(line + b"\n", blobs))
        if found:
            return found[-1]
    return None


def _title(path: Path, size: int, kept: Sequence[Stretch] | None = None) -> str:
    """The newest title (on these stretches)."""
    for payload, seq in _from_the_end(path, size, _TITLED):
        if isinstance(payload, SessionTitled) and (kept is None or on_branch(seq, kept)):
            return payload.title
    return ""


def _forked_to(path: Path) -> str:
    """The workspace of a fork that was made whole, where it has one of its own."""
    for payload, _ in _from_the_end(path, path.stat().st_size, _FORKED):
        if isinstance(payload, SessionForked) and payload.changed.workspace:
            return payload.changed.workspace
    return ""


def _from_the_end(path: Path, size: int, mark: bytes) -> Iterator[tuple[Payload, int]]:
    """Events of one kind with their `seq`, by a search of the bytes from the end: a log is never parsed for them."""
    if size == 0:
        return
    with path.open("rb") as log, mmap.mmap(log.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = size
        while (found := data.rfind(mark, 0, end)) >= 0:
            start = data.rfind(b"\n", 0, found) + 1
            stop = data.find(b"\n", found)
            record = decode(data[start : stop if stop >= 0 else size])
            if isinstance(record, Envelope):
                yield record.payload, record.seq
            end = found
