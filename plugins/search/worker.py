"""The process that tries the expression, seen from here. Blocking: `scan` is called in a thread."""

import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PROGRAM = Path(__file__).with_name("regex_worker.py")
LENGTH = struct.Struct(">I")


class WorkerEnded(Exception):
    """The process is gone: it was closed, or could not go on."""


class Worker:
    """Started by the first `scan`; `close` ends it at once, whatever it does, and `scan` then raises."""

    def __init__(self, pattern: str, ignore_case: bool, limit: int) -> None:
        self._query = json.dumps({"pattern": pattern, "ignore_case": ignore_case, "limit": limit})
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def scan(self, texts: Sequence[str]) -> list[list[int]]:
        """For each text the numbers of the lines that fit, at most as many as the limit."""
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        found: list[list[int]] = []
        try:
            for text in texts:
                data = text.encode("utf-8", "replace")
                process.stdin.write(LENGTH.pack(len(data)) + data)
                process.stdin.flush()
                answer = process.stdout.readline()
                if not answer:
                    raise WorkerEnded
                found.append(json.loads(answer))
        except (OSError, ValueError) as error:
            raise WorkerEnded from error
        return found

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            (sys.executable, "-I", "-S", str(PROGRAM), self._query),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._process = process
        if self._closed:
            self.close()
        return process
