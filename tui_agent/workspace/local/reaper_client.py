"""Client of the reaper process (see `reaper`): starts commands through it and waits for them.

Invariant: when `Child.end` returns, all processes of the command have ended.
"""

import json
import os
import secrets
import select
import socket
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from tui_agent.workspace.local import reaper as reaper
from tui_agent.workspace.local.running_command import Child, ReaperError, StartFailure

CLOSE_TIMEOUT_S = 5.0
MAX_PROCESSES = min(4_096, 512 + 256 * (os.cpu_count() or 1))
"""Process limit per command: enough for a parallel build, low enough to stop a fork bomb."""
_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")


def find_own_groups(mounts: Path = _MOUNTS, own: Path = _OWN) -> list[str]:
    """Return the writable cgroup folders of this process: in the unified and in the older `pids` hierarchy."""
    try:
        mount_points = _read_mount_points(mounts.read_text().splitlines())
        lines = own.read_text().splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        mount_point = mount_points.get("pids" if "pids" in controllers.split(",") else controllers)
        if mount_point is not None and controllers in ("", "pids"):
            folder = Path(mount_point + path.rstrip("/")) if path != "/" else Path(mount_point)
            if os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
                folders.append(str(folder))
    return folders


def _read_mount_points(lines: list[str]) -> dict[str, str]:
    """Return the mount points of control groups, by the key "" (unified hierarchy) or `pids` (older hierarchy)."""
    mount_points: dict[str, str] = {}
    for line in lines:
        mount, _, file_system = line.partition(" - ")
        kind, _, options = file_system.split(" ", 2)
        if kind == "cgroup2":
            mount_points.setdefault("", mount.split(" ")[4])
        elif kind == "cgroup" and "pids" in options.split(","):
            mount_points.setdefault("pids", mount.split(" ")[4])
    return mount_points


class ReaperClient:
    """Starts one environment's commands through a reaper process.

    - `processes`: process limit per command, if the system can enforce one
    - `groups`: function that returns the parent control groups. In each parent group, each command gets its own control
      group.
    """

    def __init__(
        self, processes: int = MAX_PROCESSES, groups: Callable[[], Sequence[str]] = find_own_groups
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
        child_descriptors: Mapping[int, int],
        *,
        wrapped: bool = False,
        cleanup: Sequence[str] = (),
    ) -> Child | StartFailure:
        """Start a command in the folder whose file descriptor is `folder`.

        Blocks: call it in a thread.

        - `child_descriptors`: maps the descriptor numbers that the command expects to our descriptors
        - `wrapped`: True if the command only runs another program. SIGTERM is sent to that program.
        - `cleanup`: a program to run after the command, if this process ends before the command

        Raise `ReaperError`, or `OSError` if there are no free descriptors or memory.
        """
        own_end, warden_end = socket.socketpair()
        child = Child(own_end)
        try:
            # The descriptors and the data of an order are two messages, so the lock keeps other orders from between them.
            with warden_end, self._lock:
                line = self._connect()
                self._count += 1
                order = {
                    "argv": list(argv),
                    "env": dict(env),
                    "places": list(child_descriptors),
                    "name": f"{self._name}-{self._count}",
                    "wrapped": wrapped,
                    "cleanup": list(cleanup),
                }
                data = json.dumps(order).encode()
                descriptors = [warden_end.fileno(), folder, *child_descriptors.values()]
                socket.send_fds(line, [len(data).to_bytes(4, "big")], descriptors)
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
        """Kill all running commands, end the reaper, and return the number of killed processes.

        Blocks: call it in a thread.
        """
        with self._lock:
            self._closed = True
            line, self._line = self._line, None
        if line is None:
            return 0
        for child in tuple(self._children):
            child.kill()
        with line:
            line.shutdown(socket.SHUT_WR)  # the reaper ends, and answers with the number of killed processes
            line.settimeout(CLOSE_TIMEOUT_S)
            reply = b""
            with suppress(OSError):
                while data := line.recv(64):
                    reply += data
        self._reap(CLOSE_TIMEOUT_S if reply else 0.0)
        return int(reply or b"0")

    def _connect(self) -> socket.socket:
        if self._closed:
            raise ReaperError("The environment is closed.")
        if self._line is not None and not _is_closed(self._line):
            return self._line
        if self._line is not None:
            self._line.close()
            self._reap(0.0)
        own_end, reaper_end = socket.socketpair()
        options = {
            "groups": list(self._groups()),
            "processes": self._processes,
            "uid_processes": user_process_limit(self._processes),
        }
        with reaper_end:
            try:
                self.pid = os.posix_spawn(
                    sys.executable,
                    # Isolated, and with an empty environment: nothing of the user's can change how the reaper works.
                    [sys.executable, "-I", "-S", "-X", "utf8", reaper.__file__, json.dumps(options)],
                    {},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, reaper_end.fileno(), 0),
                        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                        (os.POSIX_SPAWN_DUP2, 1, 2),
                    ],
                )
            except OSError as error:
                own_end.close()
                raise ReaperError(
                    f"The process that starts commands could not be started: {error}."
                ) from error
        self._line = own_end
        release = weakref.finalize(self, own_end.close)  # also closes it if nobody closes the environment
        release.atexit = False
        return own_end

    def _reap(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        with suppress(ChildProcessError, OSError):
            if hasattr(os, "pidfd_open"):
                handle = os.pidfd_open(self.pid)
                select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
                os.close(handle)
            os.waitpid(self.pid, os.WNOHANG if hasattr(os, "pidfd_open") else 0)


def _is_closed(line: socket.socket) -> bool:
    """Return True if the reaper has ended."""
    # The reaper sends nothing on this socket, so it becomes readable only when it is closed.
    return bool(select.select([line], [], [], 0)[0])


def user_process_limit(processes: int) -> int:
    """Return the RLIMIT_NPROC that lets a command start `processes` processes; 0 for no limit."""
    # The kernel counts all processes of the user, so their present number is added. Root has no such limit.
    if os.getuid() == 0 or not reaper.LINUX:
        return 0
    own_uid, count = os.getuid(), 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if entry.stat().st_uid == own_uid:
                    count += sum(1 for _ in (entry / "task").iterdir())
    return count + processes
