"""Runs git on the session's own checkpoint store.

Invariant: git never reads another repository's configuration and never runs a hook, filter, pager or file monitor.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream

from tui_agent.errors import CheckpointError, os_errors_as
from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.checkpoints.alternates import describe_missing_folders

OBJECT_ID_CHARS = 40

CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tprecomposeunicode = false
\tprotectNTFS = false
\tprotectHFS = false
\tautocrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\tsplitIndex = false
\tsparseCheckout = false
\thooksPath = /dev/null
\texcludesFile = /dev/null
\tattributesFile = /dev/null
\tlogAllRefUpdates = false
\tfsync = none
\tcompression = 1
[index]
\tskipHash = false
\tsparse = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol]
\tallow = never
[submodule]
\trecurse = false
"""
ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -eol !diff !merge\n"
"""Git attributes for the checkpoint store. With them, git stores all content unchanged."""

COMMON_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "gc.auto=0",
)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """Output, error output and exit code of a program that ended."""

    code: int
    out: bytes
    err: bytes


RunProgram = Callable[[Sequence[str], bytes, Mapping[str, str], Path], Awaitable[ProgramResult]]
"""Function that runs a program, given the command's words, standard input, environment and folder.

It raises `OSError` if the program cannot be started.
"""


async def run_program(argv: Sequence[str], stdin: bytes, env: Mapping[str, str], cwd: Path) -> ProgramResult:
    """Run a program; on cancellation, kill it and all programs that it started."""
    out, err = bytearray(), bytearray()
    pipe = subprocess.PIPE
    # Cancelling the start itself would leave a process that nobody waits for.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, start_new_session=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    async with process:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_drain, process.stdout, out)
                group.start_soon(_drain, process.stderr, err)
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await process.stdin.send(stdin)
                await process.stdin.aclose()
                code = await process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            # Closing a process that was not waited for takes its exit status away from asyncio, which prints a warning.
            with anyio.CancelScope(shield=True):
                await process.wait()
            raise
    return ProgramResult(code, bytes(out), bytes(err))


