"""Running programs to their end, without leaving a process behind.

Invariant: when a run has ended, for whatever reason, all processes of the program have ended too.
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
from dataclasses import field
from functools import partial
from typing import Literal, Protocol

import anyio
from anyio import to_thread

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import ExecResult, OutputSink, ProcessControl
from tui_agent.units import format_time_limit
from tui_agent.workspace.local.running_command import ReaperError, StartFailure

TERMINATE_GRACE_S = 2.0
"""Seconds between SIGTERM and SIGKILL after a timeout."""
CANCEL_GRACE_S = 0.1
"""Seconds between SIGTERM and SIGKILL after an interrupt by the user."""
# The user expects the prompt within 300 ms.
CLEANUP_LIMIT_S = 5.0
_CHUNK = 1 << 16
_TRIM_BYTES = 4 << 20
"""The collected end of the output can exceed its limit by this many bytes. After that, it is cut to the limit."""
SIGNAL_CODES = range(129, 160)
_FINAL_OUTPUT_S = 0.5
"""Seconds to wait for more output if the program has ended but other processes still have the pipe open."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start.

    - `folder`: descriptor of the working folder
    - `cwd`: the folder's name for messages
    """

    argv: tuple[str, ...]
    folder: int
    cwd: str
    env: Mapping[str, str]
    timeout: float | None
    max_output: int
    newest: int = 0
    stdin: bytes = b""
    errors: int | None = None
    max_written: int | None = None
    descriptors: Mapping[int, int] = field(default_factory=dict)
    """Maps a descriptor number in the program to our own descriptor."""
    is_wrapper: bool = False
    """True if the program only runs another program. SIGTERM is then sent to that program."""
    cleanup: tuple[str, ...] = ()
    """A program that runs after the command's end, if tui-agent itself has already ended."""


class RunningProgram(Protocol):
    """A program that was started; see `running_command.Child`."""

    @property
    def limits(self) -> ProcessControl: ...

    @property
    def code(self) -> int | None: ...

    @property
    def leftover_count(self) -> int: ...

    async def wait(self) -> None: ...

    async def end(self, grace: float) -> None: ...

    def close(self) -> None: ...


class Launcher(Protocol):
    """Starts programs; see `ReaperClient.launch`."""

    def launch(
        self,
        argv: Sequence[str],
        folder: int,
        env: Mapping[str, str],
        child_descriptors: Mapping[int, int],
        *,
        wrapped: bool = False,
        cleanup: Sequence[str] = (),
    ) -> RunningProgram | StartFailure: ...


class OutputCollector:
    """Passes a program's output to `sink`, and collects at most `limit` bytes of it.

    If the output is longer, its beginning and its last `newest` bytes are collected.
    """

    def __init__(self, limit: int, sink: OutputSink, newest: int = 0) -> None:
        self._room = max(limit - newest, 0)
        self._newest = newest
        self._sink = sink
        self._first = bytearray()
        self._last = bytearray()
        self.size = 0
        """Number of bytes of output so far."""

    def add(self, data: bytes) -> None:
        self.size += len(data)
        remaining = data
        if len(self._first) < self._room:
            room = self._room - len(self._first)
            self._first += data[:room]
            remaining = data[room:]
        if self._newest and remaining:
            self._last += remaining
            if len(self._last) > self._newest + _TRIM_BYTES:
                del self._last[: -self._newest]
        self._sink(data)

    @property
    def dropped(self) -> int:
        """Number of bytes of output that were not collected."""
        return self.size - len(self._first) - min(len(self._last), self._newest)

    @property
    def cut_offset(self) -> int:
        """Offset in the collected output at which bytes were omitted, if any."""
        return len(self._first)

    def output(self) -> bytes:
        newest = min(len(self._last), self._newest)
        return b"".join((self._first, memoryview(self._last)[len(self._last) - newest :]))


async def run_command(
    command: Command,
    sink: OutputSink,
    launcher: Launcher,
    grace: float = TERMINATE_GRACE_S,
    on_start: Callable[[ProcessControl], None] | None = None,
) -> ExecResult:
    """Run a program to its end. If the caller is cancelled, end all its processes.

    `on_start`: called with the limits of the program.
    """
    began = time.monotonic()
    collector = OutputCollector(command.max_output, sink, command.newest)
    errors = None if command.errors is None else OutputCollector(command.errors, _discard)
    streams, write_ends = _create_pipes(collector, errors)
    try:
        try:
            program = await to_thread.run_sync(_start, command, write_ends, launcher)
        finally:
            for write_end in write_ends:
                os.close(write_end)
        if isinstance(program, ExecResult):
            return program
        try:
            if on_start is not None:
                on_start(program.limits)
            outcome = await _wait_for_end(program, streams, command, grace)
        finally:
            program.close()
    finally:
        for read_end in streams:
            os.close(read_end)
    code = program.code
    if command.is_wrapper and code is not None and code in SIGNAL_CODES:
        code = 128 - code  # the wrapper reports a signal as a shell does
    return ExecResult(
        exit_code=_shell_code(code) if outcome == "exited" else None,
        outcome=outcome,
        output=collector.output(),
        dropped_bytes=collector.dropped,
        cut_offset=collector.cut_offset,
        duration_ms=(time.monotonic() - began) * 1000,
        message=describe_end(outcome, code, command.timeout),
        stderr=b"" if errors is None else errors.output(),
        leftover_count=program.leftover_count,
    )


