"""Relay of a child process's output in whole lines.

Invariant: a line that the child leaves unfinished when it dies is dropped; another process that keeps the output open
does not delay the end.
"""

import os
import select
import sys
from contextlib import suppress

PIECE = 65_536


class WholeLines:
    """Create before the fork; then call `in_child` in the child and `hand_on` in the parent."""

    def __init__(self) -> None:
        self._source, self._sink = os.pipe()
        self._life, self._alive = os.pipe()
        """A pipe without data: it closes when the child ends, because programs run by the child do not inherit it."""

    def in_child(self) -> None:
        """In the child: redirect standard output to the parent."""
        os.close(self._source)
        os.close(self._life)
        os.dup2(self._sink, sys.stdout.fileno())
        os.close(self._sink)

    def hand_on(self) -> None:
        """In the parent: print every whole line of the child until it ends.

        If nobody reads our output, the child gets the same error as without a parent.
        """
        os.close(self._sink)
        os.close(self._alive)
        os.set_blocking(self._source, False)
        try:
            with suppress(BrokenPipeError):
                self._relay()
        finally:
            os.close(self._source)
            os.close(self._life)

    def _relay(self) -> None:
        partial = b""
        alive = True
        while alive:
            ready, _, _ = select.select([self._source, self._life], [], [])
            alive = self._life not in ready
            pieces = [partial]
            with suppress(BlockingIOError):
                while piece := os.read(self._source, PIECE):
                    pieces.append(piece)
                    if len(pieces) > 100 and alive:
                        break
            whole, line_end, partial = b"".join(pieces).rpartition(b"\n")
            _write(whole + line_end)


def _write(data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(sys.stdout.fileno(), remaining) :]
