"""The local environment: files and programs on the user's own machine.

Invariant: no `async` method blocks the event loop, and no file method reaches a file outside the workspace (see
`containment`).
"""

import os
import secrets
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from anyio import to_thread

from tui_agent.config.system_programs import find_program
from tui_agent.errors import EnvironmentFault, os_errors_as
from tui_agent.ports.environment import (
    ExecResult,
    ExecSpec,
    FileContent,
    FileInfo,
    OutputSink,
    ProcessControl,
    Sandbox,
    WorkspaceScan,
)
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.workspace.git.unsafe_git_folders import can_run_programs
from tui_agent.workspace.local import subprocesses
from tui_agent.workspace.local.containment import Containment, path_error
from tui_agent.workspace.local.file_walk import next_batch, walk_files
from tui_agent.workspace.local.local_files import LocalFiles
from tui_agent.workspace.local.nofollow_open import OpenFolder
from tui_agent.workspace.local.piped_program import PipedProcess, open_piped
from tui_agent.workspace.local.reaper_client import ReaperClient
from tui_agent.workspace.local.transfers import copy_merged, write_archive
from tui_agent.workspace.sandbox.command_run import open_confined, run_confined
from tui_agent.workspace.sandbox.command_setup import Confinement
from tui_agent.workspace.sandbox.output_notes import MISSED_SERVER, misses_server

NOT_REQUESTED = Sandbox(unavailable_reason="The sandbox was not requested.")
MARKER = "TUI_AGENT_COMMAND"
"""Name of an environment variable that identifies the remaining processes of a program."""
CHILD_ENVIRONMENT = {
    "PYTHONUTF8": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_PARAMETERS": "'safe.bareRepository=explicit'",
}
"""Variables set for every program: no pager, no prompts, no terminal colours."""
# `safe.bareRepository`: git ignores a folder that only looks like a repository. Such a folder's configuration could run
# programs.
DEFAULT_OUTPUT_COLUMNS = 80
"""Width of program output in columns until a client sends the width of its display."""
OWN_PROGRAMS = {"bash": "/bin/sh", "rg": "/usr/bin/rg"}
"""Paths of programs that tui-agent itself runs. They are used if the search in `PATH` finds no such program."""
FORCED_COLOUR = frozenset({"FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"})


class WorkspaceFiles:
    """The file methods of `ports.environment.Environment`, for the folder of `containment`."""

    def __init__(self, containment: Containment) -> None:
        self.containment = containment
        self._files = LocalFiles(containment)

    @property
    def root(self) -> str:
        return self.containment.root

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """Read a regular file."""
        return await to_thread.run_sync(self._files.read, path, max_bytes)

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        """Replace or create a file; cannot be cancelled after the file has changed."""
        return await to_thread.run_sync(self._files.write, path, data, expected_digest)

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file if it still has the digest `expected_digest`."""
        await to_thread.run_sync(self._files.remove, path, expected_digest)

    async def stat(self, path: str) -> FileInfo | None:
        """Return the properties of a file or folder, without following a link at the end of the path."""
        return await to_thread.run_sync(self._files.stat, path)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """Return a folder's entries, sorted by name."""
        return await to_thread.run_sync(self._files.listdir, path)

    async def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        """Yield files and links below a path, read by a thread in batches."""
        files = walk_files(self.containment, path, include_ignored)
        while batch := await to_thread.run_sync(next_batch, files):
            for item in batch:
                yield item

    def resolve(self, path: str) -> str:
        """Return the absolute path with all links followed, even if it is outside the workspace."""
        return self.containment.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        return self.containment.resolve_all(paths)

    async def upload(self, local: Path, path: str) -> None:
        """Copy a file or folder to a path in the workspace."""
        await to_thread.run_sync(copy_merged, local, self._find_inside(path))

    async def download(self, path: str, local: Path) -> None:
        """Copy a file or folder of the workspace to `local`."""
        await to_thread.run_sync(copy_merged, self._find_inside(path), local)

    async def snapshot(self, to: Path) -> None:
        """Write the workspace as a `tar.gz` archive."""
        await to_thread.run_sync(write_archive, Path(self.root), to)

    def _find_inside(self, path: str) -> Path:
        return Path(self.root, *self.containment.resolve_parts(path))


