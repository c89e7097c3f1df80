"""The reaper: a small process between tui-agent and all programs that its tools start.

The reaper uses only the standard library, and forks a *warden* for each command. On Linux, the warden registers as a
subreaper: it becomes the parent of all orphaned descendants of the command, even if they start a new session.

Invariant: when a command's socket to tui-agent is closed for any reason, the warden kills all processes of the
command.

Messages on a warden's socket, one per line:
- to tui-agent: `started PID JSON`, `failed WHERE ERRNO`, `ended CODE` (a `subprocess` return code), `gone KILLED`
- from tui-agent: `end SECONDS` (SIGTERM, then SIGKILL), `kill`
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LINUX = sys.platform == "linux"
PR_SET_CHILD_SUBREAPER = 36
MAX_OPEN_FILES = 65_536
"""Maximum number of open files of a command. Some programs close all possible descriptors, which takes long."""
OOM_SCORE = 500
"""Minimum `oom_score_adj` of commands: if memory is short, the kernel kills commands before tui-agent."""
KILL_INTERVAL_S = 0.01
"""Seconds between two rounds of killing a command's processes."""
EXIT_TIME_S = 0.02
"""Time for processes that are about to exit, in seconds: they do not count as left running."""
IGNORED_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
MAX_DESCRIPTORS = 32
"""Maximum number of descriptors in one order to start a command."""
MIN_DESCRIPTOR = 64
"""Lowest number for received descriptors, before they get the numbers that the command expects."""
_LENGTH_BYTES = 4


def main() -> None:
    """Serve tui-agent through the socket on descriptor 0, until it is closed and every warden has ended."""
    options = json.loads(sys.argv[1])
    for signal_number in IGNORED_SIGNALS:
        signal.signal(signal_number, signal.SIG_IGN)
    with suppress(OSError):
        os.setsid()
    channel = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # commands must not read from the socket
    # Commands must not inherit descriptors that were open when this program started.
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    Reaper(channel, options, become_reaper()).run()


