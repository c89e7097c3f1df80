"""Time limit for foreign code: an import that never returns must not block the program.

Invariant: the previous alarm is restored afterwards. Only the main thread can be interrupted, and plugins are loaded
there; other threads have no limit.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_S = 0.2
"""Interval for repeated interruptions, in case foreign code catches the first one."""


class TookTooLong(BaseException):
    """Raised in code that exceeded its time; a `BaseException`, so that the code does not catch it by accident."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block after this many seconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise TookTooLong

    previous = signal.signal(signal.SIGALRM, interrupt)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining, interval)
        signal.signal(signal.SIGALRM, previous)
