"""L3: the processes that one started program has around it, found and ended.

Invariant: the program itself is reaped last, so that its process group's number cannot be given to others meanwhile.
On Linux descendants are found by session, group, parent, or the marker in their environment, so also those that left
the group; elsewhere by the group alone. A process that leaves its session, loses its parent and clears its environment
is not found.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import to_thread

_PROC = Path("/proc")
_POLL_S = 0.01
"""How often it is looked whether foreign processes are gone: the kernel tells only of one's own children."""
LINUX = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Seen:
    """A live process as /proc shows it."""

    pid: int
    parent: int
    group: int
    session: int


class Family:
    """A running program and all that came of it. `marker` is `NAME=value` as it stands in their environment."""

    def __init__(self, program: "subprocess.Popen[bytes]", marker: str) -> None:
        self._program = program
        # With its end: command 1 is not to take the processes of command 12 for its own.
        self._marker = marker.encode() + b"\0"

    @property
    def leader(self) -> int:
        return self._program.pid

    async def wait(self) -> None:
        """Return when the program itself has ended; it is not yet reaped."""
        if not hasattr(os, "pidfd_open"):
            await to_thread.run_sync(self._wait_in_thread, abandon_on_cancel=True)
            return
        try:
            handle = os.pidfd_open(self.leader)
        except OSError:
            await to_thread.run_sync(self._wait_in_thread, abandon_on_cancel=True)
            return
        try:
            await anyio.wait_readable(handle)
        finally:
            os.close(handle)

    async def end(self, grace: float) -> None:
        """End all: SIGTERM, up to `grace` seconds, SIGKILL. Returns when none is left."""
        try:
            if self._gone(signal.SIGTERM):
                return
            with anyio.move_on_after(grace):
                while True:
                    await anyio.sleep(_POLL_S)
                    if self._gone(None):
                        return
            while True:
                if self._gone(signal.SIGKILL):
                    return
                await anyio.sleep(_POLL_S)
        finally:
            self._program.poll()

    def kill(self) -> int:
        """Kill all at once, without waiting; returns how many there were."""
        others = others_of(self.leader, self._marker) if LINUX else []
        there = len(others) + (not self._has_ended())
        self._gone(signal.SIGKILL)
        return there

    def _gone(self, send: signal.Signals | None) -> bool:
        """Whether nothing is left; what is, is sent the signal."""
        ended = self._has_ended()
        others = others_of(self.leader, self._marker) if LINUX else []
        if ended and not others and (LINUX or not _group_lives(self.leader)):
            return True
        if send is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, send)
            for other in others:
                if other.group != self.leader:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(other.pid, send)
        return False

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):
            return self._program.poll() is not None
        try:
            found = os.waitid(os.P_PID, self.leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return found is not None

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.leader, os.WEXITED | os.WNOWAIT)
        else:
            self._program.wait()


def others_of(leader: int, marker: bytes) -> list[Seen]:
    """The live processes that belong to the leader, without itself. Looks only at those that came after it."""
    last = _last_pid()
    if last == leader:
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    if last > leader:
        pids = [pid for pid in pids if leader < pid <= last]
    members = [seen for seen in map(look, pids) if seen is not None and seen.pid != leader]
    found = {seen.pid for seen in members if seen.session == leader or seen.group == leader}
    found |= {seen.pid for seen in members if seen.pid not in found and carries(seen.pid, marker)}
    known = 0
    while len(found) != known:
        known = len(found)
        found |= {seen.pid for seen in members if seen.parent in found or seen.parent == leader}
    return [seen for seen in members if seen.pid in found]


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


def look(pid: int) -> Seen | None:
    """A process as it is, None where it is gone or only waits to be reaped."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return Seen(pid, int(fields[1]), int(fields[2]), int(fields[3]))


def _last_pid() -> int:
    """The newest process number that was given; -1 where that is not told."""
    try:
        return int((_PROC / "loadavg").read_text().split()[4])
    except (OSError, IndexError, ValueError):
        return -1


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
