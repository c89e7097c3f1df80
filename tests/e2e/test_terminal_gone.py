"""A terminal that vanishes without a signal: the app and its engine end, instead of reading its end for ever."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.stubs.left_out import only_where

PATIENCE = 20.0


def _engines(parent: int) -> list[int]:
    """Live processes whose parent is `parent`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def _ended(pid: int) -> bool:
    """Wait for a process that is not ours to reap; its descriptor becomes readable when it ends."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], PATIENCE)[0])
    finally:
        os.close(watched)


@pytest.mark.e2e
@only_where(hasattr(os, "pidfd_open"), "watches processes by descriptors, which this system has not")
def test_an_orphan_whose_terminal_is_gone_ends_and_so_does_its_engine(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tui_agent", "demo", "--data-dir", str(tmp_path / "data")]
    app = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=tmp_path, start_new_session=True
    )
    os.close(theirs)
    seen, until = b"", time.monotonic() + PATIENCE
    while b"tui-agent" not in seen and time.monotonic() < until:
        if select.select([ours], [], [], 0.2)[0]:
            seen += os.read(ours, 65536)
    assert b"tui-agent" in seen
    children = _engines(app.pid)
    os.close(ours)
    try:
        app.wait(PATIENCE)
    finally:
        app.kill()
        app.wait()
    for child in children:
        assert _ended(child), f"process {child} is still there"
