"""Programs that tools keep running between their calls, such as language servers.

Invariant: a program has the permissions of the call that uses it, and ends with the session at the latest.
"""

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

from tui_agent.engine.components import EngineParts
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.engine.tools.jobs import JobManager
from tui_agent.engine.tools.sandbox_retry import SandboxGrant
from tui_agent.errors import PluginError, ToolError, TuiAgentError
from tui_agent.ports.environment import CommandOpener, ExecSpec, PipedProcess
from tui_agent.protocol.events.plugin import PluginFailed

END_GRACE_S = 0.5
"""Maximum time for a program to end after its input was closed, in seconds."""
END_LIMIT_S = 5.0
"""Maximum time to wait until all programs have ended, in seconds."""
ConnectionT = TypeVar("ConnectionT")
Connect = Callable[[PipedProcess], AbstractAsyncContextManager[ConnectionT]]


@dataclass(slots=True)
class _Program:
    owner: str
    permissions: tuple[object, ...]
    connection: Any = None
    closing: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)


class ProgramKeeper:
    """Starts and ends the programs that a session's tools keep running."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._programs: dict[tuple[str, str], _Program] = {}
        self._group: TaskGroup | None = None

    def begin(self, group: TaskGroup) -> None:
        """Set the task group in which programs run."""
        self._group = group

    def for_call(self, owner: str, granted: SandboxGrant) -> "CallPrograms":
        """Return the programs service for a tool call. `owner`: the tool's plugin."""
        return CallPrograms(self, owner, granted)

    async def use(self, owner: str, name: str, spec: ExecSpec, connect: Connect[ConnectionT]) -> ConnectionT:
        """Return the connection to a program, and start the program if it is not running (see
        `ports.program.Programs`)."""
        permissions = (spec.allow_network, spec.read_only, spec.writable_paths)
        running = self._programs.get((owner, name))
        # The sandbox of a running program cannot be changed, so other permissions need a new start.
        if running is not None and (running.permissions != permissions or running.ended.is_set()):
            await self.end(owner, name)
            running = None
        if running is None:
            assert self._group is not None
            running = _Program(owner, permissions)
            await self._group.start(self._run, running, name, spec, connect)
        connection: ConnectionT = running.connection
        return connection

    async def end(self, owner: str, name: str) -> None:
        """End a program; see `ports.program.Programs`."""
        program = self._programs.get((owner, name))
        if program is not None:
            program.closing.set()
            await program.ended.wait()

    async def end_all(self, owners: Collection[str] | None = None) -> None:
        """End all programs, or only the programs of the plugins in `owners`."""
        programs = [
            program for program in self._programs.values() if owners is None or program.owner in owners
        ]
        for program in programs:
            program.closing.set()
        with anyio.move_on_after(END_LIMIT_S):
            for program in programs:
                await program.ended.wait()

    async def _run(
        self,
        program: _Program,
        name: str,
        spec: ExecSpec,
        connect: Connect[ConnectionT],
        *,
        task_status: TaskStatus[None],
    ) -> None:
        env, key = self._parts.env, (program.owner, name)
        if not isinstance(env, CommandOpener):
            raise ToolError(f"{name} cannot run in the environment {env.name}, only in the local one.")
        process = await env.open_command(spec)
        is_started = False
        try:
            with guard_plugin("It", PluginError):
                async with connect(process) as program.connection:
                    self._programs[key] = program
                    is_started = True
                    task_status.started()
                    await program.closing.wait()
        except TuiAgentError as error:
            if not is_started:  # `use` still waits for the start, and gets the error
                raise
            failed = PluginFailed(plugin=program.owner, message=error.message, part=f"connection to {name}")
            self._parts.recorder.append(failed)
        finally:
            await process.end(END_GRACE_S)
            program.ended.set()
            if self._programs.get(key) is program:
                del self._programs[key]


class CallPrograms:
    """The `ports.program.Programs` service for one call of a tool."""

    def __init__(self, keeper: ProgramKeeper, owner: str, granted: SandboxGrant) -> None:
        self._keeper = keeper
        self._owner = owner
        self._granted = granted

    async def use(self, name: str, spec: ExecSpec, connect: Connect[ConnectionT]) -> ConnectionT:
        return await self._keeper.use(self._owner, name, self._granted.limit_program(spec), connect)

    async def end(self, name: str) -> None:
        await self._keeper.end(self._owner, name)


@dataclass(frozen=True, slots=True)
class Background:
    """Runs and ends the background jobs and the programs of a session."""

    jobs: JobManager
    programs: ProgramKeeper

    def begin(self, group: TaskGroup) -> None:
        """Set the task group in which jobs and programs run."""
        self.jobs.begin(group)
        self.programs.begin(group)

    async def end_all(self) -> None:
        """End all jobs and programs at the end of the session."""
        await self.jobs.end_all("session")
        await self.programs.end_all()
