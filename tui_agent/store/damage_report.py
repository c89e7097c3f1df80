"""Checks a stored session, quickly or completely, and describes its damage in plain sentences.

Invariant: this module only reads.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tui_agent.errors import SessionVersionError
from tui_agent.folds.text.labels import skipped_lines_notice, unknown_events_notice
from tui_agent.protocol.envelope import SCHEMA_VERSION, Record, UnknownEvent
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SessionForked
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.lineage import HistoryPart, load_lineage, open_blobs
from tui_agent.store.log_chunks import read_chunks
from tui_agent.store.log_line import decode_line, is_intact, line_version, pick_foreign_version
from tui_agent.store.log_reader import iterate_history
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import intact_seq, split_lines
from tui_agent.units import format_bytes

_BLOB_FIELDS = re.compile(rb'"(?:blob_sha256|blob_json|payload_blob)":"([0-9a-f]{64})"')

_MAX_LISTED = 10
"""Maximum number of line numbers listed in one sentence of the report."""
Check = Callable[[Path], list[str]]
"""Function that checks one kind of file in a session's folder (not the log). It returns the problems as sentences."""


def verify_session(folder: Path, *others: Check) -> list[str]:
    """Return sentences about a session's problems. `others`: functions that check files other than the log."""
    try:
        fault = load_lineage(folder).fault
        problems = [] if fault is None else [fault.message]
        problems += [
            *_check_versions(folder),
            *_check_lines(folder),
            *_check_numbers(folder, is_complete=fault is None),
            *_check_blobs(folder),
        ]
    except SessionVersionError as refusal:
        return [str(refusal)]
    except OSError as problem:
        return [f"The log cannot be read: {problem.strerror or problem}."]
    for check in others:
        problems += check(folder)
    return problems


def _check_versions(folder: Path) -> Iterator[str]:
    versions = [line_version(line) for line, _ in iterate_history(folder)]
    foreign = [version for version in versions if version != SCHEMA_VERSION]
    if foreign:
        events = "1 event was" if len(foreign) == 1 else f"{len(foreign)} events were"
        yield (
            f"{events} written by another version of tui-agent (log version {max(foreign)}, this one reads "
            f"{SCHEMA_VERSION}); fields that this version does not know were not checked."
        )


def _check_lines(folder: Path) -> Iterator[str]:
    """Report each line of the session's own log that is not an event. Ignore lines appended meanwhile."""
    number = length = 0
    log = folder / EVENTS_FILE
    size = log.stat().st_size
    for piece in read_chunks(folder, size=size):
        for _, line in split_lines(piece):
            number, length = number + 1, length + len(line) + 1
            if not is_intact(line) or decode_line(line) is None:
                yield f"Line {number} of the log is damaged."
    remaining = size - length
    # If the log has grown meanwhile, a running session was just writing the last line.
    if remaining > 0 and log.stat().st_size == size:
        yield f"The log ends in an incomplete line of {format_bytes(remaining)}."
    if not number:
        yield "The log contains no events."


def _check_numbers(folder: Path, *, is_complete: bool) -> Iterator[str]:
    """Report event numbers (`seq`) that are missing between other events.

    `is_complete` is False if events of a fork's parents are missing.
    """
    # The inherited part of a fork's log can have gaps, because undone events are not inherited.
    known: set[int] = set()
    last, head_gaps = -1, list[str]()
    for _, record in iterate_history(folder):
        if not known and not is_complete:
            known, last = {record.parent if record.parent is not None else -1}, record.seq - 1
        gap = _describe_gap(last, record)
        if gap and record.parent != record.seq - 1 and record.parent in known:
            head_gaps.append(gap)
        elif gap:
            yield gap
        if isinstance(record.payload, SessionForked):
            head_gaps.clear()
        if record.parent is not None and record.parent not in known and not gap:
            yield f"Event {record.seq} continues from event {record.parent}, which is missing."
        known.add(record.seq)
        last = record.seq
    yield from head_gaps


def _describe_gap(last: int, record: Record) -> str:
    if record.seq == last + 1:
        return ""
    if record.seq == last + 2:
        return f"Event {last + 1} is missing."
    return f"Events {last + 1} to {record.seq - 1} are missing."


def _check_blobs(folder: Path) -> Iterator[str]:
    blobs = open_blobs(folder)
    checked: set[str] = set()
    for line, record in iterate_history(folder):
        for digest in referenced_blobs(line, record):
            if digest not in checked and blobs.find(digest) is None:
                yield f"A text of event {record.seq} is missing or damaged ({digest[:12]})."
            checked.add(digest)


def referenced_blobs(line: bytes, record: Record) -> set[str]:
    """Return the digests of the blobs that an event refers to."""
    digests = {digest.decode() for digest in _BLOB_FIELDS.findall(line)}
    if isinstance(record.payload, FileChanged):
        digests |= {digest for digest in (record.payload.before, record.payload.after) if digest}
    return digests


def describe_damage(folder: Path, records: Iterable[Record]) -> list[str]:
    """Return one sentence for each problem of a session. `records` are the session's readable records.

    Raise `OSError` if the log cannot be read.
    """
    history = load_lineage(folder)
    problems: list[str] = []
    version = SCHEMA_VERSION
    for part in history.parts:
        bad, part_version = _scan_part(part)
        version = pick_foreign_version((version, part_version))
        if bad:
            log = "the log" if part is history.own else f"the log of {part.folder.name}"
            problems.append(f"{skipped_lines_notice(len(bad))} in {log}: {_format_numbers(bad)}.")
    unknown = [record for record in records if isinstance(record, UnknownEvent)]
    foreign = sum(record.is_other_version for record in unknown)
    if version != SCHEMA_VERSION:
        problems.append(
            f"{folder.name} was written by another version of tui-agent (log version {version}, this one reads "
            f"{SCHEMA_VERSION}): {format_count(foreign, 'event')} cannot be read."
        )
    if len(unknown) > foreign:
        problems.append(f"The log contains {unknown_events_notice(len(unknown) - foreign)}.")
    return problems


def _scan_part(part: HistoryPart) -> tuple[list[int], int]:
    """Return the numbers of the damaged lines in `part`, and the version of its log format."""
    damaged: list[int] = []
    version, number = SCHEMA_VERSION, 0
    for piece in read_chunks(part.folder):
        for _, line in split_lines(piece):
            number += 1
            seq = intact_seq(line)
            if seq is None:
                damaged.append(number)
            elif seq > part.last:
                return damaged, version
            else:
                version = pick_foreign_version((version, line_version(line)))
    return damaged, version


def _format_numbers(bad: list[int]) -> str:
    listed = ", ".join(str(number) for number in bad[:_MAX_LISTED])
    rest = f" and {len(bad) - _MAX_LISTED} more" if len(bad) > _MAX_LISTED else ""
    return f"{'line' if len(bad) == 1 else 'lines'} {listed}{rest}"
