"""The end of the terminal or a signal to quit: detected, and followed by an exit even if the event loop is blocked."""

import asyncio
import os
import select
import signal
from collections.abc import Callable
from threading import Thread, Timer
from typing import Final

PATIENCE_S: Final = 0.9
"""Time for an orderly exit once the terminal is gone, in seconds."""
STALLED_S: Final = 2.0
"""Maximum time to wait for a terminal that accepts no output after a signal, in seconds."""
HANGUP_STATUS: Final = 129
"""Exit status after SIGHUP, as shells expect it."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


def schedule_forced_exit(status: int) -> Timer:
    """Start and return a timer that ends this process after `STALLED_S` seconds.

    The timer also ends a process whose event loop is blocked.
    """
    timer = Timer(STALLED_S, os._exit, (status,))
    timer.daemon = True
    timer.start()
    return timer


class HangupWatch:
    """Calls `gone` once, on the event loop, when the terminal behind `fd` hangs up, even without a SIGHUP.

    While the terminal exists, the watching thread sleeps and uses no processor time.
    """

    def __init__(self, fd: int, gone: Callable[[], None]) -> None:
        self._fd = fd
        self._gone = gone
        self._stop_read, self._stop_write = os.pipe()
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._watch, name="hangup", daemon=True)

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
            os._exit(HANGUP_STATUS)


def catch_signals(leave: Callable[[int], None]) -> None:
    """Make SIGTERM and SIGHUP call `leave` with the signal's number.

    Call this function while the event loop runs.
    """
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, leave, number)


def release_signals() -> None:
    """Restore the default handling of SIGTERM and SIGHUP."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.remove_signal_handler(number)
