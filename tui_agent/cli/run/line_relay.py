"""What a child process prints, handed on in whole lines.

Invariant: a line that a child leaves unfinished as it dies goes nowhere; a process that outlives the child and holds its
output open holds nothing up.
"""

import os
import select
import sys
from contextlib import suppress

PIECE = 65_536


class WholeLines:
    """Made before the fork; then one end is the child's and one the parent's."""

    def __init__(self) -> None:
        self._source, self._sink = os.pipe()
        self._life, self._alive = os.pipe()
        """Read and written to by nobody: it ends with the child, a program that the child runs does not get it."""

    def in_child(self) -> None:
        """To be called in the child: standard output goes to the parent from now on."""
        os.close(self._source)
        os.close(self._life)
        os.dup2(self._sink, sys.stdout.fileno())
        os.close(self._sink)

    def hand_on(self) -> None:
        """To be called in the parent: print every whole line of the child, until the child is gone.

        Where nobody reads them any more the child notices, as it would without a parent.
        """
        os.close(self._sink)
        os.close(self._alive)
        os.set_blocking(self._source, False)
        try:
            with suppress(BrokenPipeError):
                self._hand_on()
        finally:
            os.close(self._source)
            os.close(self._life)

    def _hand_on(self) -> None:
        begun = b""
        alive = True
        while alive:
            ready, _, _ = select.select([self._source, self._life], [], [])
            alive = self._life not in ready
            pieces = [begun]
            with suppress(BlockingIOError):
                while piece := os.read(self._source, PIECE):
                    pieces.append(piece)
                    if len(pieces) > 100 and alive:
                        break
            whole, line_end, begun = b"".join(pieces).rpartition(b"\n")
            _write(whole + line_end)


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(sys.stdout.fileno(), left) :]
