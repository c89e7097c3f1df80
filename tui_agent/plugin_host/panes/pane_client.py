"""Client of the child process that draws the panes of plugins.

Invariant: every request ends with an answer, whatever the plugin does.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tui_agent.plugin_host.panes.pane_messages import (
    IMPORT_LIMIT_S,
    MAX_BYTES,
    PROCESSOR_LIMIT_S,
    WAIT_LIMIT_S,
    PaneAnswer,
    PaneFault,
    PaneProgress,
    PaneRequest,
    read_message,
)
from tui_agent.units import format_time_limit

SILENCE_LIMIT_S: Final = 30.0
"""Kill the child process if it sends no message for this many seconds."""
MAX_LINE: Final = 2 * MAX_BYTES
_FRAME = re.compile(rb'File "([^"]+)", line (\d+) in (\w+)')


class PaneClient:
    """The child process of one session's panes, started at the first request. It handles one request at a time."""

    def __init__(self) -> None:
        self._child: Process | None = None
        self._lines: BufferedByteReceiveStream
        self.starts = 0
        """Number of times that a child was started."""

    async def ask(self, request: PaneRequest, progress: Callable[[int], object]) -> PaneAnswer:
        """Return the answer to a request. A child that is killed from outside is restarted once.

        `progress`: called with the number of the last event that the pane's fold has received.
        """
        answer = await self._ask_once(request, progress)
        return (
            answer
            or await self._ask_once(request, progress)
            or self._stop_fault("its process was killed twice")
        )

    async def _ask_once(self, request: PaneRequest, progress: Callable[[int], object]) -> PaneAnswer | None:
        """Return the child's answer; None if the child died without an answer."""
        trace: list[bytes] = []
        try:
            with anyio.fail_after(SILENCE_LIMIT_S) as limit:
                child = await self._start()
                assert child.stdin is not None
                await child.stdin.send(request.model_dump_json().encode() + b"\n")
                while True:
                    line = await self._lines.receive_until(b"\n", MAX_LINE)
                    message = read_message(line)
                    limit.deadline = anyio.current_time() + SILENCE_LIMIT_S
                    match message:
                        case None:
                            trace.append(line)
                        case PaneProgress():
                            progress(message.seq)
                        case _:
                            return message
        except TimeoutError:
            await self.close()
            return self._stop_fault(f"no answer for {format_time_limit(SILENCE_LIMIT_S)}")
        except (
            anyio.EndOfStream,
            anyio.IncompleteRead,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
        ):
            await self.close()
            return self._timed_out(request, trace) if trace else None
        except anyio.DelimiterNotFound:
            await self.close()
            return self._stop_fault("its answer was too long")

    def _timed_out(self, request: PaneRequest, trace: list[bytes]) -> PaneFault:
        """Return the error about a plugin that took too long. The error names the line that was running."""
        waited = any(line.startswith(b"Timeout") for line in trace)
        is_import = any(b" in load_panes" in line for line in trace)
        computing_s = IMPORT_LIMIT_S if is_import else PROCESSOR_LIMIT_S
        waiting_s = IMPORT_LIMIT_S + WAIT_LIMIT_S if is_import else WAIT_LIMIT_S
        spent = (
            f"{format_time_limit(waiting_s)} of waiting"
            if waited
            else f"{format_time_limit(computing_s)} of computing"
        )
        reason = f"{spent} without an answer"
        root = f"{request.folder}/"
        frames = (match for line in trace if (match := _FRAME.search(line)))
        for path, number, function in (frame.groups() for frame in frames):
            name = os.fsdecode(path)
            if name.startswith(root):
                where = f"{name.removeprefix(root)}:{number.decode()}, in {function.decode()}"
                return self._stop_fault(f"{reason} ({where})")
        return self._stop_fault(reason)

    @staticmethod
    def _stop_fault(reason: str) -> PaneFault:
        return PaneFault(message=f"Stopped: {reason}.", stopped=True)

    async def _start(self) -> Process:
        if self._child is None:
            self.starts += 1
            self._child = await anyio.open_process(
                # -P: do not import from the work folder
                [sys.executable, "-P", "-m", "tui_agent.plugin_host.panes.pane_server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            assert self._child.stdout is not None
            self._lines = BufferedByteReceiveStream(self._child.stdout)
        return self._child

    async def close(self) -> None:
        """Kill the child and all its processes; the next request starts a new child."""
        child, self._child = self._child, None
        if child is None:
            return
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    await stream.aclose()
