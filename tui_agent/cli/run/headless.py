"""Signals and result lines of a turn that runs without the app."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import warn
from tui_agent.errors import PluginError
from tui_agent.ports.session import STOP_SIGNAL
from tui_agent.protocol.commands import Interrupt
from tui_agent.session.headless_turn import Outcome
from tui_agent.session.local import LocalSession

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
MAX_BLOCKED_S: Final = 5.0
"""If the event loop stays blocked for this many seconds after Ctrl+C or SIGTERM, the process is ended."""
_HEARTBEAT_S: Final = 0.5
_BLOCKED: Final = b"tui-agent: Stopped in the middle of a long computation. The session is saved.\n"


async def interrupt_on_signal(session: LocalSession) -> None:
    """Interrupt the session's turn at the first Ctrl+C or SIGTERM, and raise `KeyboardInterrupt` at the second."""
    with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
        session.end_process = end_if_blocked(asyncio.get_running_loop())
        interrupted = False
        async for _ in signals:
            if interrupted:
                raise KeyboardInterrupt
            interrupted = True
            session.submit(Interrupt())


def end_if_blocked(loop: asyncio.AbstractEventLoop) -> Callable[[PluginError], NoReturn]:
    """Let Ctrl+C and SIGTERM end the process if `loop` stays blocked for `MAX_BLOCKED_S`.

    Return a function that ends the process immediately.
    """
    exit_status = 0

    def start(number: int, frame: FrameType | None) -> None:
        nonlocal exit_status
        if not exit_status:
            exit_status = 128 + number
            signal.signal(signal.SIGALRM, end)
            loop.call_soon_threadsafe(postpone)
            signal.setitimer(signal.ITIMER_REAL, MAX_BLOCKED_S)
            signal.raise_signal(STOP_SIGNAL)

    def postpone() -> None:
        signal.setitimer(signal.ITIMER_REAL, MAX_BLOCKED_S)
        loop.call_later(_HEARTBEAT_S, postpone)

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, _BLOCKED)
        os._exit(exit_status)

    def end_with_error(error: PluginError) -> NoReturn:
        sys.stdout.flush()
        warn(" ".join(filter(None, (error.message, "The session is saved.", error.hint))))
        os._exit(exit_status or Exit.FAILED)

    for signal_number in STOP_SIGNALS:
        signal.signal(signal_number, start)
    return end_with_error


def result_lines(outcome: Outcome) -> str:
    """Return the lines that follow the answer: the status, the run's id and the session's id."""
    return f"status: {outcome.status}\nrun_id: {outcome.run_id}\nsession: {outcome.session}"


def failure_line(outcome: Outcome) -> str:
    """Return one line with the reason why the turn did not finish."""
    return " ".join(outcome.detail.split()) or f"The turn ended: {outcome.reason}."
