"""A guard against calls of `os._exit` in other people's code. Such a call would end the process without a message.

Invariant: only calls from guarded files in this process are changed.
"""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

_end_process = os._exit
_guarded: set[str] = set()


def guard_code(path: Path) -> None:
    """Make `os._exit` raise `SystemExit` if code in this file or folder calls it, directly or indirectly."""
    _guarded.add(str(path))
    own_process = os.getpid()

    def end_process(status: int) -> NoReturn:
        caller = sys._getframe(1)
        is_ours = str(caller.f_globals.get("__name__", "")).split(".")[0] == "tui_agent"
        if os.getpid() == own_process and not is_ours and _is_called_by_guarded_code(caller):
            raise SystemExit(f"os._exit({status}) would end tui-agent itself; raise an error instead")
        _end_process(status)

    os._exit = end_process


def _is_called_by_guarded_code(frame: FrameType | None) -> bool:
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _guarded or any(parent in _guarded for parent in _parents(file)):
            return True
        frame = frame.f_back
    return False


def _parents(file: str) -> list[str]:
    return [str(parent) for parent in Path(file).parents]
