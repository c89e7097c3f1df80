"""The keeper, a small process that stands between this program and all that its tools start.

It is run by its path, loads nothing but the standard library, and forks a *warden* for each command. The warden is the
command's parent and takes in every descendant that loses its own (Linux: a subreaper), so that nothing a command does to
leave it (another session, a double fork, an empty environment, another name) takes it out of the warden's tree.

Invariant: a warden ends with the last process of its tree, and ends them all when its line to the program is cut, by
whatever cause. Where a command kills its warden, the keeper takes in and ends what was below it.

The line of a warden, one message a line. To the program: `started PID JSON`, `failed WHERE ERRNO`, `ended CODE` (as
`subprocess` counts), `gone KILLED`. From it: `end SECONDS` (SIGTERM, then SIGKILL), `kill`.
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
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LINUX = sys.platform == "linux"
PR_SET_CHILD_SUBREAPER = 36
MOST_FILES = 65_536
"""Open files that a command may have at most: with an unlimited number programs that close them all take for ever."""
EASIER_TO_KILL = 500
"""Added to the commands' `oom_score_adj`: where memory runs out they go before the program that started them."""
ROUND_S = 0.01
"""Between two rounds of killing what is new."""
DEAF = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
MOST_GIVEN = 32
"""Descriptors that come with an order."""
ABOVE = 64
"""Descriptors are moved up here before they take the places that the command finds them at."""
_LENGTH = 4


