"""The user's own machine as an environment.

Invariant: nothing here blocks the event loop; files are contained in the workspace (see `contain`), programs leave
nothing behind (see `spawn`).
"""

import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path

from anyio import to_thread

from tui_agent.config.programs import find_program
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import (
    ExecResult,
    ExecSpec,
    FileContent,
    FileInfo,
    Holding,
    OutputSink,
    Sandbox,
    WorkspaceScan,
)
from tui_agent.workspace.git.program_folders import runs_programs
from tui_agent.workspace.local import subprocesses as spawn
from tui_agent.workspace.local.descendants import LINUX, carriers
from tui_agent.workspace.local.file_walk import batch_of, walk
from tui_agent.workspace.local.files import LocalFiles
from tui_agent.workspace.local.nofollow import OpenFolder
from tui_agent.workspace.local.paths import Containment, fault
from tui_agent.workspace.local.reaper_client import Keeping
from tui_agent.workspace.sandbox.confined_run import confined
from tui_agent.workspace.sandbox.confinement import Confinement

UNASKED = Sandbox(why_not="No sandbox was asked for.")
MARKER = "TUI_AGENT_COMMAND"
"""The variable that every program started here carries, so that strays are found."""
CHILD_ENVIRONMENT = {
    "PYTHONUTF8": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_PARAMETERS": "'safe.bareRepository=explicit'",
}
"""Set for every program: no pager, no question, no colour by terminal. No locale is forced.

git takes a folder for a repository only where a `.git` stands in it or above: any files can be laid out as a bare one,
whose configuration names programs that git runs.
"""
OURS = {"bash": "/bin/sh", "rg": "/usr/bin/rg"}
"""Programs that are started unasked, so never ones of the working folder; and what is tried where there is no other."""
FORCED_COLOUR = frozenset({"FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"})


