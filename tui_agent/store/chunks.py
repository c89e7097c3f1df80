"""A log's file in pieces of whole lines, so that no reader holds a long log in memory.

Invariant: a piece ends where a line ends. Files are read, never mapped: a writer that cuts a torn end off would end a
program that looks at it through a map.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tui_agent.store.line import LINE_LIMIT, intact
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import lines, seq_of

PIECE = 256 * 1024
"""Bytes; what fits into a processor's cache is gone through a third faster."""
_LOOK = 2 * LINE_LIMIT


def pieces(folder: Path, *, after: int = -1, size: int | None = None) -> Iterator[bytes]:
    """The log of a folder from about the line behind `after` on, up to the byte `size` of the file.

    A last line without its end is left out. Raises OSError, with the first piece.
    """
    with (folder / EVENTS).open("rb") as log:
        end = os.fstat(log.fileno()).st_size if size is None else size
        start = offset_before(log, end, after)
        log.seek(start)
        yield from _whole_lines(log, end - start)


def pieces_from(folder: Path, start: int, end: int) -> Iterator[bytes]:
    """The bytes of a log between two places in its file, where a line begins and where the last whole one ends."""
    with (folder / EVENTS).open("rb") as log:
        log.seek(start)
        yield from _whole_lines(log, end - start)


def _whole_lines(log: BinaryIO, left: int) -> Iterator[bytes]:
    rest: list[bytes] = []
    while left > 0 and (new := log.read(min(PIECE, left))):
        left -= len(new)
        cut = new.rfind(b"\n") + 1
        if cut:
            yield b"".join((*rest, new[:cut]))
            rest = []
        rest.append(new[cut:])


def offset_before(log: BinaryIO, size: int, after: int) -> int:
    """Where a line begins that lies at or before the first one with `seq` > `after`: found by halves.

    No whole line with a `seq` up to `after` lies further behind it than four long lines.
    """
    low, high = 0, size
    while after >= 0 and high - low > 2 * _LOOK:
        middle = (low + high) // 2
        found = _line_behind(log, middle, high)
        if found is None or found[1] > after:
            high = middle
        else:
            low = found[0]
    return low


def _line_behind(log: BinaryIO, offset: int, end: int) -> tuple[int, int] | None:
    """Start and `seq` of the first whole line that begins behind an offset; None where none is left up to `end`."""
    while offset < end:
        log.seek(offset)
        data = log.read(_LOOK)
        skipped = data.find(b"\n") + 1
        for stop, line in lines(data[skipped:]) if skipped else ():
            seq = seq_of(line)
            if seq is not None and intact(line):
                return offset + skipped + stop - len(line) - 1, seq
        offset += LINE_LIMIT
    return None


def lines_with(folder: Path, mark: bytes, *, size: int | None = None) -> Iterator[bytes]:
    """The lines in which these bytes stand, without their newlines: found by a search, not by parsing."""
    for piece in pieces(folder, size=size):
        at = piece.find(mark)
        while at >= 0:
            start, end = piece.rfind(b"\n", 0, at) + 1, piece.find(b"\n", at)
            yield piece[start:end]
            at = piece.find(mark, end)


def line_at(folder: Path, seq: int) -> bytes | None:
    """The whole line of one event, without its newline; None where it is not in this log or is damaged."""
    for piece in pieces(folder, after=seq - 1):
        for _, line in lines(piece):
            found = seq_of(line)
            if found == seq and intact(line):
                return line
            if found is not None and found > seq:
                return None
    return None


def first_line(folder: Path) -> bytes:
    """The first line of a log without its newline; empty where it has none. Raises OSError."""
    with (folder / EVENTS).open("rb") as log:
        line = log.readline(LINE_LIMIT)
    return line[:-1] if line.endswith(b"\n") else b""
