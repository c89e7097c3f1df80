"""One container of docker or podman: its start, the processes in it, and its removal.

Invariant: no container is left behind, even if this process is killed.
"""

import os
import posixpath
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from tui_agent.errors import ConfigError, EnvironmentFault, EnvironmentLost
from tui_agent.ports.environment import ExecResult, ProcessControl
from tui_agent.units import format_time_limit
from tui_agent.workspace.containers.command_lines import ContainerSettings, explain_failure, last_line
from tui_agent.workspace.containers.scripts import COMMAND, SUPERVISOR
from tui_agent.workspace.local.piped_program import PipedProcess, open_piped
from tui_agent.workspace.local.reaper_client import ReaperClient
from tui_agent.workspace.local.running_command import Child, StartFailure
from tui_agent.workspace.local.subprocesses import start_failure

START_LIMIT_S = 60.0
ANSWER_LIMIT_S = 15.0
"""Maximum wait for a container's answer, in seconds. After this time, the container counts as broken."""
STOP_GRACE_S = 2.0
REMOVE_LIMIT_S = 10.0
POLL_S = 0.03
_REMOVAL_VARIABLES = ("HOME", "PATH", "TMPDIR", "USER")
_REMOVAL_PREFIXES = ("CONTAINER", "DOCKER_", "XDG_", "STORAGE_", "REGISTRY_", "DBUS_")
"""Prefixes of environment variables that the container program may need to find a container again."""


class Container:
    """A container with the folder `root` of this machine mounted at the same path.

    `environ`: environment of the docker or podman program, not of the container.
    """

    def __init__(self, settings: ContainerSettings, root: str, environ: Mapping[str, str]) -> None:
        self.name = f"tui-agent-{secrets.token_hex(6)}"
        self.reaper = ReaperClient()
        self.shell = "bash"
        self.search_path: tuple[str, ...] = ()
        self.is_gone = True
        """True before the container's start and after its end."""
        self.is_closed = False
        self.command_line = settings.command_line(environ)
        self._settings = settings
        self._root = root
        self._environ = dict(environ)
        self._process: PipedProcess | None = None
        self._lock = anyio.Lock()
        self._buffer = b""
        self.running: set[str] = set()
        """The markers of the running commands: each process has its command's marker in its environment."""

    async def start(self) -> None:
        """Start the container; raise `ConfigError` with advice if it does not start."""
        self.command_line.require_usable(self._environ)
        await to_thread.run_sync(self._launch)
        try:
            with anyio.fail_after(START_LIMIT_S):
                ready = (await self._read_line()).split(" ", 2)
        except (TimeoutError, EnvironmentFault) as error:
            raise await self._explain_start(isinstance(error, TimeoutError)) from error
        self.is_gone = False
        self.shell = ready[1] or "sh"
        self.search_path = tuple(ready[2].split(":"))

    def _launch(self) -> None:
        variables = [f"{name}={value}" for name, value in self._environ.items() if _is_for_removal(name)]
        folder = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._process = open_piped(
                (*self.command_line.supervise(self.name, self._root), SUPERVISOR),
                folder,
                self._root,
                self._environ,
                self.reaper,
                cleanup=("/usr/bin/env", *variables, *self.command_line.remove(self.name)),
            )
        finally:
            os.close(folder)

    async def _explain_start(self, is_late: bool) -> ConfigError:
        """Remove the remains of a container after a failed start, and return an error with the reason."""
        assert self._process is not None
        errors = b""
        if not is_late:
            with anyio.move_on_after(STOP_GRACE_S):
                while data := await self._process.read_errors():
                    errors += data
        await self.aclose()
        if is_late:
            return ConfigError(
                f"The container did not start within {format_time_limit(START_LIMIT_S)}.", hint="Try again."
            )
        return explain_failure(self._settings, errors)

    # -- the processes in it ---------------------------------------------------------------------------------------

    def launcher(self, marker: str, *, merged: bool, has_input: bool) -> "ContainerLauncher":
        """Return a launcher for one command.

        `marker`: added to the environment of the command's processes.
        """
        return ContainerLauncher(self, self._environ, marker, merged=merged, has_input=has_input)

    async def find_program(self, name: str, cwd: str) -> str | ExecResult:
        """Return the path of a program in the container, or a result with the reason why it cannot run."""
        place = name if "/" not in name or name.startswith("/") else f"{cwd}/{name}"
        answer = "missing" if "\n" in place else await self._ask(f"find {place}")
        if answer == "missing":
            return start_failure("not_found", f"The program {name} was not found in the container.")
        if answer == "refused":
            return start_failure("failed", f"{name} cannot be executed (permission denied).")
        return answer.removeprefix("at ")

    async def end_command(self, marker: str, grace: float) -> None:
        """End the processes of a command: SIGTERM, `grace` seconds of waiting, SIGKILL."""
        self.running.discard(marker)
        if grace and await self.signal("TERM", marker):
            with anyio.move_on_after(grace):
                await self._repeat(f"signal 0 {marker}")
        await self._repeat(f"signal KILL {marker}")
        # A process that left its session and cleared its environment may belong to any of the running commands.
        if not self.running and self.command_line.ends_with_supervisor:
            await self._repeat("orphans KILL")

    async def signal(self, signal_name: str, marker: str) -> int:
        """Send a signal to the processes of a command, and return their number.

        `signal_name`: such as `TERM`; `0` only counts the processes.
        """
        return int(await self._ask(f"signal {signal_name} {marker}"))

    async def _repeat(self, request: str) -> None:
        count = int(await self._ask(request))
        while count:
            await anyio.sleep(POLL_S)
            count = int(await self._ask(request))

    async def _ask(self, request: str) -> str:
        """Return the container's answer to one request; raise `EnvironmentFault` if the container has ended."""
        async with self._lock:
            if self.is_gone or self._process is None:
                raise self.end_fault()
            # Shielded from cancellation: the next request would take an answer that was left unread for its own.
            with anyio.move_on_after(ANSWER_LIMIT_S, shield=True), suppress(EnvironmentFault):
                await self._process.write(request.encode("utf-8", "surrogateescape") + b"\n")
                return await self._read_line()
            self.is_gone = True
            raise self.end_fault()

    async def _read_line(self) -> str:
        assert self._process is not None
        while b"\n" not in self._buffer:
            data = await self._process.read_output()
            if not data:
                raise self.end_fault()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "surrogateescape")

    def end_fault(self) -> EnvironmentLost:
        """Return the error about a container that ended by itself."""
        return EnvironmentLost(
            f"The container {self.name} has ended, so commands cannot run.",
            hint="Quit and resume the session to start a new container.",
        )

    async def copy_in(self, source: Path, path: str) -> None:
        """Copy a file or folder of this machine to an absolute path in the container."""
        is_folder = await to_thread.run_sync(source.is_dir)
        folder = path if is_folder else posixpath.dirname(path)
        await self._run_client((*self.command_line.run(self.name, {"PWD": "/"}), "mkdir", "-p", folder))
        await self._run_client(
            self.command_line.copy(f"{source}/." if is_folder else str(source), f"{self.name}:{path}")
        )

    async def copy_out(self, path: str, target: Path) -> None:
        """Copy a file or folder at an absolute path in the container to this machine."""
        await to_thread.run_sync(partial(target.parent.mkdir, parents=True, exist_ok=True))
        await self._run_client(self.command_line.copy(f"{self.name}:{path}", str(target)))

    async def _run_client(self, command: Sequence[str]) -> None:
        """Run a command line of the container's program; raise `EnvironmentFault` if it fails."""
        folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            client = await to_thread.run_sync(open_piped, command, folder, "/", self._environ, self.reaper)
        finally:
            os.close(folder)
        errors = b""
        while data := await client.read_errors():
            errors += data
        if await client.end(REMOVE_LIMIT_S):
            raise EnvironmentFault(f"{self._settings.program} failed: {last_line(errors)}")

    async def _remove(self) -> None:
        # An error means that the container is gone already.
        with anyio.move_on_after(REMOVE_LIMIT_S, shield=True), suppress(EnvironmentFault):
            await self._run_client(self.command_line.remove(self.name))

    async def aclose(self) -> int:
        """Remove the container and everything in it, and return the number of killed processes."""
        killed = 0
        with suppress(EnvironmentFault):  # it has ended already
            killed = await self.signal("KILL", "")
            killed += int(await self._ask("orphans KILL")) if self.command_line.ends_with_supervisor else 0
        async with self._lock:
            process, self._process, self.is_gone, self.is_closed = self._process, None, True, True
        if process is not None:
            ends_itself = self.command_line.ends_with_supervisor
            if not ends_itself:
                await self._remove()
            if await process.end(STOP_GRACE_S) != 0 and ends_itself:
                await self._remove()
        await to_thread.run_sync(self.reaper.close)
        return killed


