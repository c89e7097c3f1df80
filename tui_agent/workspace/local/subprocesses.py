"""Programs that are run to their end, with nothing of theirs left behind.

Invariants: a program has its own session and process group, no terminal and a standard input that ends; stdout and
stderr share one pipe, so their order is real, unless they are wanted apart; whatever way the run ends, every process
that it started is ended too (see `keeping`).
"""

import errno
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from tui_agent.ports.environment import ExecResult, Holding, OutputSink
from tui_agent.workspace.local.reaper_client import Child, KeeperFault, Keeping

TERMINATE_GRACE_S = 2.0
"""How long a program may take to end after SIGTERM when its time was up."""
CANCEL_GRACE_S = 0.1
"""The same when a person interrupted: the prompt is to be back within 300 ms."""
CLEANUP_LIMIT_S = 5.0
_CHUNK = 1 << 16
_OF_SIGNALS = range(129, 160)
_LAST_WORDS_S = 0.5
"""How long output is still awaited after the program ended, while others hold the pipe."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start: the folder, by a descriptor (`cwd` only names it), and the whole environment."""

    argv: tuple[str, ...]
    folder: int
    cwd: str
    env: Mapping[str, str]
    timeout: float | None
    max_output: int
    newest: int = 0
    stdin: bytes = b""
    errors: int | None = None
    given: Mapping[int, int] = field(default_factory=dict)
    """More descriptors, by the number at which the program finds each."""
    wrapped: bool = False
    """What is started only holds another program, and ends with it: that one is asked to end, not its holder."""


class Collected:
    """Output as it comes: all of it to the sink, `limit` bytes kept, the last `newest` of them from its end."""

    def __init__(self, limit: int, sink: OutputSink, newest: int = 0) -> None:
        self._room = max(limit - newest, 0)
        self._newest = newest
        self._sink = sink
        self._first = bytearray()
        self._last = bytearray()
        self._size = 0

    def take(self, data: bytes) -> None:
        self._size += len(data)
        rest = data
        if len(self._first) < self._room:
            room = self._room - len(self._first)
            self._first += data[:room]
            rest = data[room:]
        if self._newest and rest:
            self._last += rest
            if len(self._last) > 2 * self._newest:
                del self._last[: -self._newest]
        self._sink(data)

    @property
    def dropped(self) -> int:
        """How many bytes were not kept."""
        return self._size - len(self._first) - min(len(self._last), self._newest)

    @property
    def cut_at(self) -> int:
        """Where they were."""
        return len(self._first)

    def output(self) -> bytes:
        """What was kept."""
        return bytes(self._first) + bytes(self._last[-self._newest :] if self._newest else b"")


async def run(
    command: Command,
    sink: OutputSink,
    keeping: Keeping,
    grace: float = TERMINATE_GRACE_S,
    on_start: Callable[[Holding], None] | None = None,
) -> ExecResult:
    """Run to the end. `on_start` is told what holds the program.

    When the caller is cancelled, everything is ended first, then the cancellation goes on.
    """
    began = time.monotonic()
    collected = Collected(command.max_output, sink, command.newest)
    errors = None if command.errors is None else Collected(command.errors, _unheard)
    streams, write_ends = _pipes(collected, errors)
    try:
        try:
            program = await to_thread.run_sync(_start, command, write_ends, keeping)
        finally:
            for write_end in write_ends:
                os.close(write_end)
        if isinstance(program, ExecResult):
            return program
        try:
            if on_start is not None:
                on_start(program.holding)
            ended = await _attend(program, streams, command.timeout, grace)
        finally:
            program.close()
    finally:
        for read_end in streams:
            os.close(read_end)
    code = program.code
    if command.wrapped and code is not None and code in _OF_SIGNALS:
        code = 128 - code  # its holder tells of a signal as a shell does
    return ExecResult(
        exit_code=None if ended == "timeout" else _shell_code(code),
        ended="timeout" if ended == "timeout" else "exited",
        output=collected.output(),
        dropped=collected.dropped,
        cut_at=collected.cut_at,
        duration_ms=(time.monotonic() - began) * 1000,
        message=_said(ended, code, command.timeout),
        errors=b"" if errors is None else errors.output(),
    )


