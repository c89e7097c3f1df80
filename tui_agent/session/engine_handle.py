"""The engine's process as its starter holds it. Standard library only: it is started before anything is drawn."""

import contextlib
import json
import subprocess
import sys
import tempfile
from typing import IO

from tui_agent.config.options import SessionOptions

TAIL = 4000


class EngineHandle:
    """A started engine process: its pipes, and what it wrote to standard error."""

    def __init__(self, child: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
        self.child = child
        self._errors = errors

    @classmethod
    def start(cls, options: SessionOptions) -> "EngineHandle":
        """Start the process and give it its options; waits for nothing.

        `-P`: the folder that is worked in is no place to import from.
        """
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process does
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "tui_agent.engine_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        handle = cls(child, errors)
        handle.send(json.dumps({"options": options.to_json()}).encode() + b"\n")
        return handle

    def send(self, line: bytes) -> bool:
        """Write one line to the engine; False when it is gone."""
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(line)
            self.child.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def last_words(self) -> str:
        """The end of what the engine wrote to standard error."""
        size = self._errors.seek(0, 2)
        self._errors.seek(max(0, size - TAIL))
        return self._errors.read().decode("utf-8", "replace").strip()

    def close(self, seconds: float) -> int | None:
        """Close the pipes, wait, and kill what still runs then. Blocks; the exit status, None if it was killed."""
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
