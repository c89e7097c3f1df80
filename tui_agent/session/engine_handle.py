"""Handle on the engine process, used by the app.

Invariant: imports only the standard library and the options, because it runs before the first screen is drawn.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from typing import IO

from tui_agent.config.options import SessionOptions

STDERR_TAIL_BYTES = 4000


class EngineHandle:
    """An engine process that was started: its pipes, and the end of its standard error."""

    def __init__(self, child: "subprocess.Popen[bytes]", errors: IO[bytes], first_line: bytes = b"") -> None:
        """`first_line` is sent by `release`; the process does nothing before it has this line."""
        self.child = child
        self._errors = errors
        self._first_line = first_line

    @classmethod
    def start(cls, options: SessionOptions, *, hold: bool = False) -> "EngineHandle":
        """Start the process and send it the options, without waiting. With `hold`, `release` sends them.

        `-P` prevents Python from importing modules in the working folder.
        """
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - needed as long as the process runs
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "tui_agent.engine_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        handle = cls(child, errors, json.dumps({"options": options.to_json()}).encode() + b"\n")
        if not hold:
            handle.release()
        return handle

    def release(self) -> None:
        """Send the options, so that the process starts its work. Does nothing if they were sent."""
        first_line, self._first_line = self._first_line, b""
        if first_line:
            self.send(first_line)

    def send(self, line: bytes) -> bool:
        """Write one line to the engine. Return False if the engine is gone."""
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(line)
            self.child.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def stderr_tail(self) -> str:
        """Return the end of the engine's standard error."""
        size = self._errors.seek(0, 2)
        self._errors.seek(max(0, size - STDERR_TAIL_BYTES))
        return self._errors.read().decode("utf-8", "replace").strip()

    def close(self, seconds: float) -> int | None:
        """Close the pipes, wait up to `seconds`, then kill the process. Blocking.

        Return the exit status, or None if the process was killed.
        """
        if self.child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.child.stdin.close()
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            return None
        finally:
            if self.child.stdout is not None:
                self.child.stdout.close()
            self._errors.close()
