"""A program in a pseudo terminal: keys go in, and the screen is looked at as a person would see it."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.screen import Screen

PATIENCE = 60.0
AGAIN = 1.5
YES = "\x1b[By"
"""Answers yes. The arrow key leaves a message that began with a `y` typed before the question was there."""


class Terminal:
    """One start of a program on a screen of `size` (columns, lines). Use it as a context manager."""

    def __init__(
        self, command: Sequence[str], *, size: tuple[int, int], cwd: Path, environment: Mapping[str, str]
    ) -> None:
        self.screen = Screen(*size)
        self.output = b""
        self._master, slave = os.openpty()
        self._resize(slave, size)

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"},
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(slave)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    @staticmethod
    def _resize(descriptor: int, size: tuple[int, int]) -> None:
        columns, lines = size
        fcntl.ioctl(
            descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, columns * 10, lines * 20)
        )

    def resize(self, columns: int, lines: int) -> None:
        """Another size, as when a window is dragged."""
        self.screen = Screen(columns, lines)
        self._resize(self._master, (columns, lines))

    @property
    def text(self) -> str:
        """The screen as it is now, line by line."""
        return "\n".join(line.rstrip() for line in self.screen.text())

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def press_until(self, key: str, seen: Callable[[str], bool], what: str, again_s: float = AGAIN) -> str:
        """Press a key, again where nothing comes of it: a question is deaf at first to keys that were typed blindly.

        `again_s`: seconds before the key is pressed again.
        """
        for _ in range(int(PATIENCE / again_s)):
            self.send(key)
            again = time.monotonic() + again_s
            while not seen(self.text) and (left := again - time.monotonic()) > 0:
                self._read(left)
            if seen(self.text):
                return self.text
        raise AssertionError(f"pressed {key!r} in vain for {what}; {self._state()}")

    def until(self, seen: Callable[[str], bool], what: str, patience: float = PATIENCE) -> str:
        """Read until the screen is as wanted. Fails with the screen, and the program's exit status if it has ended."""
        end = time.monotonic() + patience
        while not seen(self.text):
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"waited in vain for {what}; {self._state()}")
        return self.text

    def _state(self) -> str:
        status = self.process.poll()
        ended = "" if status is None else f"the program has ended with status {status}; "
        last = "" if self.text.strip() else f"; the last output:\n{self.output[-2_000:]!r}"
        return f"{ended}the screen:\n{self.text}{last}"

    def read_for(self, seconds: float) -> None:
        """Read whatever comes in this time, or until the program has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._read(left):
            pass

    def until_text(self, text: str) -> str:
        """Read until `text` stands on the screen."""
        return self.until(lambda screen: text in screen, repr(text))

    def until_end(self) -> int:
        """Read until the program has ended; its exit status."""
        end = time.monotonic() + PATIENCE
        while self._read(end - time.monotonic()):
            pass
        return self.process.wait(timeout=PATIENCE)

    def _read(self, seconds: float) -> bool:
        """Take in what comes next; False where nothing more does."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        if data:
            self.output += data
            answers = self.screen.feed(data)
            if answers:
                self.send(answers)
        return bool(data)