def _discard(data: bytes) -> None: ...


def _create_pipes(*collectors: OutputCollector | None) -> tuple[dict[int, OutputCollector], list[int]]:
    streams: dict[int, OutputCollector] = {}
    write_ends: list[int] = []
    for collector in collectors:
        if collector is not None:
            read_end, write_end = os.pipe()
            os.set_blocking(read_end, False)
            streams[read_end] = collector
            write_ends.append(write_end)
    return streams, write_ends


def _create_input_descriptor(data: bytes) -> int:
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    # A file instead of a pipe: a program that does not read its input cannot block us.
    if sys.platform == "linux":
        descriptor = os.memfd_create("stdin")
    else:
        with tempfile.TemporaryFile() as file_on_disk:
            descriptor = os.dup(file_on_disk.fileno())
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _start(command: Command, write_ends: Sequence[int], launcher: Launcher) -> RunningProgram | ExecResult:
    program, stdin = command.argv[0], _create_input_descriptor(command.stdin)
    child_descriptors = {0: stdin, 1: write_ends[0], 2: write_ends[-1], **command.descriptors}
    try:
        started = launcher.launch(
            command.argv,
            command.folder,
            command.env,
            child_descriptors,
            wrapped=command.is_wrapper,
            cleanup=command.cleanup,
        )
    except (ReaperError, OSError) as error:
        return start_failure("failed", f"{program} could not be started: {error}")
    finally:
        os.close(stdin)
    if isinstance(started, StartFailure):
        return explain_failure(started, program, command.cwd)
    return started


def explain_failure(started: StartFailure, program: str, cwd: str) -> ExecResult:
    """Return a result that tells why the reaper could not start the program."""
    match started.errno:
        case errno.ENOENT | errno.ENOTDIR if started.where == "cwd":
            return start_failure("not_found", f"The folder {cwd} does not exist.")
        case errno.ENOENT:
            return start_failure("not_found", f"The program {program} was not found.")
        case errno.EACCES | errno.EPERM:
            name = cwd if started.where == "cwd" else program
            return start_failure("failed", f"{name} cannot be executed (permission denied).")
        case number:
            return start_failure("failed", f"{program} could not be started: {os.strerror(number)}.")


def start_failure(outcome: Literal["not_found", "failed"], message: str) -> ExecResult:
    """Return the result for a program that could not be started."""
    return ExecResult(None, outcome, b"", 0, 0.0, message)


async def _wait_for_end(
    child: RunningProgram, streams: Mapping[int, OutputCollector], command: Command, timeout_grace: float
) -> Literal["exited", "timeout", "flooded"]:
    """Read output until the program ends, times out or writes too much. End its processes, and return the outcome.

    `timeout_grace`: seconds between SIGTERM and SIGKILL after a timeout.
    """
    timeout, grace, is_timeout = command.timeout, CANCEL_GRACE_S, False

    def is_flooded() -> bool:
        written = sum(collector.size for collector in streams.values())
        return command.max_written is not None and written > command.max_written

    try:
        with anyio.move_on_after(math.inf if timeout is None else timeout) as scope:

            def take(collector: OutputCollector, data: bytes) -> None:
                collector.add(data)
                if is_flooded():
                    scope.cancel()

            async with anyio.create_task_group() as group:
                for read_end, collector in streams.items():
                    group.start_soon(_read, read_end, partial(take, collector))
                await child.wait()
                group.cancel_scope.deadline = anyio.current_time() + _FINAL_OUTPUT_S
        if scope.cancelled_caught:
            is_timeout, grace = True, timeout_grace
    finally:
        # Shielded: also after a cancellation, no process of the command may stay behind.
        with anyio.move_on_after(CLEANUP_LIMIT_S, shield=True):
            await child.end(grace)
            for read_end, collector in streams.items():
                _drain(read_end, collector)
    if is_flooded():
        return "flooded"
    return "timeout" if is_timeout else "exited"


async def _read(read_end: int, take: Callable[[bytes], None]) -> None:
    while True:
        await anyio.wait_readable(read_end)
        try:
            data = os.read(read_end, _CHUNK)
        except BlockingIOError:
            continue
        if not data:
            return
        take(data)


def _drain(read_end: int, collector: OutputCollector) -> None:
    with suppress(BlockingIOError):
        for _ in range(32):  # a process that could not be killed may write for ever
            data = os.read(read_end, _CHUNK)
            if not data:
                return
            collector.add(data)


def _shell_code(returncode: int | None) -> int | None:
    """Return the exit code as a shell reports it, such as 137 (128 plus 9) after signal 9."""
    if returncode is None:
        return None
    return returncode if returncode >= 0 else 128 - returncode


def describe_end(outcome: str, returncode: int | None, timeout: float | None) -> str:
    """Describe how a program was ended, or return an empty string if it ended by itself.

    `returncode`: negative if a signal ended the program.
    """
    if outcome == "timeout" and timeout is not None:
        return f"stopped after {format_time_limit(timeout)}"
    if outcome == "flooded":
        return "stopped, because it wrote too much"
    if returncode is not None and returncode < 0:
        try:
            return f"ended by {signal.Signals(-returncode).name}"
        except ValueError:
            return f"ended by signal {-returncode}"
    return ""