def become_reaper() -> bool:
    """Make this process adopt orphaned descendants; return False if the system does not support it."""
    if not LINUX:
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class ChildNotifier:
    """A pipe that becomes readable when a child process ends."""

    def __init__(self) -> None:
        self.read, self._write = os.pipe()
        for end in (self.read, self._write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def clear(self) -> None:
        """Discard the notifications about ended children that are waiting in the pipe."""
        with suppress(BlockingIOError):
            while os.read(self.read, 512):
                pass


class Reaper:
    """Receives orders from tui-agent to start commands, and starts a warden for each order."""

    def __init__(self, line: socket.socket, options: dict[str, Any], adopts: bool) -> None:
        self._line = line
        self._options = options
        self._is_subreaper = adopts
        self._wakes = ChildNotifier()
        self._wardens: set[int] = set()
        self._open = True
        self._has_strays = False
        self._killed = 0

    def run(self) -> None:
        """Start commands for tui-agent until the socket is closed and no process is left."""
        while self._open or self._wardens or self._has_strays:
            poll = select.poll()
            poll.register(self._wakes.read, select.POLLIN)
            if self._open:
                poll.register(self._line, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(int(KILL_INTERVAL_S * 1000) if self._has_strays else None)}
            self._wakes.clear()
            if self._line.fileno() in ready:
                self._take_order()
            self._reap()
            if self._has_strays:
                self._killed += kill_descendants(os.getpid(), self._wardens)
                self._has_strays = bool(find_descendants(os.getpid(), self._wardens))
        with suppress(OSError):
            self._line.sendall(f"{self._killed}\n".encode())

    def _take_order(self) -> None:
        received = receive_order(self._line)
        if received is None:
            self._open = False
            return
        order, (control, *descriptors) = received
        # A fork starts much faster than a new Python.
        child = os.fork()
        if not child:
            self._become_warden(order, control, descriptors)
        self._wardens.add(child)
        for descriptor in (control, *descriptors):
            os.close(descriptor)

    def _become_warden(self, order: dict[str, Any], control: int, descriptors: list[int]) -> NoReturn:
        try:
            self._line.close()
            adopts = become_reaper() if self._is_subreaper else False
            warden = Warden(socket.socket(fileno=control), order, self._options, adopts)
            killed = warden.run(descriptors)
            if warden.is_abandoned and order["cleanup"]:
                os.execv(order["cleanup"][0], order["cleanup"])
            os._exit(min(killed, 100))
        finally:
            os._exit(101)  # never return into the reaper's own loop

    def _reap(self) -> None:
        for child, code in reap_children():
            if child in self._wardens:
                self._wardens.discard(child)
                self._killed += max(code, 0)
            # A warden that was killed or failed leaves its command's processes to the reaper.
            self._has_strays |= self._is_subreaper and not 0 <= code <= 100


class Warden:
    """Starts one command, adopts its orphaned processes, and ends all of its processes."""

    def __init__(
        self, line: socket.socket, order: dict[str, Any], options: dict[str, Any], adopts: bool
    ) -> None:
        self._line = line
        self._order = order
        self._options = options
        self._is_subreaper = adopts
        self._wakes = ChildNotifier()
        self._leader = 0
        self._buffer = b""
        self._kill_at: float | None = None
        self._killed: set[int] = set()
        self._has_ended = False
        self._leftover_count = 0
        """Number of processes that still ran after the command itself had ended."""
        self.is_abandoned = False
        """True if tui-agent ended, or closed the socket, before the command ended."""
        self._groups = ControlGroups(options["groups"], order["name"], options["processes"])

    def run(self, descriptors: list[int]) -> int:
        """Start the command, and serve the socket until all processes of the command have ended.

        Return the number of killed processes.

        `descriptors`: descriptor of the working folder, followed by the descriptors for the command.
        """
        if not self._start(descriptors):
            return 0
        poll = select.poll()
        poll.register(self._wakes.read, select.POLLIN)
        poll.register(self._line, select.POLLIN)
        while not self._is_tree_empty():
            for fd, _ in poll.poll(self._poll_timeout_ms()):
                if fd == self._line.fileno() and not self._read_messages():
                    poll.unregister(self._line)
            self._wakes.clear()
            self._reap()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._end(signal.SIGKILL)
        self._groups.remove()
        self._send_line(f"gone {self._leftover_count}")
        return len(self._killed)

    def _start(self, descriptors: list[int]) -> bool:
        order, where = self._order, "cwd"
        folder, *moved = [
            fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, MIN_DESCRIPTOR) for descriptor in descriptors
        ]
        for descriptor in descriptors:
            os.close(descriptor)
        try:
            os.fchdir(folder)
            where = "program"
            limits = {**self._apply_limits(), "reaper": self._is_subreaper}
            with self._groups as group_limits:
                self._leader = os.posix_spawn(
                    order["argv"][0],
                    order["argv"],
                    order["env"],
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, descriptor, place)
                        for descriptor, place in zip(moved, order["places"], strict=True)
                    ],
                    setsid=True,
                    setsigmask=(),
                    setsigdef=(*IGNORED_SIGNALS, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD),
                )
        except (OSError, ValueError) as error:  # ValueError: an argument contains a NUL
            self._send_line(f"failed {where} {error.errno if isinstance(error, OSError) else errno.EINVAL}")
            self._groups.remove()
            return False
        finally:
            for descriptor in (folder, *moved):
                os.close(descriptor)
        self._send_line(f"started {self._leader} {json.dumps({**limits, **group_limits})}")
        return True

    def _apply_limits(self) -> dict[str, object]:
        lower_limit(resource.RLIMIT_CORE, 0)
        lower_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
        with suppress(OSError):
            path = Path("/proc/self/oom_score_adj")
            path.write_text(str(max(int(path.read_text()), OOM_SCORE)))
        max_processes = self._options["uid_processes"]
        if max_processes:
            lower_limit(resource.RLIMIT_NPROC, max_processes)
        return {"uid_processes": max_processes}

    def _poll_timeout_ms(self) -> int | None:
        if self._kill_at is None:
            return None
        return max(int((self._kill_at - time.monotonic()) * 1000) + 1, int(KILL_INTERVAL_S * 1000))

    def _read_messages(self) -> bool:
        """Read tui-agent's messages about the command; return False if tui-agent has ended."""
        try:
            data = self._line.recv(4096)
        except OSError:
            data = b""
        if not data:
            self.is_abandoned = True
            self._kill_at = time.monotonic()
            return False
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == "end" and self._kill_at is None:
                if self._has_ended and find_descendants(os.getpid()):
                    time.sleep(EXIT_TIME_S)
                count = self._end(signal.SIGTERM)
                self._leftover_count = count if self._has_ended else 0
            self._kill_at = time.monotonic() + (float(rest) if word == "end" else 0.0)
        return True

    def _reap(self) -> None:
        for child, code in reap_children():
            if child == self._leader:
                self._has_ended = True
                self._send_line(f"ended {code}")

    def _is_tree_empty(self) -> bool:
        """Return True if no process of the command is left."""
        try:  # orphans become children of this process
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._is_subreaper or not is_group_alive(self._leader)
        return False

    def _end(self, signal_number: signal.Signals) -> int:
        """Send a signal to all processes of the command, and return their number (on macOS: 0)."""
        if not LINUX:  # the descendants are unknown there, but most stay in the command's process group
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, signal_number)
        processes = find_descendants(os.getpid())
        count = len(processes)
        if signal_number == signal.SIGKILL:
            self._killed.update(pid for pid, _ in processes)
            self._groups.kill()
        # If a wrapper such as bubblewrap got SIGTERM, it would kill the command inside immediately.
        if signal_number == signal.SIGTERM and self._order["wrapped"]:
            processes = [process for process in processes if process[0] != self._leader]
        for pid, parent in processes:
            send_signal(pid, parent, signal_number)
            if signal_number == signal.SIGTERM:  # continue a stopped process so that it can handle SIGTERM
                send_signal(pid, parent, signal.SIGCONT)
        return count

    def _send_line(self, message: str) -> None:
        with suppress(OSError):  # tui-agent has ended; reading from the socket reports that too
            self._line.sendall(message.encode() + b"\n")


