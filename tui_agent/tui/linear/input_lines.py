"""The lines that the user types in the app without a screen."""

import asyncio
import os
import signal
import time
from contextlib import suppress

import anyio

TWICE_S = 1.5
"""Longest time between the two presses of a double press, in seconds."""


class InputLines:
    """The lines that the user types on standard input.

    Ctrl+C becomes /stop, and a second Ctrl+C becomes /quit.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.status = 0
        """The exit status after a signal; 0 before any signal."""

    async def line(self) -> str | None:
        """Wait for the next line that the user types; None at the end of input."""
        return await self._lines.get()

    async def read(self, fd: int) -> None:
        """Read lines from the file descriptor until the end of input; `line` returns them."""
        rest = b""
        while True:
            # epoll rejects plain files; they are always ready, so waiting is not needed
            with suppress(PermissionError):
                await anyio.wait_readable(fd)
            try:
                data = os.read(fd, 65_536)
            except OSError:  # the terminal is gone
                data = b""
            *whole, rest = (rest + data).split(b"\n")
            for line in whole if data else [*whole, *([rest] if rest else [])]:
                self._lines.put_nowait(line.decode("utf-8", "replace"))
            if not data:
                self._lines.put_nowait(None)
                return

    async def watch_signals(self) -> None:
        """Wait for signals until cancelled. SIGINT becomes the line /stop or /quit; other signals end the input."""
        last = -TWICE_S
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            async for number in signals:
                if number == signal.SIGINT:
                    is_second, last = time.monotonic() - last < TWICE_S, time.monotonic()
                    self._lines.put_nowait("/quit" if is_second else "/stop")
                else:
                    self.status = 128 + number
                    self._lines.put_nowait(None)
