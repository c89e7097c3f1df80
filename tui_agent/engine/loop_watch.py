"""Interruption of a plugin's code that blocks the event loop: a loop without `await`, or a call that only sleeps.

Invariant: only code inside a plugin guard is interrupted, and the guard's error names the plugin. The engine's own code
is never interrupted. Without a main thread (an event loop in another thread) nothing is watched.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tui_agent.engine.plugin_guard import EventLoopBlocked
from tui_agent.engine.plugin_wrappers import GuardedAgent

BLOCK_LIMIT_S = 10.0
"""Seconds that a plugin's code may block the event loop."""
CHECKS = 10
"""Checks of the event loop in that time."""
SIGNAL = signal.SIGURG
"""A signal that is ignored by default, so that a late one does no harm."""
_GUARDS = {
    "tui_agent.engine.plugin_guard": (
        "target",
        "effects",
        "settle_arguments",
        "predict_failure",
        "preview",
        "run",
    ),
    "tui_agent.engine.plugin_wrappers": ("contribute", "_wrap", "_notify", GuardedAgent.step.__name__),
    "tui_agent.engine.slash_commands": ("run", "complete"),
    "tui_agent.wiring.hooks": ("ask_plugin_function", "notify"),
}
"""The functions that call plugins inside a plugin guard, by module."""
_ENGINE_CALLS = "tui_agent.engine.plugin_wrappers", "call_and_keep"
"""The function through which a middleware calls the engine."""


@contextmanager
def watch_event_loop(limit_s: float = BLOCK_LIMIT_S) -> Iterator[None]:
    """In the `with` block, interrupt a plugin's code that blocks the running event loop for `limit_s` seconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(SIGNAL, _interrupt_plugin)
    stopped = threading.Event()
    options = (asyncio.get_running_loop(), stopped, limit_s / CHECKS)
    thread = threading.Thread(target=_watch, args=options, name="loop watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _watch(loop: asyncio.AbstractEventLoop, stopped: threading.Event, interval_s: float) -> None:
    """Interrupt the main thread if the loop answers none of `CHECKS` checks. An idle loop is never woken."""
    answered = threading.Event()
    answered.set()
    missed = 0
    # Checks are counted instead of seconds, because a stopped process must not count as blocked.
    while not stopped.wait(interval_s):
        if answered.is_set():
            missed = 0
            if _runs_plugin(sys._current_frames().get(threading.main_thread().ident or 0)):
                answered.clear()
                loop.call_soon_threadsafe(answered.set)
            continue
        missed += 1
        if missed >= CHECKS:
            signal.pthread_kill(threading.main_thread().ident or 0, SIGNAL)


def _interrupt_plugin(number: int, frame: FrameType | None) -> None:
    if _runs_plugin(frame):
        raise EventLoopBlocked


def _runs_plugin(frame: FrameType | None) -> bool:
    """Return True if the code of a plugin runs in `frame`."""
    while frame is not None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if (module, function) == _ENGINE_CALLS:
            return False
        if function in _GUARDS.get(module, ()):
            return True
        frame = frame.f_back
    return False
