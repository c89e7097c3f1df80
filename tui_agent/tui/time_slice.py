"""Time slices for long work, so that keys and drawing do not wait for its end.

Invariant: after each slice, the work lets other tasks of the event loop run once, without sleeping.
"""

import asyncio
import time
from typing import Final

SLICE_S: Final = 0.008
"""Length of a slice, in seconds. A pressed key waits about this long at most."""


class Slices:
    """Divides long work into time slices. Between two slices, other tasks of the event loop run."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_S

    async def turn(self) -> bool:
        """If the current slice has ended, let other tasks run and return True; otherwise return False."""
        if time.perf_counter() < self._until:
            return False
        await asyncio.sleep(0)
        self._until = time.perf_counter() + SLICE_S
        return True
