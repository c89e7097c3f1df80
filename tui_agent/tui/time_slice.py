"""Giving way in long work on the loop, so that keys are answered and rows painted in between.

Invariant: it waits for nothing.
"""

import asyncio
import time
from typing import Final

SLICE_S: Final = 0.008


class Slices:
    """How long the present slice of a work still lasts."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_S

    async def turn(self) -> bool:
        """Give way where a slice is over; True if it did, so that anything may have changed."""
        if time.perf_counter() < self._until:
            return False
        await asyncio.sleep(0)
        self._until = time.perf_counter() + SLICE_S
        return True
