"""Time slices for long work on the loop, so that keys are handled and rows painted in between.

Invariant: a slice only yields to the loop; it never sleeps.
"""

import asyncio
import time
from typing import Final

SLICE_S: Final = 0.008


class Slices:
    """A time limit after which long work yields to the event loop."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_S

    async def turn(self) -> bool:
        """Yield to the event loop if the slice is over. Return True if it did: any state may have changed meanwhile."""
        if time.perf_counter() < self._until:
            return False
        await asyncio.sleep(0)
        self._until = time.perf_counter() + SLICE_S
        return True
