"""Maintenance of the checkpoint store while nothing runs.

Invariant: never runs while anything may change files, never blocks the event loop, and stops at once when work begins.
"""

from collections.abc import Callable

import anyio

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Checkpoints
from tui_agent.ports.clock import Clock

QUIET_S = 2.0
"""Seconds of idleness before maintenance starts."""


class Upkeep:
    """A background task that runs `Checkpoints.settle` when idle. `on_fault` gets only the first error."""

    def __init__(self, store: Checkpoints, clock: Clock, on_fault: Callable[[CheckpointError], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_fault = on_fault
        self._is_idle = False
        self._idle_changed = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def rest(self) -> None:
        """Start maintenance soon, because nothing runs now."""
        self._is_idle = True
        self._idle_changed.set()

    def stop(self) -> None:
        """Stop maintenance, because something is about to run."""
        self._is_idle = False
        if self._scope is not None:
            self._scope.cancel()

    async def run(self) -> None:
        """Serve until cancelled."""
        is_reported = False
        while True:
            while not self._is_idle:
                self._idle_changed = anyio.Event()
                await self._idle_changed.wait()
            self._is_idle = False
            with anyio.CancelScope() as self._scope:
                try:
                    await self._clock.sleep(QUIET_S)
                    await self._store.settle()
                except CheckpointError as fault:
                    if not is_reported:
                        self._on_fault(fault)
                    is_reported = True
            self._scope = None
