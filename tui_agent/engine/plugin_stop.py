"""Stopping of plugin code that catches cancellations.

Invariant: code of a plugin that was cancelled ends within about `STOP_GRACE_S`, unless it waits in a shielded scope or
in a thread. No task is left behind.
"""

import asyncio
import time
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

from tui_agent.units import format_time_limit

AnswerT = TypeVar("AnswerT")
STOP_GRACE_S = 1.0
"""Time that a plugin's code has to end after it was cancelled, in seconds."""
MIN_STOPS = 10
"""Number of cancellations that the code must have caught. Long but shielded work at the end catches only a few."""


class StopIgnored(BaseException):
    """Raised in a plugin's code that goes on after it was cancelled. `except CancelledError` does not catch it."""

    def __init__(self) -> None:
        limit = format_time_limit(STOP_GRACE_S)
        super().__init__(f"it went on for {limit} after it was stopped; do not catch `CancelledError`")


async def stop_in_time(awaitable: Awaitable[AnswerT]) -> AnswerT:
    """Await a plugin's code. If it catches cancellations for `STOP_GRACE_S`, raise `StopIgnored` in it.

    Code that also catches `StopIgnored` never runs again.
    """
    return await _StoppableCode(awaitable)


class _StoppableCode(Generator[Any, Any, AnswerT]):
    """Runs an awaitable in the current task, and counts the cancellations that it catches."""

    def __init__(self, awaitable: Awaitable[AnswerT]) -> None:
        self._running = awaitable if isinstance(awaitable, Coroutine) else _await(awaitable)
        self._counted_before = _count_cancellations()
        self._stops = 0
        self._first_stop_s = 0.0
        self._is_last_stop = False

    def __await__(self) -> Generator[Any, Any, AnswerT]:
        return self

    def send(self, value: Any, /) -> Any:
        return self._note_own_limit(self._running.send(value))

    def throw(self, error: Any, *details: Any) -> Any:
        if isinstance(error, asyncio.CancelledError):
            error = self._choose_error(error)
        return self._note_own_limit(self._running.throw(error, *details))

    def _note_own_limit(self, awaited: Any) -> Any:
        if _count_cancellations() <= self._counted_before:  # the code ended its own `anyio.move_on_after`
            self._stops = 0
        return awaited

    def _choose_error(self, cancelled: asyncio.CancelledError) -> BaseException:
        """Return the error to raise in the code. Raise `StopIgnored` if the code has already caught `StopIgnored`."""
        now = time.monotonic()
        self._stops += 1
        if self._stops == 1:
            self._first_stop_s = now
        if self._stops <= MIN_STOPS or now < self._first_stop_s + STOP_GRACE_S:
            return cancelled
        if self._is_last_stop:
            raise StopIgnored
        self._stops, self._is_last_stop = 0, True
        return StopIgnored()


async def _await(awaitable: Awaitable[AnswerT]) -> AnswerT:
    return await awaitable


def _count_cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
