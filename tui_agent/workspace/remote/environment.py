"""An environment that runs commands on a provider's machine and reads files on this machine.

The workspace is copied to the machine at the same path. Changed files are copied to the machine before each command,
and back after it.

Invariant: a command's result is returned only after its changes have been copied back.
"""

import math
import os
import secrets
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import anyio
from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink, Sandbox, WorkspaceScan
from tui_agent.workspace.containers.scripts import COMMAND, FIND_PROGRAM, MARKER, SIGNAL
from tui_agent.workspace.local.containment import is_within
from tui_agent.workspace.local.environment import CHILD_ENVIRONMENT, DEFAULT_OUTPUT_COLUMNS, LocalEnvironment
from tui_agent.workspace.local.environment_wrapper import EnvironmentWrapper
from tui_agent.workspace.local.subprocesses import (
    SIGNAL_CODES,
    TERMINATE_GRACE_S,
    OutputCollector,
    describe_end,
    start_failure,
)
from tui_agent.workspace.remote.machine import RemoteMachine
from tui_agent.workspace.remote.mirror import Mirror

NO_PROMISES = (
    "The remote machine gets a copy of the whole workspace, including secret files. "
    "The policy asks about commands as it does without a sandbox."
)
POLL_S = 0.2
CLEANUP_LIMIT_S = 30.0