class LocalEnvironment:
    """Files and processes below `root` on this machine; contract: `ports.environment.Environment`.

    `environ` is the base of the programs' environment (this process's own when None); `hidden` names variables that
    no program is shown, such as the keys of model providers; `grace` is how many seconds a program has between
    SIGTERM and SIGKILL when its time was up; `keeping` starts and ends the programs;
    `confinement` is the sandbox that programs run in, but for those that are to run outside it.
    """

    def __init__(
        self,
        root: Path,
        *,
        environ: Mapping[str, str] | None = None,
        hidden: Collection[str] = (),
        grace: float = spawn.TERMINATE_GRACE_S,
        keeping: Keeping | None = None,
        confinement: Confinement | None = None,
        open_folder: OpenFolder | None = None,
    ) -> None:
        self._contain = Containment(str(root), open_folder=open_folder)
        self._files = LocalFiles(self._contain)
        self._environ = environ
        self._hidden = frozenset(hidden) | FORCED_COLOUR
        self._grace = grace
        self._token = secrets.token_hex(12)
        self._count = 0
        self._keeping = keeping or Keeping()
        self.holding = Holding()
        """What held the newest program that was started."""
        self._closed = False
        self._confinement = confinement

    @property
    def name(self) -> str:
        return "local"

    @property
    def root(self) -> str:
        return self._contain.root

    @property
    def containment(self) -> Containment:
        """How its files are reached."""
        return self._contain

    @property
    def sandbox(self) -> Sandbox:
        return UNASKED if self._confinement is None else self._confinement.sandbox

    @property
    def keeper(self) -> int:
        """The process that all programs stand below; -1 before the first."""
        return self._keeping.pid

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run to the end; see the contract and `spawn`."""
        if self._closed:
            raise EnvironmentFault("The environment is closed: nothing more can be run in it.")
        folder, entered = await to_thread.run_sync(self._enter, spec)
        if isinstance(entered, ExecResult):
            return entered
        try:
            return await self._exec(spec, on_output, folder, entered)
        finally:
            os.close(entered)

    def _enter(self, spec: ExecSpec) -> tuple[str, int | ExecResult]:
        """The folder that a program is started in, and a descriptor of it: whatever becomes of the name, it is that one."""
        contain = self._contain.at(self.root) if spec.folder else self._contain
        parts = contain.parts(spec.folder or spec.cwd)
        folder = "/".join((self.root.rstrip("/"), *parts))
        try:
            return folder, self._contain.enter(parts)
        except (FileNotFoundError, NotADirectoryError):
            return folder, ExecResult(None, "not_found", b"", 0, 0.0, f"The folder {folder} does not exist.")
        except OSError as error:
            raise fault(spec.cwd or folder, error) from error

    async def _exec(self, spec: ExecSpec, on_output: OutputSink, folder: str, entered: int) -> ExecResult:
        self._count += 1
        marker = f"{self._token}-{self._count}"
        env = self._child_environment(folder, marker, spec.env)
        argv = spec.argv or ("bash", "-c", spec.script)
        command = spawn.Command(
            argv=(_program(argv[0], env, Path(self.root)), *argv[1:]),
            folder=entered,
            cwd=folder,
            env=env,
            timeout=spec.timeout,
            max_output=spec.max_output,
            newest=spec.newest,
            stdin=spec.stdin,
            errors=spec.errors,
        )
        run = partial(spawn.run, keeping=self._keeping, grace=self._grace, on_start=self._held)
        if self._confinement is None or spec.outside or not self.sandbox.kind:
            return await run(command, on_output)
        return await confined(self._confinement, command, spec, on_output, run)

    def own_programs(self, names: Collection[str]) -> frozenset[str]:
        """See `ports.environment.FindsPrograms`."""
        if not names:
            return frozenset()
        path = _search_path(os.environ if self._environ is None else self._environ)
        prefix = self.root.rstrip("/") + "/"
        found = {name: shutil.which(name, path=path) for name in names}
        return frozenset(
            name
            for name, at in found.items()
            if at is not None and any(one.startswith(prefix) for one in (at, os.path.realpath(at)))
        )

    def scan(self) -> WorkspaceScan:
        """See `ports.environment.KnowsSecrets`."""
        return WorkspaceScan() if self._confinement is None else self._confinement.scan()

    def only_confined(self, paths: Collection[str]) -> frozenset[str]:
        """See `ports.environment.KnowsOwnFiles`."""
        return frozenset() if self._confinement is None else self._confinement.own(paths)

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        """See `ports.environment.FindsPrograms`."""
        return runs_programs(self.root, folders)

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """A regular file's content."""
        return await to_thread.run_sync(self._files.read, path, max_bytes)

    async def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        """Replace or create a file; the change and the return cannot be split by cancellation."""
        return await to_thread.run_sync(self._files.write, path, data, expect)

    async def remove(self, path: str, expect: str) -> None:
        """Remove a file that still has the digest `expect`."""
        await to_thread.run_sync(self._files.remove, path, expect)

    async def stat(self, path: str) -> FileInfo | None:
        """What is there, a link at the path's end not followed."""
        return await to_thread.run_sync(self._files.stat, path)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """A folder's entries, sorted by name."""
        return await to_thread.run_sync(self._files.listdir, path)

    async def walk(self, path: str = "", *, ignored: bool = False) -> AsyncIterator[FileInfo]:
        """Files and links below, pulled from a thread in batches."""
        found = walk(self._contain, path, ignored)
        while batch := await to_thread.run_sync(batch_of, found):
            for item in batch:
                yield item

    def resolve(self, path: str) -> str:
        """The absolute path after links are followed, wherever it leads."""
        return self._contain.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """See `ports.environment.Environment`."""
        return self._contain.resolve_all(paths)

    async def aclose(self) -> int:
        """End every program that still runs, and strays of earlier ones; returns how many were killed."""
        self._closed = True
        killed = await to_thread.run_sync(self._keeping.close)
        if LINUX:
            marker = f"{MARKER}={self._token}-".encode()
            killed += await to_thread.run_sync(_kill_carriers, marker)
        if self._confinement is not None:
            await to_thread.run_sync(self._confinement.close)
        return killed

    def _held(self, holding: Holding) -> None:
        self.holding = holding

    def _child_environment(self, folder: str, marker: str, extra: Mapping[str, str]) -> dict[str, str]:
        base = os.environ if self._environ is None else self._environ
        env = {name: value for name, value in base.items() if name not in self._hidden}
        env["PATH"] = _search_path(base)
        return {**env, **CHILD_ENVIRONMENT, **extra, "PWD": folder, MARKER: marker}


def _search_path(base: Mapping[str, str]) -> str:
    """Where programs are found: nothing in the working folder because of its name. Behind everything of the user's own: a
    bare `python` is found where the system has none."""
    given = [one for one in base.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")]
    return os.pathsep.join([*given, str(Path(sys.executable).parent)])


def _program(name: str, env: Mapping[str, str], workspace: Path) -> str:
    """The program to start; a bare `python` that is nowhere to be found is this interpreter."""
    if "/" in name:
        return name
    if name in OURS:
        return find_program(name, workspace, env) or OURS[name]
    found = shutil.which(name, path=env.get("PATH"))
    if found is None and _is_python(name):
        return sys.executable
    return found or name


def _is_python(name: str) -> bool:
    if not name.startswith("python"):
        return False
    version = name.removeprefix("python")
    return version in ("", "3") or (version.startswith("3.") and version[2:].isdigit())


def _kill_carriers(marker: bytes) -> int:
    killed = 0
    for _ in range(10):
        strays = list(carriers(marker))
        for pid in strays:
            try:
                os.kill(pid, 9)
                killed += 1
            except (ProcessLookupError, PermissionError):
                continue
        if not strays:
            break
    return killed
