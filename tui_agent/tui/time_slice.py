"""Time slices for long work, so that keys and drawing do not wait for its end.

Invariant: after each slice, the work lets other tasks of the event loop run once, without sleeping.
"""

import asyncio
import time
from typing import Final

SLICE_S: Final = 0.008


class Slices:
    """Time limit for long work. After it, other tasks of the event loop can run."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_S

    async def turn(self) -> bool:
        """Let other tasks run if the time limit is reached; return True if they ran."""
        if time.perf_counter() < self._until:
            return False
        await asyncio.sleep(0)
        self._until = time.perf_counter() + SLICE_S
        return True