class RemoteEnvironment(EnvironmentWrapper):
    """Commands of one workspace on a remote machine; implements `ports.environment.Environment`.

    Also implements `ProgramFinder`, `WorkspaceScanner` and `OutputWidthSetter`.
    """

    def __init__(
        self,
        name: str,
        local: LocalEnvironment,
        machine: RemoteMachine,
        work_dir: str = "",
        mounts: Mapping[Path, str] = MappingProxyType({}),
    ) -> None:
        """Create an environment on `machine`, which is not started yet.

        - `work_dir`: folder on the machine to which the workspace is copied; empty for the workspace's own path
        - `mounts`: maps each additional folder to its path on the machine. If the path ends with `,readonly`, changes
          are not copied back.
        """
        super().__init__(local)
        self._name = name
        self._local = local
        self._machine = machine
        self._mirrors = [Mirror(local.root, machine, work_dir)]
        self._read_only: list[Mirror] = []
        for folder, place in mounts.items():
            path, _, option = place.partition(",")
            (self._read_only if option else self._mirrors).append(Mirror(str(folder), machine, path))
        self._lock = anyio.Lock()
        self._token = secrets.token_hex(12)
        self._count = 0
        self._is_open = False
        self.output_columns = DEFAULT_OUTPUT_COLUMNS

    @property
    def name(self) -> str:
        return self._name

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox(self._name, (f"Commands run in {self._machine.description}.",), NO_PROMISES)

    async def start(self) -> None:
        """Create the machine and copy the workspace to it.

        Raise `ConfigError` if the machine cannot be created, `EnvironmentFault` if copying fails.
        """
        await self._machine.start()
        self._is_open = True
        for mirror in (*self._mirrors, *self._read_only):
            await mirror.start()

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a program on the machine to its end; see `ports.environment`."""
        if not self._is_open:
            raise EnvironmentFault("The environment is closed; it cannot run more commands.")
        folder, entry = await to_thread.run_sync(self._local.open_working_folder, spec)
        if isinstance(entry, ExecResult):
            return entry
        os.close(entry)
        argv = spec.argv or ("bash", "-c", spec.script)
        if any("\0" in word for word in argv):
            return start_failure("failed", f"{argv[0]} could not be started: Invalid argument.")
        # Commands can run at the same time, but only one copy operation can.
        async with self._lock:
            for mirror in self._mirrors:
                await mirror.push()
        failure, program = await self._find_program(argv[0], folder)
        if failure is not None:
            return failure
        result = await self._run_command((program, *argv[1:]), spec, folder, on_output)
        async with self._lock:
            for mirror in self._mirrors:
                await mirror.pull()
        return result

    async def _find_program(self, name: str, folder: str) -> tuple[ExecResult | None, str]:
        place = name if "/" not in name or name.startswith("/") else f"{folder}/{name}"
        answer = await self._ask(FIND_PROGRAM, place)
        if answer == "missing":
            return start_failure("not_found", f"The program {name} was not found on the remote machine."), ""
        if answer == "refused":
            return start_failure("failed", f"{name} cannot be executed (permission denied)."), ""
        return None, answer.removeprefix("at ")

    async def _run_command(
        self, argv: tuple[str, ...], spec: ExecSpec, folder: str, on_output: OutputSink
    ) -> ExecResult:
        self._count += 1
        marker, began = f"{self._token}-{self._count}.", time.monotonic()
        collector = OutputCollector(spec.max_output, on_output, spec.tail_bytes)
        is_merged = spec.max_stderr_bytes is None
        errors = collector if is_merged else OutputCollector(spec.max_stderr_bytes or 0, lambda data: None)
        words = ("sh", "-c", COMMAND, "sh", "merged" if is_merged else "separate", *argv)
        own = {"COLUMNS": str(self.output_columns), "PWD": folder, MARKER: marker}
        env = {**CHILD_ENVIRONMENT, **spec.env, **own}
        code: int | None = None
        try:
            with anyio.move_on_after(math.inf if spec.timeout is None else spec.timeout):
                code = await self._machine.run(words, folder, env, spec.stdin, collector.add, errors.add)
        finally:
            if code is None:
                with anyio.move_on_after(CLEANUP_LIMIT_S, shield=True):
                    await self._end_command(marker)
        # The shell reports a signal as 128 + its number, while `describe_end` expects the negative number.
        outcome: Literal["timeout", "exited"] = "timeout" if code is None else "exited"
        return ExecResult(
            exit_code=code,
            outcome=outcome,
            output=collector.output(),
            dropped_bytes=collector.dropped,
            cut_offset=collector.cut_offset,
            duration_ms=(time.monotonic() - began) * 1000,
            message=describe_end(
                outcome, 128 - code if code is not None and code in SIGNAL_CODES else code, spec.timeout
            ),
            stderr=b"" if is_merged else errors.output(),
        )

    async def _end_command(self, marker: str) -> None:
        count = int(await self._ask(SIGNAL, "TERM", marker))
        with anyio.move_on_after(TERMINATE_GRACE_S):
            while count:
                await anyio.sleep(POLL_S)
                count = int(await self._ask(SIGNAL, "0", marker))
        while count:
            count = int(await self._ask(SIGNAL, "KILL", marker))

    async def _ask(self, script: str, *arguments: str) -> str:
        output = bytearray()
        argv = ("sh", "-c", script, "sh", *arguments)
        await self._machine.run(argv, self.root, {}, b"", output.extend, lambda data: None)
        return output.decode("utf-8", "surrogateescape").strip()

    def scan(self) -> WorkspaceScan:
        return self._local.scan()

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        return self._local.git_is_steered(folders)

    def find_files(self, paths: Collection[str]) -> frozenset[str]:
        return frozenset()  # the remote files are not looked up here, so none is certain

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        # The programs of the remote machine are unknown here, so each of these names may belong to the workspace.
        return frozenset(names)

    async def upload(self, local: Path, path: str) -> None:
        """Copy a file or folder into the workspace, or a single file to another path of the remote machine."""
        if is_within(self.resolve(path), self.root):
            await super().upload(local, path)
            return
        try:
            data = await to_thread.run_sync(local.read_bytes)
        except OSError as error:
            raise EnvironmentFault(f"{local} could not be copied: {error}") from error
        await self._machine.write_file(data, path)

    async def download(self, path: str, local: Path) -> None:
        """Copy a file or folder of the workspace, or a single file from another path of the remote machine."""
        if is_within(self.resolve(path), self.root):
            await super().download(path, local)
        else:
            data = await self._machine.read_file(path)
            await to_thread.run_sync(local.write_bytes, data)

    async def aclose(self) -> int:
        """Remove the machine, and return the number of killed processes."""
        killed = 0
        try:
            if self._is_open:
                killed = int(await self._ask(SIGNAL, "KILL", f"{self._token}-") or 0)
        finally:
            self._is_open = False
            await self._machine.aclose()
            await self._local.aclose()
        return killed
