"""Interruption of a plugin's code that blocks the event loop: a loop without `await`, or a call that only sleeps.

Invariant: only code inside `error_guard.guard_plugin` is interrupted, and the guard's error names the plugin.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from tui_agent.engine.plugins.error_guard import EventLoopBlocked, is_guarded
from tui_agent.errors import PluginError
from tui_agent.plugin_host.plugin_imports import plugin_of
from tui_agent.ports.session import STOP_SIGNAL

BLOCK_LIMIT_S = 10.0
"""Maximum time that a plugin's code can block the event loop, in seconds."""
CHECKS = 10
"""Number of checks of the event loop within the time limit."""
STOP_GRACE_S = 0.2
"""Maximum time for the event loop to answer after the user stopped the turn, in seconds."""
STOP_CHECKS = 10
"""Maximum number of checks of the event loop after the user asked to stop the turn."""
CHECKS_AFTER_COMMAND = 3
"""Maximum number of checks of the event loop after it has received the user's stop command."""
INTERRUPT_PAUSE_S = 0.5
"""Pause after an interruption, in seconds. The interrupted code can end in this time."""
MAX_INTERRUPTS = 3
"""Number of interruptions that plugin code may catch before `give_up` is called."""
MAX_SIGNALS = 10
"""Number of signals without effect before `give_up` is called."""
_CALLERS = frozenset(
    {
        "tui_agent.engine.input.slash_commands",
        "tui_agent.engine.plugins.error_guard",
        "tui_agent.engine.plugins.forced_stop",
        "tui_agent.engine.plugins.plugin_tasks",
        "tui_agent.engine.plugins.wrappers",
        "tui_agent.engine.tools.arguments",
        "tui_agent.plugin_functions",
        "tui_agent.plugin_host.registered_objects",
        "tui_agent.wiring.extensions",
    }
)
"""The modules that call plugins inside a plugin guard."""