def _unheard(data: bytes) -> None:
    """Nobody follows what is kept apart."""


def _pipes(*wanted: Collected | None) -> tuple[dict[int, Collected], list[int]]:
    """A pipe for each: the ends to read, with what takes in what comes, and the ends to write to."""
    streams: dict[int, Collected] = {}
    write_ends: list[int] = []
    for collected in wanted:
        if collected is not None:
            read_end, write_end = os.pipe()
            os.set_blocking(read_end, False)
            streams[read_end] = collected
            write_ends.append(write_end)
    return streams, write_ends


def _given(data: bytes) -> int:
    """A descriptor from which exactly this can be read; no name leads to it."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if sys.platform == "linux":
        descriptor = os.memfd_create("stdin")
    else:
        with tempfile.TemporaryFile() as nameless:
            descriptor = os.dup(nameless.fileno())
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _start(command: Command, write_ends: Sequence[int], keeping: Keeping) -> Child | ExecResult:
    program, stdin = command.argv[0], _given(command.stdin)
    given = {0: stdin, 1: write_ends[0], 2: write_ends[-1], **command.given}
    try:
        started = keeping.launch(command.argv, command.folder, command.env, given, wrapped=command.wrapped)
    except (KeeperFault, OSError) as error:
        return _not_started("failed", f"{program} could not be started: {error}")
    finally:
        os.close(stdin)
    if isinstance(started, Child):
        return started
    match started.errno:
        case errno.ENOENT | errno.ENOTDIR if started.where == "cwd":
            return _not_started("not_found", f"The folder {command.cwd} does not exist.")
        case errno.ENOENT:
            return _not_started("not_found", f"There is no program {program}.")
        case errno.EACCES | errno.EPERM:
            what = command.cwd if started.where == "cwd" else program
            return _not_started("failed", f"{what} may not be executed (permission denied).")
        case number:
            return _not_started("failed", f"{program} could not be started: {os.strerror(number)}.")


def _not_started(ended: str, message: str) -> ExecResult:
    return ExecResult(None, "not_found" if ended == "not_found" else "failed", b"", 0, 0.0, message)


async def _attend(
    child: Child, streams: Mapping[int, Collected], timeout: float | None, patience: float
) -> str:
    """Read and wait until the program ends or its time is up, then end what is left of it."""
    ended = "cancelled"
    grace = CANCEL_GRACE_S
    try:
        with anyio.move_on_after(math.inf if timeout is None else timeout) as scope:
            async with anyio.create_task_group() as group:
                for read_end, collected in streams.items():
                    group.start_soon(_read, read_end, collected)
                await child.wait()
                group.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S
            ended = "exited"
        if scope.cancelled_caught:
            ended, grace = "timeout", patience
    finally:
        with anyio.move_on_after(CLEANUP_LIMIT_S, shield=True):
            await child.end(grace)
            for read_end, collected in streams.items():
                _drain(read_end, collected)
    return ended


async def _read(read_end: int, collected: Collected) -> None:
    while True:
        await anyio.wait_readable(read_end)
        try:
            data = os.read(read_end, _CHUNK)
        except BlockingIOError:
            continue
        if not data:
            return
        collected.take(data)


def _drain(read_end: int, collected: Collected) -> None:
    """What still stands in the pipe (at most its size)."""
    with suppress(BlockingIOError):
        for _ in range(32):
            data = os.read(read_end, _CHUNK)
            if not data:
                return
            collected.take(data)


def _shell_code(returncode: int | None) -> int | None:
    """The exit code as a shell tells it: 128 and the signal's number for a program that a signal ended."""
    if returncode is None:
        return None
    return returncode if returncode >= 0 else 128 - returncode


def _said(ended: str, returncode: int | None, timeout: float | None) -> str:
    if ended == "timeout":
        return f"stopped after {timeout:g} s"
    if returncode is not None and returncode < 0:
        try:
            return f"ended by {signal.Signals(-returncode).name}"
        except ValueError:
            return f"ended by signal {-returncode}"
    return ""