class ControlGroups:
    """The control groups of one command, created below the writable control groups `bases`.

    A command started in the `with` block belongs to these groups. The `as` variable is a `dict` of the limits in force.
    """

    def __init__(self, bases: Iterable[str], name: str, processes: int) -> None:
        self._bases = [Path(base) for base in bases]
        self._name = name
        self._processes = processes
        self._created: list[Path] = []

    def __enter__(self) -> dict[str, object]:
        limits: dict[str, object] = {"cgroup_kill": False, "cgroup_processes": 0}
        for base in self._bases:
            group = base / self._name
            with suppress(OSError):
                group.mkdir()
                self._created.append(group)
                if (group / "pids.max").exists():
                    (group / "pids.max").write_text(str(self._processes))
                    limits["cgroup_processes"] = self._processes
                (group / "cgroup.procs").write_text("0")
                limits["cgroup_kill"] = limits["cgroup_kill"] or (group / "cgroup.kill").exists()
        return limits

    def __exit__(self, *error: object) -> None:
        for group in self._created:
            with suppress(OSError):
                (group.parent / "cgroup.procs").write_text("0")

    def kill(self) -> None:
        """Kill all processes of the control groups in one operation, if the kernel supports it."""
        for group in self._created:
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        for group in self._created:
            with suppress(OSError):
                group.rmdir()
        self._created.clear()


def reap_children() -> Iterator[tuple[int, int]]:
    """Yield the ids of ended child processes, with their `subprocess` return codes."""
    with suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            yield child, os.waitstatus_to_exitcode(status)


def lower_limit(which: int, maximum: int) -> None:
    """Lower the resource limit `which` to `maximum`, unless it is already lower."""
    soft, hard = resource.getrlimit(which)
    target = maximum if soft == resource.RLIM_INFINITY else min(soft, maximum)
    with suppress(ValueError, OSError):
        resource.setrlimit(which, (target, target if which != resource.RLIMIT_NOFILE else hard))


def receive_order(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive an order to start a command, and its descriptors; return None if the socket is closed.

    The descriptors are, in this order: the warden's socket, the working folder, and the descriptors for the command.
    """
    try:
        data, descriptors, _, _ = socket.recv_fds(line, _LENGTH_BYTES, MAX_DESCRIPTORS)
        while data and len(data) < _LENGTH_BYTES:
            data += line.recv(_LENGTH_BYTES - len(data))
        remaining = int.from_bytes(data, "big") if data else 0
        pieces = []
        while remaining:
            piece = line.recv(min(remaining, 1 << 16))
            if not piece:
                return None
            pieces.append(piece)
            remaining -= len(piece)
    except OSError:
        return None
    if not data:
        return None
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return json.loads(b"".join(pieces)), descriptors


def find_descendants(root: int, without: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Return all live descendants of a process as pairs (process id, parent id).

    `without`: processes to leave out together with their descendants.
    """
    if not LINUX:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a scan that must be quick
        if name.isdigit():
            parent = read_parent(int(name))
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    pending, descendants, excluded = [root], [], set(without)
    while pending:
        parent = pending.pop()
        own_children = [pid for pid in children.get(parent, ()) if pid not in excluded]
        descendants += [(pid, parent) for pid in own_children]
        pending += own_children
    return descendants


def read_parent(pid: int) -> int | None:
    """Return the parent id of a process, or None if the process has ended or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a scan that must be quick
            text = file.read()
    except OSError:
        return None
    # The program's name is in parentheses, and can contain blanks and parentheses itself.
    fields = text[text.rindex(b")") + 2 :].split(None, 2)
    return None if fields[0] in (b"Z", b"X") else int(fields[1])


def kill_descendants(root: int, without: Iterable[int]) -> int:
    """Kill the live descendants of `root`, except `without` and their descendants. Return the number of killed
    processes."""
    return sum(send_signal(pid, parent, signal.SIGKILL) for pid, parent in find_descendants(root, without))


def send_signal(pid: int, parent: int, signal_number: signal.Signals) -> bool:
    """Send a signal to a process, and return True if the signal was sent."""
    # On Linux, the process must still be a child of `parent`, because its id could have been reused.
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return False
    try:
        if handle is None:
            os.kill(pid, signal_number)
        elif read_parent(pid) == parent:
            signal.pidfd_send_signal(handle, signal_number)
        else:
            return False
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def is_group_alive(group: int) -> bool:
    """Return True if a process group still has members."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
