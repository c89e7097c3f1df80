"""Time slices for long work on the event loop, so that keys are handled and rows painted in between.

Invariant: after each slice, the work lets other tasks of the event loop run once, without sleeping.
"""

import asyncio
import time
from typing import Final

SLICE_S: Final = 0.008


class Slices:
    """Time limit for long work. When it is reached, the work yields to the event loop."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_S

    async def turn(self) -> bool:
        """Yield to the event loop if the time limit is reached.

        Return True if the call yielded. Other tasks can have changed any state in the meantime.
        """
        if time.perf_counter() < self._until:
            return False
        await asyncio.sleep(0)
        self._until = time.perf_counter() + SLICE_S
        return True