def main() -> None:
    """Serve the line on descriptor 0 until it is cut, and until every warden has ended."""
    options = json.loads(sys.argv[1])
    for sign in DEAF:
        signal.signal(sign, signal.SIG_IGN)
    with suppress(OSError):
        os.setsid()
    line = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # nothing is to be read there
    os.closerange(
        3, line.fileno()
    )  # what whoever started the program left open is none of the commands' business
    os.closerange(line.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    Keeper(line, options, become_reaper()).run()


def become_reaper() -> bool:
    """Take in orphans of descendants; False where the system has no such thing."""
    if not LINUX:
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class Wakes:
    """Tells of ended children by a descriptor."""

    def __init__(self) -> None:
        self.read, self._write = os.pipe()
        for end in (self.read, self._write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def clear(self) -> None:
        """Forget what woke us."""
        with suppress(BlockingIOError):
            while os.read(self.read, 512):
                pass


class Keeper:
    """Takes orders from the program and starts a warden for each."""

    def __init__(self, line: socket.socket, options: dict[str, Any], adopts: bool) -> None:
        self._line = line
        self._options = options
        self._adopts = adopts
        self._wakes = Wakes()
        self._wardens: set[int] = set()
        self._open = True
        self._strays = False
        self._killed = 0

    def run(self) -> None:
        """Serve until the line is cut and nothing is left."""
        while self._open or self._wardens or self._strays:
            poll = select.poll()
            poll.register(self._wakes.read, select.POLLIN)
            if self._open:
                poll.register(self._line, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(int(ROUND_S * 1000) if self._strays else None)}
            self._wakes.clear()
            if self._line.fileno() in ready:
                self._order()
            self._reap()
            if self._strays:
                self._killed += kill_below(os.getpid(), self._wardens)
                self._strays = any_below(os.getpid(), self._wardens)
        with suppress(OSError):
            self._line.sendall(f"{self._killed}\n".encode())

    def _order(self) -> None:
        received = receive(self._line)
        if received is None:
            self._open = False
            return
        order, (control, *given) = received
        child = os.fork()
        if not child:
            self._become_warden(order, control, given)
        self._wardens.add(child)
        for descriptor in (control, *given):
            os.close(descriptor)

    def _become_warden(self, order: dict[str, Any], control: int, given: list[int]) -> NoReturn:
        try:
            self._line.close()
            adopts = become_reaper() if self._adopts else False
            killed = Warden(socket.socket(fileno=control), order, self._options, adopts).run(given)
            os._exit(min(killed, 100))
        finally:
            os._exit(101)

    def _reap(self) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not child:
                return
            code = os.waitstatus_to_exitcode(status)
            if child in self._wardens:
                self._wardens.discard(child)
                self._killed += max(code, 0)
            self._strays |= self._adopts and not 0 <= code <= 100


class Warden:
    """Starts one command, takes in what leaves it, and ends them all."""

    def __init__(
        self, line: socket.socket, order: dict[str, Any], options: dict[str, Any], adopts: bool
    ) -> None:
        self._line = line
        self._order = order
        self._options = options
        self._adopts = adopts
        self._wakes = Wakes()
        self._leader = 0
        self._heard = b""
        self._kill_at: float | None = None
        self._killed: set[int] = set()
        self._groups = Groups(options["groups"], order["name"], options["processes"])

    def run(self, given: list[int]) -> int:
        """Start the command in the first of these descriptors, with the others; serve the line until nothing of it is left; how many had to be
        killed."""
        if not self._start(given):
            return 0
        poll = select.poll()
        poll.register(self._wakes.read, select.POLLIN)
        poll.register(self._line, select.POLLIN)
        while not self._gone():
            for fd, _ in poll.poll(self._patience()):
                if fd == self._line.fileno() and not self._listen():
                    poll.unregister(self._line)
            self._wakes.clear()
            self._reap()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._end(signal.SIGKILL)
        self._groups.remove()
        self._say(f"gone {len(self._killed)}")
        return len(self._killed)

    def _start(self, given: list[int]) -> bool:
        order, where = self._order, "cwd"
        folder, *high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, ABOVE) for each in given]
        for each in given:
            os.close(each)
        try:
            os.fchdir(folder)
            where = "program"
            held = {**self._limits(), "reaper": self._adopts}
            with self._groups as kinds:
                self._leader = os.posix_spawn(
                    order["argv"][0],
                    order["argv"],
                    order["env"],
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, each, place)
                        for each, place in zip(high, order["places"], strict=True)
                    ],
                    setsid=True,
                    setsigmask=(),
                    setsigdef=(*DEAF, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD),
                )
        except OSError as error:
            self._say(f"failed {where} {error.errno}")
            self._groups.remove()
            return False
        except ValueError:  # a NUL in a word
            self._say(f"failed {where} {errno.EINVAL}")
            self._groups.remove()
            return False
        finally:
            for each in (folder, *high):
                os.close(each)
        self._say(f"started {self._leader} {json.dumps({**held, **kinds})}")
        return True

    def _limits(self) -> dict[str, object]:
        """Bound what the command may use; returns what is in force of it."""
        lower(resource.RLIMIT_CORE, 0)
        lower(resource.RLIMIT_NOFILE, MOST_FILES)
        with suppress(OSError):
            path = Path("/proc/self/oom_score_adj")
            path.write_text(str(max(int(path.read_text()), EASIER_TO_KILL)))
        most = self._options["uid_processes"]
        if most:
            lower(resource.RLIMIT_NPROC, most)
        return {"uid_processes": most}

    def _patience(self) -> int | None:
        if self._kill_at is None:
            return None
        return max(int((self._kill_at - time.monotonic()) * 1000) + 1, int(ROUND_S * 1000))

    def _listen(self) -> bool:
        """Take in what the program says; False when the line is cut: it is gone, and so is its wish to wait."""
        try:
            data = self._line.recv(4096)
        except OSError:
            data = b""
        if not data:
            self._kill_at = time.monotonic()
            return False
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == "end" and self._kill_at is None:
                self._end(signal.SIGTERM)
            self._kill_at = time.monotonic() + (float(rest) if word == "end" else 0.0)
        return True

    def _reap(self) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not child:
                return
            if child == self._leader:
                self._say(f"ended {os.waitstatus_to_exitcode(status)}")

    def _gone(self) -> bool:
        """Whether nothing is left: then there is no child, for each that lost its parent has become one."""
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._adopts or not group_lives(self._leader)
        return False

    def _end(self, sign: signal.Signals) -> None:
        if not LINUX:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, sign)
        found = below(os.getpid())
        if sign == signal.SIGKILL:
            self._killed.update(pid for pid, _ in found)
            self._groups.kill()
        if (
            sign == signal.SIGTERM and self._order["wrapped"]
        ):  # what is inside would be killed with its holder
            found = [each for each in found if each[0] != self._leader]
        for pid, parent in found:
            send(pid, parent, sign)
            if sign == signal.SIGTERM:  # a stopped one could not heed it
                send(pid, parent, signal.SIGCONT)

    def _say(self, message: str) -> None:
        with suppress(OSError):  # the program is gone: the cut line says so too
            self._line.sendall(message.encode() + b"\n")