class LocalEnvironment(WorkspaceFiles):
    """Files and processes below `root` on this machine. Implements `ports.environment.Environment`.

    Also implements `ProgramFinder`, `WorkspaceScanner`, `PrivateTempFinder`, `ProcessOpener` and `CommandOpener` of
    `ports.environment`.

    - `environ`: base of the programs' environment; by default, the environment of this process
    - `hidden`: variables that no program gets, such as API keys
    - `grace`: seconds between SIGTERM and SIGKILL after a timeout
    - `reaper`: starts and ends the programs
    - `confinement`: the sandbox, or None
    """

    def __init__(
        self,
        root: Path,
        *,
        environ: Mapping[str, str] | None = None,
        hidden: Collection[str] = (),
        grace: float = subprocesses.TERMINATE_GRACE_S,
        reaper: ReaperClient | None = None,
        confinement: Confinement | None = None,
        open_folder: OpenFolder | None = None,
    ) -> None:
        super().__init__(Containment(str(root), open_folder=open_folder))
        self._environ = environ
        self._hidden = frozenset(hidden) | FORCED_COLOUR
        self._grace = grace
        self._token = secrets.token_hex(12)
        self._count = 0
        self._isolated_count = 0
        """Number of running commands in a sandbox without network. Each has its own localhost."""
        self._reaper = reaper or ReaperClient()
        self.limits_in_force = ProcessControl()
        """Resource limits of the program that was started last."""
        self.output_columns = DEFAULT_OUTPUT_COLUMNS
        self._closed = False
        self._confinement = confinement

    @property
    def name(self) -> str:
        return LOCAL_ENVIRONMENT

    @property
    def sandbox(self) -> Sandbox:
        return NOT_REQUESTED if self._confinement is None else self._confinement.sandbox

    async def start(self) -> None:
        """Do nothing, because the reaper starts with the first command."""

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a program to its end; see `ports.environment` and `subprocesses`."""
        if self._closed:
            raise EnvironmentFault("The environment is closed; it cannot run more commands.")
        folder, entry = await to_thread.run_sync(self.open_working_folder, spec)
        if isinstance(entry, ExecResult):
            return entry
        try:
            return await self._run_command(spec, on_output, folder, entry)
        finally:
            os.close(entry)

    def open_working_folder(self, spec: ExecSpec) -> tuple[str, int | ExecResult]:
        """Return the working folder's path and its open descriptor.

        If the folder does not exist, return a failed result in place of the descriptor. Raise `EnvironmentFault` if the
        folder cannot be opened for another reason.
        """
        # A program that is started in the folder of the descriptor gets this folder even if the path is renamed.
        contain = self.containment.for_folder(self.root) if spec.resolved_cwd else self.containment
        parts = contain.resolve_parts(spec.resolved_cwd or spec.cwd)
        folder = "/".join((self.root.rstrip("/"), *parts))
        try:
            return folder, self.containment.open_to_enter(parts)
        except (FileNotFoundError, NotADirectoryError):
            return folder, subprocesses.start_failure("not_found", f"The folder {folder} does not exist.")
        except OSError as error:
            raise path_error(spec.cwd or folder, error) from error

    async def _run_command(
        self, spec: ExecSpec, on_output: OutputSink, folder: str, folder_fd: int
    ) -> ExecResult:
        command = self._prepare(spec, folder, folder_fd)
        run = partial(
            subprocesses.run_command, launcher=self._reaper, grace=self._grace, on_start=self._set_limits
        )
        if self._confinement is None or not self._is_confined(spec):
            result = await run(command, on_output)
        elif spec.allow_network:
            result = await run_confined(self._confinement, command, spec, on_output, run)
        else:
            self._isolated_count += 1
            try:
                result = await run_confined(self._confinement, command, spec, on_output, run)
            finally:
                self._isolated_count -= 1
        # On macOS, all commands share localhost.
        is_isolated = self._isolated_count > 0 and self.sandbox.kind == "bubblewrap"
        if not is_isolated or not misses_server(spec.script or shlex.join(spec.argv), result):
            return result
        if result.blocked:  # The user reads it too, when asked to run the command again outside the sandbox.
            return replace(result, blocked=f"{result.blocked} {MISSED_SERVER}")
        return replace(result, notes=(*result.notes, MISSED_SERVER))

    def _is_confined(self, spec: ExecSpec) -> bool:
        return bool(self.sandbox.kind) and not spec.unsandboxed

    def _prepare(self, spec: ExecSpec, folder: str, folder_fd: int) -> subprocesses.Command:
        self._count += 1
        marker = f"{self._token}-{self._count}"
        env = self._child_environment(folder, marker, spec.env)
        argv = spec.argv or ("bash", "-c", spec.script)
        return subprocesses.Command(
            argv=(_find_executable(argv[0], env, Path(self.root)), *argv[1:]),
            folder=folder_fd,
            cwd=folder,
            env=env,
            timeout=spec.timeout,
            max_output=spec.max_output,
            newest=spec.tail_bytes,
            stdin=spec.stdin,
            errors=spec.max_stderr_bytes,
            max_written=spec.max_written_bytes,
        )

    async def open_command(self, spec: ExecSpec) -> PipedProcess:
        """Start a background program, confined like a command; see `ports.environment.CommandOpener`."""
        if self._closed:
            raise EnvironmentFault("The environment is closed; it cannot run more programs.")
        folder, entry = await to_thread.run_sync(self.open_working_folder, spec)
        if isinstance(entry, ExecResult):
            raise EnvironmentFault(entry.message)
        try:
            command = self._prepare(spec, folder, entry)
            if self._confinement is not None and self._is_confined(spec):
                return await open_confined(self._confinement, command, spec, self._reaper)
            return await to_thread.run_sync(
                open_piped, command.argv, entry, folder, command.env, self._reaper
            )
        finally:
            os.close(entry)

    async def open_process(self, argv: Sequence[str], env: Mapping[str, str], cwd: str = "") -> PipedProcess:
        """Start a background program outside the sandbox; see `ports.environment.ProcessOpener`."""
        if self._closed:
            raise EnvironmentFault("The environment is closed; it cannot run more programs.")
        return await to_thread.run_sync(self._open_process, argv, env, cwd)

    def _open_process(self, argv: Sequence[str], extra: Mapping[str, str], cwd: str) -> PipedProcess:
        folder = str(Path(self.root, Path(cwd).expanduser()))
        with os_errors_as(EnvironmentFault, f"The folder {folder} cannot be opened"):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._count += 1
            env = self._child_environment(folder, f"{self._token}-{self._count}", extra)
            program = _find_executable(argv[0], env, Path(self.root))
            return open_piped((program, *argv[1:]), descriptor, folder, env, self._reaper)
        finally:
            os.close(descriptor)

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        if not names:
            return frozenset()
        path = _search_path(os.environ if self._environ is None else self._environ)
        prefix = self.root.rstrip("/") + "/"
        paths = {name: shutil.which(name, path=path) for name in names}
        return frozenset(
            name
            for name, location in paths.items()
            if location is not None
            and any(spelling.startswith(prefix) for spelling in (location, os.path.realpath(location)))
        )

    def find_files(self, paths: Collection[str]) -> frozenset[str]:
        root = Path(self.root)
        files = {path: Path(os.path.normpath(root / path)) for path in paths}
        return frozenset(
            path
            for path, file in files.items()
            if file.is_relative_to(root) and file.is_file() and file.parent == file.parent.resolve()
        )

    def scan(self) -> WorkspaceScan:
        return WorkspaceScan() if self._confinement is None else self._confinement.scan()

    def find_private_temp_paths(self, paths: Collection[str]) -> frozenset[str]:
        return frozenset() if self._confinement is None else self._confinement.find_own(paths)

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        return can_run_programs(self.root, folders)

    async def aclose(self) -> int:
        """End all running programs, and processes that earlier programs left behind.

        Return the number of killed processes.
        """
        self._closed = True
        killed = await to_thread.run_sync(self._reaper.close)
        if sys.platform == "linux":
            marker = f"{MARKER}={self._token}-".encode()
            killed += await to_thread.run_sync(_kill_carriers, marker)
        if self._confinement is not None:
            await to_thread.run_sync(self._confinement.close)
        return killed

    def _set_limits(self, limits: ProcessControl) -> None:
        self.limits_in_force = limits

    def _child_environment(self, folder: str, marker: str, extra: Mapping[str, str]) -> dict[str, str]:
        base = os.environ if self._environ is None else self._environ
        env = {name: value for name, value in base.items() if name not in self._hidden}
        env["PATH"] = _search_path(base)
        own = {"COLUMNS": str(self.output_columns), "PWD": folder, MARKER: marker}
        return {**env, **CHILD_ENVIRONMENT, **extra, **own}


def _search_path(base: Mapping[str, str]) -> str:
    """Return `PATH` without relative entries.

    The folder of the Python that runs tui-agent is included only if the user put it in `PATH`. If it were always there,
    `python` or `pytest` would test the project with the packages of tui-agent.
    """
    entries = [entry for entry in base.get("PATH", os.defpath).split(os.pathsep) if entry.startswith("/")]
    return os.pathsep.join(entries) or os.defpath  # an empty PATH means the working folder


def _find_executable(name: str, env: Mapping[str, str], workspace: Path) -> str:
    if "/" in name:
        return name
    if name in OWN_PROGRAMS:
        return find_program(name, workspace, env) or OWN_PROGRAMS[name]
    path = shutil.which(name, path=env.get("PATH"))
    if path is None and name == "python":
        path = shutil.which("python3", path=env.get("PATH"))  # Debian has only this name
    return path or name


def _find_carriers(marker: bytes) -> Iterator[int]:
    """Yield the ids of processes with an environment entry that starts with `marker` (Linux only)."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):  # the process is another user's, or has ended
                if (b"\0" + marker) in (b"\0" + (entry / "environ").read_bytes()):
                    yield int(entry.name)


def _kill_carriers(marker: bytes) -> int:
    killed = 0
    for _ in range(10):  # a process can start another one between the listing and its end
        strays = list(_find_carriers(marker))
        for pid in strays:
            try:
                os.kill(pid, 9)
                killed += 1
            except (ProcessLookupError, PermissionError):
                continue
        if not strays:
            break
    return killed
