"""The child process of the panes: `python -m tui_agent.plugin_host.pane_server LIMIT_S`.

Invariant: ends by itself once the app is gone, and as soon as a plugin has not returned for `LIMIT_S` seconds (wherever
it is, even in C code); then the traceback precedes the end of the output. What plugins print goes to standard error.
"""

import faulthandler
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.plugin_functions import Fold, FunctionPane
from tui_agent.plugin_host.pane_folds import FoldCursor, FoldWatch, draw_pane, load_panes
from tui_agent.plugin_host.pane_messages import (
    PaneFault,
    PaneProgress,
    PaneRequest,
    PaneUnchanged,
)

IMPORT_LIMIT_S: Final = 5.0
"""Seconds for the import of `folds.py`."""
SLICE_S: Final = 0.1
"""Seconds between two `PaneProgress`."""


class Deadline:
    """The time by which the plugin has to return; the process ends with a traceback on `output` if it does not."""

    def __init__(self, output: BinaryIO, limit_s: float) -> None:
        self._output, self._limit_s = output, limit_s

    def set(self, least_s: float = 0.0) -> None:
        """Start the time again: at least `least_s` seconds."""
        faulthandler.dump_traceback_later(max(self._limit_s, least_s), exit=True, file=self._output)

    def clear(self) -> None:
        """Stop the time, because no plugin runs."""
        faulthandler.cancel_dump_traceback_later()


class PaneServer(FoldWatch):
    """Answers requests for panes; each fold is kept for the next request. `send` writes a line to the app."""

    def __init__(self, send: Callable[[bytes], object], deadline: Deadline) -> None:
        self._send = send
        self._deadline = deadline
        self._panes: dict[str, dict[str, FunctionPane]] = {}
        """The panes of each plugin's folder."""
        self._cursors: dict[tuple[str, Callable[[], Fold]], FoldCursor] = {}
        self._drawn: dict[str, bytes] = {}
        self._slice_ends = 0.0

    def serve_line(self, line: bytes) -> None:
        """Answer the request in a line."""
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
            self._deadline.set(IMPORT_LIMIT_S)
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
    """Serve requests on standard input until it ends."""
    sys.dont_write_bytecode = True  # no files of ours in the user's folders
    with (
        os.fdopen(os.dup(0), "rb") as requests,
        os.fdopen(os.dup(1), "wb", buffering=0) as output,
        Path(os.devnull).open("rb") as empty,
    ):
        os.dup2(2, 1)  # what a plugin prints is no answer
        os.dup2(empty.fileno(), 0)  # and what it reads is no request
        server = PaneServer(output.write, Deadline(output, float(sys.argv[1])))
        for line in requests:
            server.serve_line(line)


if __name__ == "__main__":
    main()
