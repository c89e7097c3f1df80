"""Strays: processes that carry the variable which every command of an environment is started with.

The last line of defence, for those whose warden and keeper were both killed (see `keeping`). On Linux only; a process
that cleared its environment is not found.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
LINUX = sys.platform == "linux"


def carriers(marker: bytes) -> Iterator[int]:
    """All live processes that carry a marker which begins like this."""
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and carries(int(entry.name), marker):
            yield int(entry.name)


def carries(pid: int, marker: bytes) -> bool:
    """Whether the process's environment has a variable that begins with `marker`."""
    try:
        return (b"\0" + marker) in (b"\0" + (_PROC / str(pid) / "environ").read_bytes())
    except OSError:
        return False
