"""A time limit around code that is not ours: an import that never returns must not hold up the program.

Invariant: what the alarm was set to before is set again afterwards. Only the main thread can be interrupted, which is
where plugins are loaded; elsewhere there is no limit.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_S = 0.2
"""Foreign code that swallowed the first interruption meets the next one."""


class TookTooLong(BaseException):
    """Raised inside the code that had its time; no `Exception`, so that it is not handled there by the way."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block once it has run for so many seconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def ring(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise TookTooLong

    before = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)
