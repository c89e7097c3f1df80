"""Runs functions of plugins at the same time, each in a thread, with one time limit for all.

Invariant: `run_side_by_side` returns soon after the limit, whatever the functions do.
"""

import ctypes
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

GRACE_S = 0.5
"""Maximum time for interrupted functions to end, in seconds."""
REPEAT_S = 0.05
"""Interval between interruptions, in seconds."""
# An interruption is repeated, because a function can catch it.
THREAD_NAME = "side by side"

ValueT = TypeVar("ValueT")


class TimeLimitReached(BaseException):
    """Raised inside a function whose time is up."""

    # A `BaseException`, so that `except Exception` in a plugin does not catch it.


@dataclass(slots=True)
class Outcome(Generic[ValueT]):
    """The value that a function returned, or the error that it raised.

    `stack`: call stack of the function at the time limit.
    """

    value: ValueT | None = None
    error: BaseException | None = None
    stack: traceback.StackSummary | None = None


def run_side_by_side(functions: Sequence[Callable[[], ValueT]], limit_s: float) -> list[Outcome[ValueT]]:
    """Run the functions at the same time and return their outcomes in order.

    Returns soon after `limit_s` seconds, even if a function does not return.
    """
    outcomes: list[Outcome[ValueT]] = [Outcome() for _ in functions]
    threads = [
        threading.Thread(target=_run, args=(function, outcome), name=THREAD_NAME, daemon=True)
        for function, outcome in zip(functions, outcomes, strict=True)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    running = {index: thread for index, thread in enumerate(threads) if thread.is_alive()}
    for index, thread in running.items():
        frame = sys._current_frames().get(thread.ident or 0)
        outcomes[index] = Outcome(error=TimeLimitReached(), stack=traceback.extract_stack(frame))
    _interrupt(list(running.values()))
    return outcomes


def _run(function: Callable[[], ValueT], outcome: Outcome[ValueT]) -> None:
    try:
        outcome.value = function()
    except BaseException as error:  # noqa: BLE001 - supervises foreign code; the caller reports the error
        outcome.error = error


def _interrupt(threads: Sequence[threading.Thread]) -> None:
    """Raise `TimeLimitReached` in the threads repeatedly until all have ended, for at most `GRACE_S` seconds."""
    deadline = time.monotonic() + GRACE_S
    raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
    running = list(threads)
    while running and time.monotonic() < deadline:
        for thread in running:
            raise_in_thread(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeLimitReached))
        running[0].join(REPEAT_S)
        running = [thread for thread in running if thread.is_alive()]
