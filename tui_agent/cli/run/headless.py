"""Signals and result lines of a turn that runs without the app."""

import asyncio
import os
import signal
from types import FrameType
from typing import Final

import anyio

from tui_agent.ports.session import STOP_SIGNAL, Session
from tui_agent.protocol.commands import Interrupt
from tui_agent.session.headless_turn import Outcome

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
MAX_BLOCKED_S: Final = 5.0
"""Time limit for a blocked event loop after the process was asked to stop, in seconds."""
_HEARTBEAT_S: Final = 0.5
_BLOCKED: Final = b"tui-agent: Stopped in the middle of a long computation. The session is saved.\n"


async def interrupt_on_signal(session: Session) -> None:
    """Interrupt the session's turn at the first Ctrl+C or SIGTERM. Wait for signals until cancelled.

    Raises `KeyboardInterrupt` at the second signal.
    """
    with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
        end_if_blocked(asyncio.get_running_loop())
        interrupted = False
        async for _ in signals:
            if interrupted:
                raise KeyboardInterrupt
            interrupted = True
            session.submit(Interrupt())


def end_if_blocked(loop: asyncio.AbstractEventLoop) -> None:
    """After the first Ctrl+C or SIGTERM, end the process if its event loop is blocked for `MAX_BLOCKED_S`.

    The handlers run even while Python code is in an endless loop. The event loop's own handlers still receive the
    signals.
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

    for signal_number in STOP_SIGNALS:
        signal.signal(signal_number, start)


def result_lines(outcome: Outcome) -> str:
    """Return the lines with the status, the run's id and the session's id that follow the answer."""
    return f"status: {outcome.status}\nrun_id: {outcome.run_id}\nsession: {outcome.session}"


def failure_line(outcome: Outcome) -> str:
    """Return one line with the reason why the turn did not finish."""
    return " ".join(outcome.detail.split()) or f"The turn ended: {outcome.reason}."
