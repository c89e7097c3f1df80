"""A guard against `os._exit` in users' Python files, which would end this process without a message.

Invariant: only calls from a guarded file are changed; in forked child processes, `os._exit` works as usual.
"""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

_end_process = os._exit
_guarded: set[str] = set()


def guard_file(path: Path) -> None:
    """Make `os._exit` raise `SystemExit` if the file calls it in this process, directly or through another function."""
    _guarded.add(str(path))
    own_process = os.getpid()

    def end_process(status: int) -> NoReturn:
        if os.getpid() == own_process and _is_called_by_guarded_file():
            raise SystemExit(f"os._exit({status}) would end tui-agent itself")
        _end_process(status)

    os._exit = end_process


def _is_called_by_guarded_file() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename not in _guarded:
        frame = frame.f_back
    return frame is not None
