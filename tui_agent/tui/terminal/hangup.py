"""Detection of a lost terminal, even without a SIGHUP.

Invariant: the check uses no processor time while the terminal exists.
"""

import asyncio
import os
import select
import threading
from collections.abc import Callable

PATIENCE_S = 0.9
"""Time for an orderly exit once the terminal is gone, in seconds."""
CLOSE_S = 0.6
"""Time to wait for a session to close after a signal, in seconds."""
STALLED_S = 2.0
"""Maximum time to wait for a terminal that accepts no output after a signal, in seconds."""
STATUS = 129
"""Exit status after SIGHUP, as shells expect it."""


def end_for_sure(status: int) -> threading.Timer:
    """Start and return a timer that ends this process after `STALLED_S` seconds.

    The timer also ends a process whose event loop is blocked.
    """
    timer = threading.Timer(STALLED_S, os._exit, (status,))
    timer.daemon = True
    timer.start()
    return timer


class HangupWatch:
    """Calls `gone` once, on the event loop, when the terminal behind `fd` hangs up."""

    def __init__(self, fd: int, gone: Callable[[], None]) -> None:
        self._fd = fd
        self._gone = gone
        self._stop_read, self._stop_write = os.pipe()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._watch, name="hangup", daemon=True)

    def start(self) -> None:
        """Start the thread that watches the terminal."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and wait for the thread; a second call does nothing."""
        if self._stop_write >= 0:
            os.write(self._stop_write, b".")
            self._thread.join(1.0)
            os.close(self._stop_write)
            os.close(self._stop_read)
            self._stop_write = -1

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._fd, 0)  # Register for no input events: poll always reports hang-up and error.
        poll.register(self._stop_read, select.POLLIN)
        ready = dict(poll.poll())
        if self._stop_read in ready or self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._gone)
        poll.unregister(self._fd)
        if not poll.poll(PATIENCE_S * 1000):
            # The event loop is blocked on a terminal that accepts no output. The engine closes the session by itself.
            os._exit(STATUS)
