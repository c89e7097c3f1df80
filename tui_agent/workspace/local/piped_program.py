"""Background programs with pipes, such as MCP servers.

Invariant: the reaper ends the program when this process ends or is killed.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

import anyio
from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.workspace.local.reaper_client import ReaperClient
from tui_agent.workspace.local.running_command import Child, ReaperError
from tui_agent.workspace.local.subprocesses import explain_failure

_CHUNK = 1 << 16
_KILL_GRACE_S = 0.5
"""Seconds between SIGTERM and SIGKILL."""


class PipedProcess:
    """A running program with pipes as standard input, output and errors; see `ports.environment`."""

    def __init__(
        self, child: Child, stdin: int, stdout: int, stderr: int, release: Callable[[], object] | None = None
    ) -> None:
        """Wrap a started program; `release` is called in a thread when the program has ended."""
        self._child = child
        self._release = release
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        for descriptor in (stdin, stdout, stderr):
            os.set_blocking(descriptor, False)

    async def read_output(self) -> bytes:
        """Return the next bytes of standard output; empty at its end."""
        return await _read(self._stdout)

    async def read_errors(self) -> bytes:
        """Return the next bytes of standard error; empty at its end."""
        return await _read(self._stderr)

    async def write(self, data: bytes) -> None:
        """Write to the program's standard input; raise `EnvironmentFault` if the program no longer reads it."""
        rest = memoryview(data)
        while rest:
            await anyio.wait_writable(self._stdin)
            try:
                rest = rest[os.write(self._stdin, rest[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise EnvironmentFault(f"The program does not read its input: {error.strerror}.") from error

    async def end(self, grace_s: float) -> int | None:
        """Close the program's input, wait up to `grace_s` seconds for it to exit, then end all its processes.

        Return the exit code, negative for a signal. The object must not be used after this call.
        """
        with anyio.CancelScope(shield=True):
            os.close(self._stdin)
            with anyio.move_on_after(grace_s):
                await self._child.wait()
            await self._child.end(_KILL_GRACE_S)
            self._child.close()
            os.close(self._stdout)
            os.close(self._stderr)
            if self._release is not None:
                await to_thread.run_sync(self._release)
        return self._child.code


async def _read(descriptor: int) -> bytes:
    while True:
        await anyio.wait_readable(descriptor)
        with suppress(BlockingIOError):
            return os.read(descriptor, _CHUNK)


def open_piped(
    argv: Sequence[str],
    folder: int,
    cwd: str,
    env: Mapping[str, str],
    reaper: ReaperClient,
    cleanup: Sequence[str] = (),
    *,
    descriptors: Mapping[int, int] = MappingProxyType({}),
    wrapped: bool = False,
    release: Callable[[], object] | None = None,
) -> PipedProcess:
    """Start a program in the folder whose file descriptor is `folder`. Blocks: call it in a thread.

    Raise `EnvironmentFault` if the program cannot start.

    - `cleanup`: a program for the reaper to run if this process ends before the started program
    - `descriptors` and `wrapped`: see `ReaperClient.launch`
    - `release`: see `PipedProcess`
    """
    (stdin, own_in), (own_out, stdout), (own_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    started = None
    try:
        child_descriptors = {0: stdin, 1: stdout, 2: stderr, **descriptors}
        started = reaper.launch(argv, folder, env, child_descriptors, wrapped=wrapped, cleanup=cleanup)
    except (ReaperError, OSError) as error:
        raise EnvironmentFault(f"{argv[0]} could not be started: {error}") from error
    finally:
        own = () if isinstance(started, Child) else (own_in, own_out, own_err)
        for descriptor in (stdin, stdout, stderr, *own):
            os.close(descriptor)
    if not isinstance(started, Child):
        raise EnvironmentFault(explain_failure(started, argv[0], cwd).message)
    return PipedProcess(started, own_in, own_out, own_err, release)