class Groups:
    """The control groups of one command, below those that may be written: no process leaves them unseen.

    Entered while the command is started; what is in force is what could be made.
    """

    def __init__(self, bases: Iterable[str], name: str, processes: int) -> None:
        self._bases = [Path(base) for base in bases]
        self._name = name
        self._processes = processes
        self._made: list[Path] = []

    def __enter__(self) -> dict[str, object]:
        held: dict[str, object] = {"cgroup_kill": False, "cgroup_processes": 0}
        for base in self._bases:
            made = base / self._name
            with suppress(OSError):
                made.mkdir()
                self._made.append(made)
                if (made / "pids.max").exists():
                    (made / "pids.max").write_text(str(self._processes))
                    held["cgroup_processes"] = self._processes
                (made / "cgroup.procs").write_text("0")
                held["cgroup_kill"] = held["cgroup_kill"] or (made / "cgroup.kill").exists()
        return held

    def __exit__(self, *error: object) -> None:
        for made in self._made:
            with suppress(OSError):
                (made.parent / "cgroup.procs").write_text("0")

    def kill(self) -> None:
        """Kill all in them at once, where the kernel does that."""
        for made in self._made:
            with suppress(OSError):
                (made / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        """Take them away again."""
        for made in self._made:
            with suppress(OSError):
                made.rmdir()
        self._made.clear()


def lower(which: int, most: int) -> None:
    """Bound a resource where it is not bounded closer already."""
    soft, hard = resource.getrlimit(which)
    wanted = most if soft == resource.RLIM_INFINITY else min(soft, most)
    with suppress(ValueError, OSError):
        resource.setrlimit(which, (wanted, wanted if which != resource.RLIMIT_NOFILE else hard))


def receive(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """An order with its descriptors (the line of the warden, the folder, then the command's); None when the line was cut."""
    try:
        data, descriptors, _, _ = socket.recv_fds(line, _LENGTH, MOST_GIVEN)
        while data and len(data) < _LENGTH:
            data += line.recv(_LENGTH - len(data))
        left = int.from_bytes(data, "big") if data else 0
        pieces = []
        while left:
            piece = line.recv(min(left, 1 << 16))
            if not piece:
                return None
            pieces.append(piece)
            left -= len(piece)
    except OSError:
        return None
    if not data:
        return None
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return json.loads(b"".join(pieces)), descriptors


def below(root: int, without: Iterable[int] = ()) -> list[tuple[int, int]]:
    """All live descendants of a process with their parents, but for the trees of `without`."""
    if not LINUX:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a scan that must be quick
        if name.isdigit():
            parent = parent_of(int(name))
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    left, found, leave = [root], [], set(without)
    while left:
        parent = left.pop()
        mine = [pid for pid in children.get(parent, ()) if pid not in leave]
        found += [(pid, parent) for pid in mine]
        left += mine
    return found


def parent_of(pid: int) -> int | None:
    """The parent of a process; None where it is gone or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a scan that must be quick
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split(None, 2)
    return None if fields[0] in (b"Z", b"X") else int(fields[1])


def any_below(root: int, without: Iterable[int]) -> bool:
    """Whether there are live descendants outside the trees of `without`."""
    return bool(below(root, without))


def kill_below(root: int, without: Iterable[int]) -> int:
    """Kill them; returns how many."""
    return sum(send(pid, parent, signal.SIGKILL) for pid, parent in below(root, without))


def send(pid: int, parent: int, sign: signal.Signals) -> bool:
    """Signal a process if it still is the child of the one that it was seen with: numbers are given again."""
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return False
    try:
        if handle is None:
            os.kill(pid, sign)
        elif parent_of(pid) == parent:
            signal.pidfd_send_signal(handle, sign)
        else:
            return False
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def group_lives(group: int) -> bool:
    """Whether a process group still has members."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
