"""The child process of the panes: `python -m tui_agent.plugin_host.panes.pane_server`.

Invariant: the process ends when the app is gone, and ends with a traceback when a plugin exceeds a time limit.
"""

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.plugin_functions import Fold, FunctionPane
from tui_agent.plugin_host.panes.pane_folds import FoldCursor, FoldWatch, draw_pane, load_panes
from tui_agent.plugin_host.panes.pane_messages import (
    IMPORT_LIMIT_S,
    PROCESSOR_LIMIT_S,
    WAIT_LIMIT_S,
    PaneFault,
    PaneProgress,
    PaneRequest,
    PaneUnchanged,
)

SLICE_S: Final = 0.1
"""Interval between `PaneProgress` messages, in seconds."""


class Deadline:
    """Limits on the plugin's time. At a limit, the process ends with a traceback on `output`."""

    # The limit for computing counts processor time: on a busy machine, a quick plugin can take seconds of elapsed time.

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        faulthandler.register(
            signal.SIGPROF, output, chain=True
        )  # `chain`: after the traceback, the signal ends the process

    def set(self, processor_s: float = PROCESSOR_LIMIT_S, elapsed_s: float = WAIT_LIMIT_S) -> None:
        """Restart both countdowns: processor time and elapsed time."""
        signal.setitimer(signal.ITIMER_PROF, processor_s)
        faulthandler.dump_traceback_later(elapsed_s, exit=True, file=self._output)

    def clear(self) -> None:
        """Stop the countdowns, because no code of the plugin runs any more."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


class PaneServer(FoldWatch):
    """Answers requests for panes, and keeps each fold for the next request.

    `send`: function that sends the bytes of an answer to the app.
    """

    def __init__(self, send: Callable[[bytes], object], deadline: Deadline) -> None:
        self._send = send
        self._deadline = deadline
        self._panes: dict[str, dict[str, FunctionPane]] = {}
        """Maps a plugin's folder to the plugin's panes."""
        self._cursors: dict[tuple[str, Callable[[], Fold]], FoldCursor] = {}
        self._drawn: dict[str, bytes] = {}
        self._slice_ends = 0.0

    def serve_line(self, line: bytes) -> None:
        """Answer the request in one line of the input."""
        request = PaneRequest.model_validate_json(line)
        try:
            seq, blocks = self._draw(request)
        except TuiAgentError as error:
            answer = PaneFault(message=str(error)).model_dump_json().encode()
        else:
            if self._drawn.get(request.pane) == blocks:
                answer = PaneUnchanged(seq=seq).model_dump_json().encode()
            else:
                answer = b'{"kind":"blocks","seq":%d,"blocks":%b}' % (seq, blocks)
                self._drawn[request.pane] = blocks
        finally:
            self._deadline.clear()
        self._send(answer + b"\n")

    def _draw(self, request: PaneRequest) -> tuple[int, bytes]:
        folder = Path(request.folder)
        if request.folder not in self._panes:
            self._deadline.set(IMPORT_LIMIT_S, IMPORT_LIMIT_S + WAIT_LIMIT_S)
            self._panes[request.folder] = load_panes(request.plugin, folder)
        pane = self._panes[request.folder].get(request.pane)
        if pane is None:
            raise PluginError(f"folds.py has no function {request.pane} with @pane.")
        key = request.folder, pane.fold
        cursor = self._cursors.get(key)
        if cursor is None:
            cursor = self._cursors[key] = FoldCursor(pane.fold, folder, Path(request.log), self)
        self._begin_slice()
        cursor.move_to(request.seq)
        self._deadline.set()
        return cursor.seq, draw_pane(pane, cursor.fold, folder)

    def before_reading(self) -> None:
        self._deadline.clear()
        self._slice_ends = 0.0

    def before_event(self, seq: int) -> None:
        if time.monotonic() >= self._slice_ends:
            if self._slice_ends:
                self._send(PaneProgress(seq=seq).model_dump_json().encode() + b"\n")
            self._begin_slice()

    def _begin_slice(self) -> None:
        self._slice_ends = time.monotonic() + SLICE_S
        self._deadline.set()


def main() -> None:
    """Serve requests on standard input until the input ends."""
    sys.dont_write_bytecode = True  # write no .pyc files into the user's folders
    with (
        os.fdopen(os.dup(0), "rb") as requests,
        os.fdopen(os.dup(1), "wb", buffering=0) as output,
        Path(os.devnull).open("rb") as empty,
    ):
        os.dup2(2, 1)  # a plugin's output must not be taken for an answer
        os.dup2(empty.fileno(), 0)  # and a plugin must not read the requests
        server = PaneServer(output.write, Deadline(output))
        for line in requests:
            server.serve_line(line)


if __name__ == "__main__":
    main()
