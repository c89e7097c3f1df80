"""A command that the reaper process runs (see `reaper`), with all its processes.

Invariant: when `Child.end` returns, all processes of the command have ended.
"""

import json
import signal
import socket
from contextlib import suppress

import anyio

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import ProcessControl
from tui_agent.workspace.local import reaper as reaper

START_TIMEOUT_S = 20.0
"""Maximum seconds to wait for the start of a command; a machine under load forks slowly."""
_RECEIVE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class StartFailure:
    """The reason why a command did not start.

    `where`: what could not be used: `cwd` (the working folder) or `program`.
    """

    where: str
    errno: int


class ReaperError(Exception):
    """Raised if the reaper process could not be started, or has ended."""


class Child:
    """A running command and its processes. Only `kill` can be called while another task uses the object."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._buffer = b""
        self.pid = 0
        self.limits = ProcessControl()
        self.code: int | None = None
        """Exit code of the command itself (a `subprocess` return code); None while it runs."""
        self.is_gone = False
        self.leftover_count = 0
        """Number of processes that still ran when the command itself had ended."""

    def await_start(self) -> StartFailure | None:
        """Wait until the command has started, or return why it failed. Blocks: call it in a thread."""
        self._line.settimeout(START_TIMEOUT_S)
        while b"\n" not in self._buffer:
            data = self._line.recv(_RECEIVE_BYTES)
            if not data:
                raise ReaperError("The process that starts commands ended before this command started.")
            self._buffer += data
        self._line.setblocking(False)
        line, _, self._buffer = self._buffer.partition(b"\n")
        kind, first, rest = line.decode().split(" ", 2)
        if kind == "failed":
            self.is_gone = True
            return StartFailure(first, int(rest))
        limits = json.loads(rest)
        self.pid = int(first)
        self.limits = ProcessControl(
            reaper=limits["reaper"],
            cgroup_kill=limits["cgroup_kill"],
            max_processes=limits["cgroup_processes"] or limits["uid_processes"],
            limited_by="cgroup" if limits["cgroup_processes"] else "uid" if limits["uid_processes"] else "",
        )
        self._parse_messages(b"")
        return None

    async def wait(self) -> None:
        """Wait until the command itself has ended. The command's child processes can still be running."""
        while self.code is None and not self.is_gone:
            await self._receive_more()

    async def end(self, grace: float) -> None:
        """End all processes of the command: SIGTERM, `grace` seconds of waiting, SIGKILL."""
        self._send_line(f"end {grace:g}")
        while not self.is_gone:
            await self._receive_more()

    def kill(self) -> None:
        """Kill all processes of the command without waiting."""
        self._send_line("kill")

    def close(self) -> None:
        """Close the socket to the command's warden, which then kills the remaining processes."""
        self._line.close()

    async def _receive_more(self) -> None:
        await anyio.wait_readable(self._line)
        try:
            data = self._line.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._parse_messages(data)
        if not data:  # the warden was killed, so the reaper kills the warden's tree
            self.is_gone = True
            self.code = -signal.SIGKILL if self.code is None else self.code

    def _parse_messages(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            kind, _, rest = line.decode().partition(" ")
            if kind == "ended":
                self.code = int(rest)
            elif kind == "gone":
                self.is_gone = True
                self.leftover_count = int(rest)

    def _send_line(self, message: str) -> None:
        if not self.is_gone and self._line.fileno() >= 0:
            with suppress(OSError):
                self._line.send(message.encode() + b"\n")
