"""Reader of a log file in chunks of whole lines. A long log is never completely in memory.

Invariant: a chunk ends at the end of a line.
"""
# Files are not memory-mapped here: a reader of a mapped file crashes if a writer truncates the file.

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tui_agent.store.log_line import MAX_LINE_BYTES, intact_lines, is_intact
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import lines_with, read_seq, split_lines

CHUNK_BYTES = 256 * 1024
"""Size of one chunk in bytes."""
# A chunk of this size fits in the processor's cache, so scanning is a third faster.
_PROBE_BYTES = 2 * MAX_LINE_BYTES
"""Number of bytes that contain at least one whole line, wherever they start."""


def read_chunks(folder: Path, *, after: int = -1, size: int | None = None) -> Iterator[bytes]:
    """Yield a folder's log in chunks of whole lines.

    The first chunk starts at or shortly before the first line with `seq` > `after`. `size`: stop at this byte of the
    file; None for the whole file. Raise `OSError` when the first chunk is read.
    """
    with (folder / EVENTS_FILE).open("rb") as log:
        end = os.fstat(log.fileno()).st_size if size is None else size
        start = find_offset_before(log, end, after)
        log.seek(start)
        yield from _whole_lines(log, end - start)


def read_chunk_range(folder: Path, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a log between two offsets, both at the start of a line."""
    with (folder / EVENTS_FILE).open("rb") as log:
        log.seek(start)
        yield from _whole_lines(log, end - start)


def _whole_lines(log: BinaryIO, remaining: int) -> Iterator[bytes]:
    pending: list[bytes] = []
    while remaining > 0 and (data := log.read(min(CHUNK_BYTES, remaining))):
        remaining -= len(data)
        line_end = data.rfind(b"\n") + 1
        if line_end:
            yield b"".join((*pending, data[:line_end]))
            pending = []
        pending.append(data[line_end:])


def read_chunks_backwards(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a log in chunks, the last chunk first. Each chunk begins at the start of a line."""
    with path.open("rb") as log:
        start = os.fstat(log.fileno()).st_size
        pending: list[bytes] = []
        while start > 0:
            end, start = start, max(0, start - CHUNK_BYTES)
            log.seek(start)
            data = log.read(end - start)
            line_start = data.find(b"\n") + 1 if start else 0
            if line_start or not start:
                yield b"".join((data[line_start:], *reversed(pending)))
                pending = []
            pending.append(data[:line_start] or data)


def find_offset_before(log: BinaryIO, size: int, after: int) -> int:
    """Return the offset of a line at or shortly before the first event after `after`.

    From this line, a reader finds all later events.
    """
    # A binary search, because events are stored in the order of their numbers.
    low, high = 0, size
    while after >= 0 and high - low > 2 * _PROBE_BYTES:
        middle = (low + high) // 2
        probe = _find_line_after(log, middle, high)
        if probe is None or probe[1] > after:
            high = middle
        else:
            low = probe[0]
    return low


def _find_line_after(log: BinaryIO, offset: int, end: int) -> tuple[int, int] | None:
    """Return (offset, `seq`) of the first intact line after `offset`, or None if there is none."""
    while offset < end:
        log.seek(offset)
        data = log.read(_PROBE_BYTES)
        skipped = data.find(b"\n") + 1
        for stop, line in split_lines(data[skipped:]) if skipped else ():
            seq = read_seq(line)
            if seq is not None and is_intact(line):
                return offset + skipped + stop - len(line) - 1, seq
        offset += MAX_LINE_BYTES
    return None


def find_end_offset(path: Path, seq: int) -> int:
    """Return the offset just after event `seq`. If the log lacks this event, use the previous event."""
    with path.open("rb") as log:
        size = os.fstat(log.fileno()).st_size
        chunk_start = end = find_offset_before(log, size, seq)
        log.seek(chunk_start)
        for chunk in _whole_lines(log, size - chunk_start):
            for stop, line in split_lines(chunk):
                line_seq = _first_seq(line)
                if line_seq is None:
                    continue
                if line_seq > seq:
                    return end
                end = chunk_start + stop
            chunk_start += len(chunk)
    return end


def _first_seq(line: bytes) -> int | None:
    """Return the `seq` of the first event on a line that a reader finds, or None if there is none."""
    return next((seq for seq in map(read_seq, intact_lines(line)) if seq is not None), None)


def find_lines(folder: Path, mark: bytes, *, size: int | None = None) -> Iterator[bytes]:
    """Yield the raw lines of a log that contain `mark`, without their newlines."""
    for piece in read_chunks(folder, size=size):
        yield from lines_with(piece, mark)


def find_line(folder: Path, seq: int) -> bytes | None:
    """Return the intact line of event `seq` without its newline, or None if there is none in this log.

    The file's line can begin with the torn start of another event; the result leaves this start out.
    """
    for chunk in read_chunks(folder, after=seq - 1):
        for _, line in split_lines(chunk):
            for event_line in intact_lines(line):
                line_seq = read_seq(event_line)
                if line_seq == seq:
                    return event_line
                if line_seq is not None and line_seq > seq:
                    return None
    return None


def read_first_line(folder: Path) -> bytes:
    """Return the first line of a log without its newline; empty if there is no whole line.

    Raise `OSError` if the log cannot be read.
    """
    with (folder / EVENTS_FILE).open("rb") as log:
        line = log.readline(MAX_LINE_BYTES)
    return line[:-1] if line.endswith(b"\n") else b""