async def _drain(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into += chunk


class Git:
    """Runs git on one checkpoint store.

    - `folder`: the store
    - `workspace`: the folder with the user's files
    """

    def __init__(self, program: str, folder: Path, workspace: Path, run: RunProgram = run_program) -> None:
        self.folder = folder
        self.workspace = workspace
        self._program = program
        self._run = run

    @property
    def index(self) -> Path:
        """Path of the newest checkpoint's git index."""
        return self.folder / "index"

    def _environment(self, index: Path, tree: Path, author: str) -> dict[str, str]:
        # The user's GIT_ variables could redirect git to another repository, and a translated message is not
        # recognised.
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "LC_", "LANG"))
        }
        identity = {
            f"GIT_{role}_{field}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", author), ("EMAIL", f"{author}@localhost"))
        }
        return {
            **inherited,
            **identity,
            "LC_ALL": "C",
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(tree),
            "GIT_INDEX_FILE": str(index),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DEFAULT_HASH": "sha1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }

    async def run(
        self,
        *args: str,
        stdin: bytes = b"",
        index: Path | None = None,
        tree: Path | None = None,
        author: str = "agent",
    ) -> ProgramResult:
        """Run git and return its result; raise `CheckpointError` if git cannot run.

        `tree`: the work tree; by default the workspace, or the store's folder if the workspace no longer exists.
        """
        folder = tree or (self.workspace if self.workspace.is_dir() else self.folder)
        env = self._environment(index or self.index, folder, author)
        with os_errors_as(
            CheckpointError,
            f"git {args[0]} could not run for the checkpoints",
            hint="Check that git is installed and can be run.",
        ):
            return await self._run((self._program, *COMMON_OPTIONS, *args), stdin, env, folder)

    async def __call__(
        self,
        *args: str,
        stdin: bytes = b"",
        index: Path | None = None,
        tree: Path | None = None,
        author: str = "agent",
    ) -> bytes:
        """Run git and return its output; raise `CheckpointError` if the exit code is not 0."""
        result = await self.run(*args, stdin=stdin, index=index, tree=tree, author=author)
        if result.code:
            raise self.error_for(next(arg for arg in args if not arg.startswith("-")), result)
        return result.out

    def error_for(self, command: str, result: ProgramResult) -> CheckpointError:
        """Return the error for a failed git command. `command`: the command as text, such as "write-tree"."""
        lines = result.err.decode("utf-8", "replace").strip().splitlines()
        # Git can print more after the fatal error, such as the name of a crash report.
        lines = [line for line in lines if line.startswith("fatal: ")] or lines
        reason = (lines[-1] if lines else f"it ended with {result.code}").removeprefix("fatal: ").rstrip(".")
        return self._borrowed_fault() or CheckpointError(
            f"The checkpoint store {self.folder} could not be used: git {command}: {reason}.",
            hint="Check the disk's free space and the folder.",
        )

    async def run_line(
        self, *args: str, stdin: bytes = b"", index: Path | None = None, author: str = "agent"
    ) -> str:
        """Run git and return the single line that it prints."""
        return (await self(*args, stdin=stdin, index=index, author=author)).decode("utf-8", "replace").strip()

    async def read_contents(self, sizes: Mapping[str, int]) -> dict[str, bytes]:
        """Return the contents of objects by id. Raise `CheckpointError` if one is missing or has another size.

        `sizes`: maps the ids to the expected sizes in bytes.
        """
        if not sizes:
            return {}
        out = await self("cat-file", "--batch", stdin="".join(f"{name}\n" for name in sizes).encode())
        contents: dict[str, bytes] = {}
        offset = 0
        for name, size in sizes.items():
            head, newline, _ = out[offset : offset + 80].partition(b"\n")
            if not newline or head.split()[-1] != str(size).encode():
                raise self.missing_error(name)
            offset += len(head) + 1
            contents[name] = out[offset : offset + size]
            offset += size + 1
        return contents

    def missing_error(self, name: str) -> CheckpointError:
        """Return the error for an object that is missing in the checkpoint store."""
        return self._borrowed_fault() or CheckpointError(
            f"The checkpoint store {self.folder} is damaged: the object {name} is missing.",
            hint="Some files of that checkpoint cannot be shown or restored.",
        )

    def require_borrowed(self) -> None:
        """Raise `CheckpointError` if the borrowed object folders are missing."""
        fault = self._borrowed_fault()
        if fault is not None:
            raise fault

    def _borrowed_fault(self) -> CheckpointError | None:
        problem = describe_missing_folders(self.folder)
        if not problem:
            return None
        return CheckpointError(
            f"The checkpoint store {self.folder} is incomplete. {problem}.",
            hint="Move the missing folders back. The store still has the files that changed in the session, and everything that was already copied.",
        )

    async def read_sizes(self, ids: list[str], *, missing: bool = False) -> dict[str, int]:
        """Map object ids to sizes in bytes.

        `missing`: True to leave out missing objects, False to raise `CheckpointError` for them.
        """
        names = list(dict.fromkeys(ids))
        if not names:
            return {}
        out = await self("cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in names).encode())
        sizes = {}
        for line in out.decode().splitlines():
            name, _, rest = line.partition(" ")
            if rest != "missing":
                sizes[name] = int(rest.rsplit(" ", 1)[1])
            elif not missing:
                raise self.missing_error(name)
        return sizes


def split_names(out: bytes) -> list[str]:
    """Split a NUL-terminated list of paths, as `git ls-files -z` prints it."""
    return [os.fsdecode(item) for item in out.split(b"\0") if item]


def join_paths(paths: list[str]) -> bytes:
    """Join paths in the NUL-terminated form of git's -z options."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
