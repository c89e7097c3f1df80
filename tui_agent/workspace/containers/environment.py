"""The environments `docker` and `apptainer`: commands run in a container, and files are read on this machine.

The workspace is mounted in the container at its own path, so both sides see the same files.

Invariant: a file tool never opens a file outside the workspace.
"""

import os
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path

from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink, Sandbox, WorkspaceScan
from tui_agent.workspace.containers.command_lines import ContainerSettings
from tui_agent.workspace.containers.container import Container
from tui_agent.workspace.containers.scripts import MARKER
from tui_agent.workspace.local.containment import is_within
from tui_agent.workspace.local.environment import CHILD_ENVIRONMENT, DEFAULT_OUTPUT_COLUMNS, LocalEnvironment
from tui_agent.workspace.local.environment_wrapper import EnvironmentWrapper
from tui_agent.workspace.local.subprocesses import TERMINATE_GRACE_S, Command, run_command, start_failure

NO_PROMISES = (
    "A container does not hide the workspace's secret files or protect .git, "
    "so the policy asks about commands as it does without a sandbox."
)


class ContainerEnvironment(EnvironmentWrapper):
    """Commands of one workspace in one container; implements `ports.environment.Environment`.

    Also implements `ProgramFinder`, `WorkspaceScanner` and `OutputWidthSetter`.
    """

    def __init__(self, local: LocalEnvironment, container: Container, settings: ContainerSettings) -> None:
        super().__init__(local)
        self._local = local
        self._container = container
        self._sandbox = Sandbox(
            settings.environment, (f"Commands run in {settings.description}.",), NO_PROMISES
        )
        self._name = settings.environment
        self._token = secrets.token_hex(12)
        self._count = 0
        self.output_columns = DEFAULT_OUTPUT_COLUMNS

    @classmethod
    def create(
        cls, local: LocalEnvironment, settings: ContainerSettings, environ: Mapping[str, str]
    ) -> "ContainerEnvironment":
        """Return an environment with a container of its own; nothing is started yet."""
        return cls(local, Container(settings, local.root, environ), settings)

    @property
    def name(self) -> str:
        return self._name

    @property
    def sandbox(self) -> Sandbox:
        return self._sandbox

    async def start(self) -> None:
        """Start the container; raise `ConfigError` if it does not start."""
        if self._container.is_gone:
            await self._container.start()

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a program in the container to its end; see `ports.environment`."""
        if self._container.is_closed:
            raise EnvironmentFault("The environment is closed; it cannot run more commands.")
        if self._container.is_gone:
            raise self._container.end_fault()
        folder, entry = await to_thread.run_sync(self._local.open_working_folder, spec)
        if isinstance(entry, ExecResult):
            return entry
        try:
            return await self._run_command(spec, on_output, folder, entry)
        finally:
            os.close(entry)

    async def _run_command(
        self, spec: ExecSpec, on_output: OutputSink, folder: str, folder_fd: int
    ) -> ExecResult:
        argv = spec.argv or (self._container.shell, "-c", spec.script)
        if any("\0" in word for word in argv):
            return start_failure("failed", f"{argv[0]} could not be started: Invalid argument.")
        program = await self._container.find_program(argv[0], folder)
        if isinstance(program, ExecResult):
            return program
        self._count += 1
        marker = f"{self._token}-{self._count}."
        own = {"COLUMNS": str(self.output_columns), "PWD": folder, MARKER: marker}
        command = Command(
            argv=(program, *argv[1:]),
            folder=folder_fd,
            cwd=folder,
            env={**CHILD_ENVIRONMENT, **spec.env, **own},
            timeout=spec.timeout,
            max_output=spec.max_output,
            newest=spec.tail_bytes,
            stdin=spec.stdin,
            errors=spec.max_stderr_bytes,
            is_wrapper=True,
        )
        launcher = self._container.launcher(
            marker, merged=spec.max_stderr_bytes is None, has_input=bool(spec.stdin)
        )
        return await run_command(command, on_output, launcher, TERMINATE_GRACE_S)

    def scan(self) -> WorkspaceScan:
        return self._local.scan()

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        return self._local.git_is_steered(folders)

    def find_files(self, paths: Collection[str]) -> frozenset[str]:
        return self._local.find_files(paths)

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        folders = [Path(folder) for folder in self._container.search_path if is_within(folder, self.root)]
        return frozenset(name for name in names if any((folder / name).exists() for folder in folders))

    async def upload(self, local: Path, path: str) -> None:
        """Copy a file or folder of this machine into the workspace, or to another absolute path in the container."""
        if is_within(self.resolve(path), self.root):
            await super().upload(local, path)
        else:
            await self._container.copy_in(local, path)

    async def download(self, path: str, local: Path) -> None:
        """Copy a file or folder to this machine, from the workspace or from another absolute path in the container."""
        if is_within(self.resolve(path), self.root):
            await super().download(path, local)
        else:
            await self._container.copy_out(path, local)

    async def aclose(self) -> int:
        """Remove the container, and return the number of killed processes."""
        try:
            return await self._container.aclose()
        finally:
            await self._local.aclose()