def _is_for_removal(name: str) -> bool:
    return name in _REMOVAL_VARIABLES or name.startswith(_REMOVAL_PREFIXES)


class ContainerLauncher:
    """Starts one command in a container; see `subprocesses.Launcher`."""

    def __init__(
        self, container: Container, environ: Mapping[str, str], marker: str, *, merged: bool, has_input: bool
    ) -> None:
        self._container = container
        self._environ = environ
        self._marker = marker
        self._merged = merged
        self._has_input = has_input

    def launch(
        self,
        argv: Sequence[str],
        folder: int,
        env: Mapping[str, str],
        child_descriptors: Mapping[int, int],
        *,
        wrapped: bool = False,
        cleanup: Sequence[str] = (),
    ) -> "ContainerCommand | StartFailure":
        """Start a program with the variables of the image and of `env`."""
        container = self._container
        program = container.command_line.run(container.name, env, has_input=self._has_input)
        words = (*program, "sh", "-c", COMMAND, "sh", "merged" if self._merged else "separate", *argv)
        container.running.add(
            self._marker
        )  # before the start: the end of another command must not kill its processes
        started = container.reaper.launch(
            words, folder, self._environ, child_descriptors, wrapped=wrapped, cleanup=cleanup
        )
        if isinstance(started, StartFailure):
            container.running.discard(self._marker)
            return started
        return ContainerCommand(container, started, self._marker)


class ContainerCommand:
    """A command that runs in a container; see `subprocesses.RunningProgram`."""

    def __init__(self, container: Container, client: Child, marker: str) -> None:
        self._container = container
        self._client = client
        self._marker = marker
        self.limits = ProcessControl()
        self.leftover_count = 0  # not known

    @property
    def code(self) -> int | None:
        return self._client.code

    async def wait(self) -> None:
        await self._client.wait()

    async def end(self, grace: float) -> None:
        """End the command's processes in the container, then the local process that passes on their output."""
        try:
            await self._container.end_command(self._marker, grace if self.code is None else 0.0)
        except EnvironmentFault:
            pass  # the container has ended, and its processes with it
        else:
            with anyio.move_on_after(1.0):
                await self._client.wait()
        await self._client.end(0.0)

    def close(self) -> None:
        self._client.close()