@contextmanager
def watch_event_loop(
    limit_s: float = BLOCK_LIMIT_S, give_up: Callable[[PluginError], None] | None = None
) -> Iterator[Callable[[], None]]:
    """In the `with` block, interrupt a plugin's code that blocks the running event loop for `limit_s` seconds.

    Call the yielded function when the user's command to stop the turn arrives.

    `give_up`: called once with an error, in another thread, if the code cannot be interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    watch = _LoopWatch(asyncio.get_running_loop(), limit_s / CHECKS, give_up)
    before = signal.signal(STOP_SIGNAL, watch.handle_signal)
    thread = threading.Thread(target=watch.run, name="loop watch", daemon=True)
    thread.start()
    try:
        yield watch.stop_received.set
    finally:
        watch.end()
        thread.join()
        signal.signal(STOP_SIGNAL, before)
        watch.restore_sigint()


class _LoopWatch:
    """Checks the event loop from another thread, and interrupts the main thread by a signal."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        interval_s: float,
        give_up: Callable[[PluginError], None] | None,
    ) -> None:
        self._loop = loop
        self._interval_s = interval_s
        self._give_up = give_up
        self._answered = threading.Event()
        self._answered.set()
        self._reason: EventLoopBlocked | None = None
        """The error that the next signal raises in the plugin's code. None while the watch sends no signal."""
        self._interrupts = 0
        """Number of interruptions that the code has caught since the event loop last answered."""
        self._is_given_up = False
        """True from the call of `give_up` until the event loop answers."""
        self._usual_sigint: Callable[[int, FrameType | None], object] | None = None
        """The handler of SIGINT that was replaced."""
        self._is_ended = False
        self.stop_received = threading.Event()
        """Set once the event loop has received the user's command to stop the turn."""
        self.requests: SimpleQueue[str] = SimpleQueue()  # its `put` is safe in a signal handler
        """Requests to the watching thread: `stop` (the user stopped the turn) or `end` (end the watch)."""

    def run(self) -> None:
        """Check the event loop until `end` is called.

        Interrupt the main thread if the loop misses `CHECKS` checks in a row, or does not carry out the user's stop
        command.
        """
        missed = 0
        # Checks are counted instead of seconds, because a stopped process must not count as blocked.
        while (request := self._next_request()) != "end":
            if self._answered.is_set():
                missed, self._is_given_up = 0, False
                if self._runs_plugin(_main_frame()):
                    self._check_loop()
            else:
                missed += 1
            if request == "stop" and self._blocks_stop():
                self._interrupt(EventLoopBlocked.STOPPED)
            elif missed >= CHECKS:
                self._interrupt(EventLoopBlocked.TOO_LONG)

    def end(self) -> None:
        """Let `run` return at once."""
        self._is_ended = True
        self.requests.put("end")
        self.stop_received.set()
        self._answered.set()

    def _check_loop(self) -> None:
        self._answered.clear()
        self._loop.call_soon_threadsafe(self._answered.set)
        if self._is_ended:  # the event loop now waits for this thread, and cannot answer
            self._answered.set()

    def _blocks_stop(self) -> bool:
        """Return True if the event loop hangs before it has carried out the user's stop command."""
        self.stop_received.clear()
        checks_left = STOP_CHECKS
        while checks_left and not self._is_ended:
            if not self._answered.wait(STOP_GRACE_S):
                return True
            if self.stop_received.wait(STOP_GRACE_S):
                checks_left = min(checks_left, CHECKS_AFTER_COMMAND)
            self._check_loop()
            checks_left -= 1
        return False

    def _interrupt(self, reason: str) -> None:
        """Raise an error in the plugin's code, repeatedly until the event loop answers.

        If the loop never answers, call `give_up`.
        """
        self._interrupts = 0
        # The signal has no effect while the main thread runs code outside the plugin, so it is sent repeatedly.
        for _ in range(MAX_SIGNALS):
            self._reason = EventLoopBlocked(reason)
            signal.pthread_kill(threading.main_thread().ident or 0, STOP_SIGNAL)
            if self._answered.wait(INTERRUPT_PAUSE_S):
                return
            if self._interrupts >= MAX_INTERRUPTS:
                break
        frame = _main_frame()
        if self._give_up is not None and not self._is_given_up and self._runs_plugin(frame):
            self._is_given_up = True
            self._give_up(_describe_code(frame))

    def _next_request(self) -> str:
        try:
            return self.requests.get(timeout=self._interval_s)
        except Empty:
            return ""

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the plugin's code in `frame`, or pass the user's stop request to the watching thread."""
        reason, self._reason = self._reason, None
        if reason is None:
            self.requests.put("stop")
        elif self._runs_plugin(frame):
            self._interrupts += 1
            if self._interrupts == MAX_INTERRUPTS:
                self._replace_sigint()
            raise reason

    def _replace_sigint(self) -> None:
        """Replace the usual SIGINT handler, because a plugin's code could catch the handler's exception."""
        handler = signal.getsignal(signal.SIGINT)
        module = getattr(getattr(handler, "func", handler), "__module__", "")
        if callable(handler) and module.partition(".")[0] in ("_signal", "asyncio"):
            self._usual_sigint = handler
            signal.signal(signal.SIGINT, self._handle_sigint)

    def _handle_sigint(self, number: int, frame: FrameType | None) -> None:
        if self._is_given_up and self._runs_plugin(frame):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        if self._usual_sigint is not None:
            self._usual_sigint(number, frame)

    def restore_sigint(self) -> None:
        """Restore the previous handler of SIGINT. If the handler was replaced again in the meantime, do nothing."""
        if self._usual_sigint is not None and signal.getsignal(signal.SIGINT) == self._handle_sigint:
            signal.signal(signal.SIGINT, self._usual_sigint)

    def _runs_plugin(self, frame: FrameType | None) -> bool:
        """Return True if `frame` is in a plugin's code that can be interrupted."""
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            # The innermost code of tui-agent decides: an error raised in the engine itself could break its state.
            if module.startswith("tui_agent."):
                return module in _CALLERS and is_guarded(self._loop)
            frame = frame.f_back
        return False


def _main_frame() -> FrameType | None:
    return sys._current_frames().get(threading.main_thread().ident or 0)


def _describe_code(frame: FrameType | None) -> PluginError:
    """Return an error that names the plugin's blocking function and its current line."""
    called = frame
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("tui_agent."):
        called, frame = frame, frame.f_back
    assert called is not None
    plugin = plugin_of(called.f_globals.get("__name__", ""))
    owner = f" of the plugin {plugin}" if plugin else ""
    place = f"{Path(called.f_code.co_filename).name}, line {called.f_lineno}"
    return PluginError(
        f"The function {called.f_code.co_qualname}{owner} ({place}) blocked the session and could not be stopped.",
        hint=f"To turn the plugin off: tui-agent plugins disable {plugin}" if plugin else "",
    )
