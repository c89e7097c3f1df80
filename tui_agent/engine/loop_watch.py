"""Interruption of a plugin's code that blocks the event loop: a loop without `await`, or a call that only sleeps.

The code is interrupted after `BLOCK_LIMIT_S`, or at once if the user stops the turn (`STOP_SIGNAL`).

Invariant: only code inside a plugin guard is interrupted, and the guard's error names the plugin. The engine's own code
is never interrupted. Without a main thread (an event loop in another thread) nothing is watched.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType

from tui_agent.engine.plugin_guard import EventLoopBlocked, is_guarded
from tui_agent.ports.session import STOP_SIGNAL

BLOCK_LIMIT_S = 10.0
"""Maximum time that a plugin's code can block the event loop, in seconds."""
CHECKS = 10
"""Number of checks of the event loop within the time limit."""
STOP_GRACE_S = 0.2
"""Maximum time until the event loop answers after the user stopped the turn, in seconds."""
_CALLERS = frozenset(
    f"tui_agent.{name}"
    for name in (
        "engine.plugin_guard",
        "engine.plugin_stop",
        "engine.plugin_tasks",
        "engine.plugin_wrappers",
        "engine.slash_commands",
        "engine.tools.arguments",
        "plugin_functions",
        "plugin_host.offers",
        "wiring.hooks",
    )
)
"""The modules that call plugins inside a plugin guard."""


@contextmanager
def watch_event_loop(limit_s: float = BLOCK_LIMIT_S) -> Iterator[None]:
    """In the `with` block, interrupt a plugin's code that blocks the running event loop for `limit_s` seconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _LoopWatch(asyncio.get_running_loop(), limit_s / CHECKS)
    before = signal.signal(STOP_SIGNAL, watch.handle_signal)
    thread = threading.Thread(target=watch.run, name="loop watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.requests.put("end")
        thread.join()
        signal.signal(STOP_SIGNAL, before)


class _LoopWatch:
    """Checks the event loop from another thread, and interrupts the main thread by a signal."""

    def __init__(self, loop: asyncio.AbstractEventLoop, interval_s: float) -> None:
        self._loop = loop
        self._interval_s = interval_s
        self._reason: EventLoopBlocked | None = None
        """The error that the next signal raises; None if the next signal is the user's."""
        self.requests: SimpleQueue[str] = SimpleQueue()  # its `put` is safe in a signal handler
        """Requests to the watching thread: `stop` after the user stopped the turn, `end` at the end of the watch."""

    def run(self) -> None:
        """Interrupt the main thread if the loop answers none of `CHECKS` checks. An idle loop is never woken."""
        answered, missed, reason = threading.Event(), 0, EventLoopBlocked.TOO_LONG
        answered.set()
        # Checks are counted instead of seconds, because a stopped process must not count as blocked.
        while (request := self._next_request()) != "end":
            if answered.is_set():
                missed, reason = 0, EventLoopBlocked.TOO_LONG
                if self._runs_plugin(sys._current_frames().get(threading.main_thread().ident or 0)):
                    answered.clear()
                    self._loop.call_soon_threadsafe(answered.set)
            else:
                missed += 1
            if request == "stop" and not answered.wait(STOP_GRACE_S):
                missed, reason = CHECKS, EventLoopBlocked.STOPPED
            if missed >= CHECKS:
                self._reason = EventLoopBlocked(reason)
                signal.pthread_kill(threading.main_thread().ident or 0, STOP_SIGNAL)

    def _next_request(self) -> str:
        try:
            return self.requests.get(timeout=self._interval_s)
        except Empty:
            return ""

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the plugin's code that runs in `frame`, or pass the user's request on to the watching thread."""
        reason, self._reason = self._reason, None
        if reason is None:
            self.requests.put("stop")
        elif self._runs_plugin(frame):
            raise reason

    def _runs_plugin(self, frame: FrameType | None) -> bool:
        """Return True if the plugin's code in `frame` is guarded, and a module that calls plugins has called it."""
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("tui_agent."):
                return module in _CALLERS and is_guarded(self._loop)
            frame = frame.f_back
        return False
