"""What is wrong with a stored session, in words.

Invariant: looks only; whatever it meets is told, never raised.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, Record
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SessionForked
from tui_agent.store.chunks import pieces
from tui_agent.store.line import decode, intact, version_of
from tui_agent.store.lineage import blobs_of, lineage
from tui_agent.store.reader import history_lines
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import lines

_NAMED = re.compile(rb'"(?:blob_sha256|blob_json|payload_blob)":"([0-9a-f]{64})"')

Look = Callable[[Path], list[str]]
"""Says what is wrong with something else in a session's folder."""


def verify(folder: Path, *others: Look) -> list[str]:
    """What is wrong with the session in a folder; empty where nothing is. `others` look at what lies beside the log."""
    try:
        fault = lineage(folder).fault
        found = [] if fault is None else [fault.message]
        found += [
            *_newer(folder),
            *_damage(folder),
            *_gaps(folder, whole=fault is None),
            *_lost_texts(folder),
        ]
    except OSError as problem:
        return [f"The log cannot be read: {problem.strerror or problem}."]
    for look in others:
        found += look(folder)
    return found


def _newer(folder: Path) -> Iterator[str]:
    """Events, the session's own or its parents', of a version that this product does not know."""
    versions = [version_of(line) for line, _ in history_lines(folder)]
    newer = [version for version in versions if version > SCHEMA_VERSION]
    if newer:
        events = "1 event was" if len(newer) == 1 else f"{len(newer)} events were"
        yield (
            f"{events} written by a newer version of tui-agent (log version {max(newer)}, this one knows "
            f"{SCHEMA_VERSION}); what is new in them could not be looked at."
        )


def _damage(folder: Path) -> Iterator[str]:
    """Bytes of the session's own log that are no event. What is appended meanwhile is not looked at.

    A line of which half was there at first is no fault if the log has grown since: somebody was just writing it.
    """
    number = length = 0
    log = folder / EVENTS
    size = log.stat().st_size
    for piece in pieces(folder, size=size):
        for _, line in lines(piece):
            number, length = number + 1, length + len(line) + 1
            if not intact(line) or decode(line) is None:
                yield f"Line {number} of the log is damaged."
    rest = size - length
    if rest > 0 and log.stat().st_size == size:
        yield f"The log ends within a line, with {rest} bytes of it."
    if not number:
        yield "The log holds no event."


def _gaps(folder: Path, *, whole: bool) -> Iterator[str]:
    """Numbers that are missing. What a fork took over from a branch may have gaps, where the head had moved."""
    seen: set[int] = set()
    last, moved = -1, list[str]()
    for _, record in history_lines(folder):
        if not seen and not whole:
            seen, last = {record.parent if record.parent is not None else -1}, record.seq - 1
        told = _missing(last, record)
        if told and record.parent != record.seq - 1 and record.parent in seen:
            moved.append(told)
        elif told:
            yield told
        if isinstance(record, Envelope) and isinstance(record.payload, SessionForked):
            moved.clear()
        if record.parent is not None and record.parent not in seen and not told:
            yield f"Event {record.seq} goes on from event {record.parent}, which is missing."
        seen.add(record.seq)
        last = record.seq
    yield from moved


def _missing(last: int, record: Record) -> str:
    if record.seq == last + 1:
        return ""
    if record.seq == last + 2:
        return f"Event {last + 1} is missing."
    return f"Events {last + 1} to {record.seq - 1} are missing."


def _lost_texts(folder: Path) -> Iterator[str]:
    """Blobs that events name and that are not there, or not what their name says."""
    blobs = blobs_of(folder)
    checked: set[str] = set()
    for line, record in history_lines(folder):
        for digest in named_by(line, record):
            if digest not in checked and blobs.find(digest) is None:
                yield f"The text {digest[:12]} that event {record.seq} names is missing or damaged."
            checked.add(digest)


def named_by(line: bytes, record: Record) -> set[str]:
    """The blobs that an event needs."""
    found = {digest.decode() for digest in _NAMED.findall(line)}
    if isinstance(record, Envelope) and isinstance(record.payload, FileChanged):
        found |= {digest for digest in (record.payload.before, record.payload.after) if digest}
    return found
