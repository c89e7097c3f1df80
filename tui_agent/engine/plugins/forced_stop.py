"""Stopping of plugin code that ignores cancellations.

Invariant: plugin code ends within about `SHIELD_GRACE_S` after a cancellation.
"""

import asyncio
import time
from collections.abc import Awaitable, Coroutine, Generator, Sequence
from importlib import import_module
from typing import Any, TypeVar

import anyio

from tui_agent.units import format_time_limit

AnswerT = TypeVar("AnswerT")
STOP_GRACE_S = 1.0
"""Maximum time for a plugin's code to end after it was cancelled, in seconds."""
SHIELD_GRACE_S = 1.5
"""Maximum time for a plugin's shielded code to end, in seconds. A cancellation does not reach shielded code."""
MIN_STOPS = 10
"""Code that has caught this many cancellations counts as ignoring them."""
MIN_BUSY_STOPS = 2
"""Limit that replaces `MIN_STOPS` for code that also blocks the event loop for at least `STOP_GRACE_S`."""
_CAUGHT = "do not catch `CancelledError`"
_SHIELDED = "do not shield code from cancellation for so long"
_IN_THREAD = "its thread runs until the function returns"


class StopIgnored(BaseException):
    """Raised in a plugin's code that goes on after it was cancelled."""

    def __init__(self, limit_s: float, advice: str) -> None:
        super().__init__(f"it kept running for {format_time_limit(limit_s)} after it was cancelled; {advice}")


async def stop_in_time(awaitable: Awaitable[AnswerT]) -> AnswerT:
    """Await a plugin's short code.

    If the code ignores cancellations for `STOP_GRACE_S`, raise `StopIgnored` in the code.
    """
    return await _StoppableCode(awaitable)


async def stop_though_shielded(awaitable: Awaitable[AnswerT]) -> AnswerT:
    """Await a plugin's long-running code.

    If the code does not end soon after a cancellation, raise `StopIgnored` in the code.
    """
    code, error = _StoppableCode(awaitable), None
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(code.watch)
            try:
                return await code
            except GeneratorExit:
                raise
            except BaseException as raised:  # noqa: BLE001 - raised below, so that the group does not wrap it
                error = raised
            finally:
                code.ended.set()
                group.cancel_scope.cancel()
    except asyncio.CancelledError:  # the group's own; it must not hide the code's error
        if error is None:
            raise
    assert error is not None
    raise error


class _StoppableCode(Generator[Any, Any, AnswerT]):
    """Runs an awaitable in the current task, and counts the cancellations that the awaitable's code catches.

    This class is a generator, so that each cancellation passes through `throw` before it reaches the awaitable's code.
    """

    def __init__(self, awaitable: Awaitable[AnswerT]) -> None:
        self.ended = anyio.Event()
        self._running = awaitable if isinstance(awaitable, Coroutine) else _await(awaitable)
        self._task = asyncio.current_task()
        self._counted_before = _count_cancellations()
        self._stops = 0
        self._first_stop_s = 0.0
        self._busy_s = 0.0
        """Seconds for which the code has blocked the event loop since its cancellation."""
        self._forced: StopIgnored | None = None
        """The error that forces the code to stop, until the error is raised in the code. None if no stop is forced."""
        self._is_last_stop = False

    async def watch(self) -> None:
        """Wait until the code is cancelled, then force the code to stop if it does not end in time."""
        try:
            await anyio.sleep_forever()
        finally:
            while not self.ended.is_set():
                with anyio.move_on_after(SHIELD_GRACE_S, shield=True):
                    await self.ended.wait()
                self._force_stop()

    def _force_stop(self) -> None:
        modules = _waiting_modules(self._running)
        if self.ended.is_set() or self._task is None or _is_work_of_engine(modules):
            return
        self._forced = StopIgnored(SHIELD_GRACE_S, _IN_THREAD if "anyio.to_thread" in modules else _SHIELDED)
        self._task.cancel()  # reaches shielded code, unlike the cancellation of a scope

    def __await__(self) -> Generator[Any, Any, AnswerT]:
        return self

    def send(self, value: Any, /) -> Any:
        return self._note_own_limit(self._running.send(value))

    def throw(self, error: Any, *details: Any) -> Any:
        if isinstance(error, asyncio.CancelledError):
            error = self._choose_error(error)
        started = time.monotonic()
        awaited = self._running.throw(error, *details)
        self._busy_s += time.monotonic() - started
        return self._note_own_limit(awaited)

    def _note_own_limit(self, awaited: Any) -> Any:
        if _count_cancellations() <= self._counted_before:  # the code ended its own `anyio.move_on_after`
            self._stops, self._busy_s = 0, 0.0
        return awaited

    def _choose_error(self, cancelled: asyncio.CancelledError) -> BaseException:
        """Return `cancelled`, or a `StopIgnored` if the code has ignored too many cancellations."""
        now = time.monotonic()
        forced, self._forced = self._forced, None
        if forced is not None and self._task is not None:
            self._task.uncancel()
        self._stops += 1
        if self._stops == 1:
            self._first_stop_s = now
        has_grace = not self._is_last_stop and now < self._first_stop_s + STOP_GRACE_S
        busy_stops = 0 if self._is_last_stop else MIN_BUSY_STOPS
        min_stops = busy_stops if self._busy_s >= STOP_GRACE_S else MIN_STOPS
        if forced is None and (has_grace or self._stops <= min_stops):
            return cancelled
        ignored = forced or StopIgnored(STOP_GRACE_S, _CAUGHT)
        if self._is_last_stop and forced is None:  # a shielded scope must be left by the code itself
            _keep_suspended(self._running)
            raise ignored
        self._stops, self._is_last_stop = 0, True
        return ignored


def _keep_suspended(code: object) -> None:
    """Prevent Python from ever closing the coroutine `code`, because closing would run its code again."""
    import_module("ctypes").pythonapi.Py_IncRef(import_module("ctypes").py_object(code))


async def _await(awaitable: Awaitable[AnswerT]) -> AnswerT:
    return await awaitable


def _count_cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _waiting_modules(awaitable: object) -> list[str]:
    """Return the modules of the functions that wait in a coroutine, the outermost first."""
    modules = []
    while (frame := getattr(awaitable, "cr_frame", None)) is not None:
        modules.append(str(frame.f_globals.get("__name__", "")))
        awaitable = getattr(awaitable, "cr_await", None)
    return modules


def _is_work_of_engine(modules: Sequence[str]) -> bool:
    """Return True if a plugin's code waits for the engine, for example until a command is killed."""
    is_ours = [module.startswith("tui_agent.") for module in modules]
    return False in is_ours and True in is_ours[is_ours.index(False) :]
