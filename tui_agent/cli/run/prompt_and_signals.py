"""Input of a turn that runs without the app: its prompt, and the signals that stop it.

Invariant: with a prompt as argument, the run waits at most `STDIN_WAIT_S` for text on standard input.
"""

import asyncio
import os
import select
import signal
import stat
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import warn
from tui_agent.errors import PluginError, UsageError
from tui_agent.ports.session import STOP_SIGNAL
from tui_agent.protocol.commands import Interrupt
from tui_agent.session.local_session import LocalSession
from tui_agent.units import format_time_limit

STDIN_WAIT_S: Final = 3.0
"""Maximum time to wait for text on standard input, if the prompt is an argument."""
# In continuous integration, standard input is often open but never has text.
STDIN_HEADING: Final = "Text from standard input:"
_HINT: Final = 'Describe the task: tui-agent run "…"'


def read_prompt(argument: str | None) -> str:
    """Return the prompt: the argument, with the text of standard input below it.

    Without an argument or with `-`, the prompt is standard input. Raise `UsageError` if the prompt is empty or not
    UTF-8.
    """
    if argument is None and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError("No prompt given.", hint=_HINT)
    prompt = _read_stdin() if argument in (None, "-") else argument
    if not prompt.strip():
        raise UsageError("The prompt is empty.", hint=_HINT)
    if argument in (None, "-") or not _has_piped_text():
        return prompt
    text = _read_stdin()
    return f"{prompt.rstrip()}\n\n{STDIN_HEADING}\n\n{text}" if text.strip() else prompt


def _read_stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError("Standard input is not UTF-8 text.", hint="Name the file in the prompt.") from error


def _has_piped_text() -> bool:
    """Return True if standard input is a file, or a pipe that has text or has ended."""
    try:
        number = sys.stdin.fileno()
        mode = os.fstat(number).st_mode
    except (AttributeError, OSError, ValueError):  # Standard input is closed.
        return False
    if stat.S_ISREG(mode):
        return True
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    if select.select([number], [], [], STDIN_WAIT_S)[0]:
        return True
    warn(
        f"No text arrived on standard input within {format_time_limit(STDIN_WAIT_S)}, so only the prompt is used. "
        "If your command is slow, use `tui-agent run -`, which waits and reads the whole prompt from standard input. To skip the wait, add `</dev/null`."
    )
    return False


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

    Return a function that prints the error of a plugin and ends the process immediately.
    """
    exit_status = 0

    def start(number: int, frame: FrameType | None) -> None:
        nonlocal exit_status
        if not exit_status:
            exit_status = 128 + number
            signal.signal(signal.SIGALRM, end)
            # As long as the loop runs, it postpones the alarm. The alarm of a blocked loop ends the process.
            loop.call_soon_threadsafe(postpone)
            signal.setitimer(signal.ITIMER_REAL, MAX_BLOCKED_S)
            signal.raise_signal(STOP_SIGNAL)

    def postpone() -> None:
        signal.setitimer(signal.ITIMER_REAL, MAX_BLOCKED_S)
        loop.call_later(_HEARTBEAT_S, postpone)

    def end(number: int, frame: FrameType | None) -> None:
        # Directly to the descriptor: the interrupted code may be writing to `sys.stderr`, which cannot be entered
        # again.
        os.write(2, _BLOCKED)
        os._exit(exit_status)

    def end_with_error(error: PluginError) -> NoReturn:
        sys.stdout.flush()
        warn(" ".join(filter(None, (error.message, "The session is saved.", error.hint))))
        os._exit(exit_status or Exit.FAILED)

    for signal_number in STOP_SIGNALS:
        signal.signal(signal_number, start)
    return end_with_error
