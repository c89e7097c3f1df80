"""This program's side of the keeper: starts commands through it and waits for their end.

Invariant: what a command started is gone when `Child.end` returns, and soon after this process ends however it ends: the
sockets to the keeper and its wardens are held by this process alone, so the kernel cuts them.
"""

import json
import os
import secrets
import select
import signal
import socket
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import anyio

from tui_agent.ports.environment import Holding
from tui_agent.workspace.local import reaper as keeper
from tui_agent.workspace.local.cgroups import own_groups

START_S = 20.0
"""How long a start may take; a machine under load is slow to fork."""
CLOSE_S = 5.0
MOST_PROCESSES = min(4_096, 512 + 256 * (os.cpu_count() or 1))
"""Processes and threads that one command may have at a time, where that can be bounded: as many as builds use on so
many cores, and no more, since those that only fork take the processor from everything else until they are ended."""
_LINE = 4096


@dataclass(frozen=True, slots=True)
class Refused:
    """A command that could not be started: what the error number is about (`cwd` or `program`)."""

    where: str
    errno: int


class KeeperFault(Exception):
    """The keeper itself could not be started, or is gone."""


class Child:
    """A running command and all that came of it; to be used by one task at a time, but for `kill`."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._heard = b""
        self.pid = 0
        self.holding = Holding()
        self.code: int | None = None
        """How the command itself ended, as `subprocess` counts; None as long as it runs."""
        self.gone = False

    def await_start(self) -> Refused | None:
        """Wait until it runs. Blocking: meant for a thread."""
        self._line.settimeout(START_S)
        while b"\n" not in self._heard:
            data = self._line.recv(_LINE)
            if not data:
                raise KeeperFault("The keeper of commands ended before the command began.")
            self._heard += data
        self._line.setblocking(False)
        line, _, self._heard = self._heard.partition(b"\n")
        word, first, rest = line.decode().split(" ", 2)
        if word == "failed":
            self.gone = True
            return Refused(first, int(rest))
        told = json.loads(rest)
        self.pid = int(first)
        self.holding = Holding(
            reaper=told["reaper"],
            cgroup_kill=told["cgroup_kill"],
            processes=told["cgroup_processes"] or told["uid_processes"],
            by="cgroup" if told["cgroup_processes"] else "uid" if told["uid_processes"] else "",
        )
        self._take(b"")
        return None

    async def wait(self) -> None:
        """Return when the command itself has ended; what it started may go on."""
        while self.code is None and not self.gone:
            await self._more()

    async def end(self, grace: float) -> None:
        """End all: SIGTERM, up to `grace` seconds, SIGKILL. Returns when nothing is left."""
        self._say(f"end {grace:g}")
        while not self.gone:
            await self._more()

    def kill(self) -> None:
        """Kill all at once, without waiting."""
        self._say("kill")

    def close(self) -> None:
        """Let go of the line; whatever were left is killed."""
        self._line.close()

    async def _more(self) -> None:
        await anyio.wait_readable(self._line)
        try:
            data = self._line.recv(_LINE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._take(data)
        if not data:  # its warden was killed; the keeper ends what was below it
            self.gone = True
            self.code = -signal.SIGKILL if self.code is None else self.code

    def _take(self, data: bytes) -> None:
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == "ended":
                self.code = int(rest)
            elif word == "gone":
                self.gone = True

    def _say(self, message: str) -> None:
        if not self.gone and self._line.fileno() >= 0:
            with suppress(OSError):
                self._line.send(message.encode() + b"\n")


class Keeping:
    """The keeper of one environment's commands.

    `processes` is how many one command may have, where that can be bounded; `groups` tells below which control groups
    others may be made.
    """

    def __init__(
        self, processes: int = MOST_PROCESSES, groups: Callable[[], Sequence[str]] = own_groups
    ) -> None:
        self._name = f"tui-agent-{secrets.token_hex(8)}"
        self._processes = processes
        self._groups = groups
        self._lock = Lock()
        self._line: socket.socket | None = None
        self.pid = -1
        self._count = 0
        self._closed = False
        self._children: weakref.WeakSet[Child] = weakref.WeakSet()

    def launch(
        self,
        argv: Sequence[str],
        folder: int,
        env: Mapping[str, str],
        given: Mapping[int, int],
        *,
        wrapped: bool = False,
    ) -> Child | Refused:
        """Start a command in a folder, given by a descriptor of it. `given` are the descriptors that it has, by the
        number at which it finds each; `wrapped`: it only holds another, which is to hear a SIGTERM in its place. Blocking: meant for a thread.

        Raises `KeeperFault`, and OSError where descriptors or memory have run out.
        """
        ours, theirs = socket.socketpair()
        child = Child(ours)
        try:
            with theirs, self._lock:
                line = self._started()
                self._count += 1
                order = {
                    "argv": list(argv),
                    "env": dict(env),
                    "places": list(given),
                    "name": f"{self._name}-{self._count}",
                    "wrapped": wrapped,
                }
                data = json.dumps(order).encode()
                sent = [theirs.fileno(), folder, *given.values()]
                socket.send_fds(line, [len(data).to_bytes(4, "big")], sent)
                line.sendall(data)
            refused = child.await_start()
        except BaseException:
            child.close()
            raise
        if refused is not None:
            child.close()
            return refused
        self._children.add(child)
        return child

    def close(self) -> int:
        """Kill all that runs and let the keeper go; how many processes there were. Blocking: meant for a thread."""
        with self._lock:
            self._closed = True
            line, self._line = self._line, None
        if line is None:
            return 0
        for child in tuple(self._children):
            child.kill()
        with line:
            line.shutdown(socket.SHUT_WR)
            line.settimeout(CLOSE_S)
            said = b""
            with suppress(OSError):
                while data := line.recv(64):
                    said += data
        self._reap(CLOSE_S if said else 0.0)
        return int(said or b"0")

    def _started(self) -> socket.socket:
        """The line to the keeper, which is started where it is not yet, or where it was killed."""
        if self._closed:
            raise KeeperFault("The environment is closed.")
        if self._line is not None and not _is_cut(self._line):
            return self._line
        if self._line is not None:
            self._line.close()
            self._reap(0.0)
        ours, theirs = socket.socketpair()
        options = {
            "groups": list(self._groups()),
            "processes": self._processes,
            "uid_processes": uid_processes(self._processes),
        }
        with theirs:
            try:
                self.pid = os.posix_spawn(
                    sys.executable,
                    [sys.executable, "-I", "-S", "-X", "utf8", keeper.__file__, json.dumps(options)],
                    {},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                        (os.POSIX_SPAWN_DUP2, 1, 2),
                    ],
                )
            except OSError as error:
                ours.close()
                raise KeeperFault(f"The keeper of commands could not be started: {error}.") from error
        self._line = ours
        release = weakref.finalize(self, ours.close)  # also where nobody closes the environment
        release.atexit = False
        return ours

    def _reap(self, patience: float) -> None:
        end = time.monotonic() + patience
        with suppress(ChildProcessError, OSError):
            if hasattr(os, "pidfd_open"):
                handle = os.pidfd_open(self.pid)
                select.select([handle], [], [], max(0.0, end - time.monotonic()))
                os.close(handle)
            os.waitpid(self.pid, os.WNOHANG if hasattr(os, "pidfd_open") else 0)


def _is_cut(line: socket.socket) -> bool:
    """The keeper says nothing before its end: what can be read is that."""
    return bool(select.select([line], [], [], 0)[0])


def uid_processes(processes: int) -> int:
    """How many processes this user may have in all so that one command can start `processes`; 0 where the kernel does
    not count (a privileged user) or tells nothing."""
    if os.getuid() == 0 or not keeper.LINUX:
        return 0
    mine, count = os.getuid(), 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if entry.stat().st_uid == mine:
                    count += sum(1 for _ in (entry / "task").iterdir())
    return count + processes
