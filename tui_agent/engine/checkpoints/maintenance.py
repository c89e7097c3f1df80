"""Lets the store of checkpoints look after itself while the user and the agent have nothing for it to do.

Invariant: never while anything that may change files runs, never on the loop, and it ends at once when that begins.
"""

from collections.abc import Callable

import anyio

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Checkpoints
from tui_agent.ports.clock import Clock

QUIET_S = 2.0
"""Seconds that nothing has run before upkeep begins."""


class Upkeep:
    """Runs `Checkpoints.settle` after each time that something ran. `on_fault` is told of the first one that fails."""

    def __init__(self, store: Checkpoints, clock: Clock, on_fault: Callable[[CheckpointError], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_fault = on_fault
        self._resting = False
        self._news = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def rest(self) -> None:
        """Nothing runs now."""
        self._resting = True
        self._news.set()

    def stop(self) -> None:
        """Something is about to run."""
        self._resting = False
        if self._scope is not None:
            self._scope.cancel()

    async def run(self) -> None:
        """Serve until cancelled."""
        told = False
        while True:
            while not self._resting:
                self._news = anyio.Event()
                await self._news.wait()
            self._resting = False
            with anyio.CancelScope() as self._scope:
                try:
                    await self._clock.sleep(QUIET_S)
                    await self._store.settle()
                except CheckpointError as fault:
                    if not told:
                        self._on_fault(fault)
                    told = True
            self._scope = None
