"""The environment protocol: files and processes of one workspace.

Paths are relative to `root` (with `/`) or absolute. An environment refuses to write outside `root`. Links that lead out
of `root` are not followed.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.plain_text import show_text
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.unicode_text import list_first

OutputSink: TypeAlias = Callable[[bytes], None]
"""Function that receives a program's output as it arrives. It runs on the event loop."""


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """A program to run: `argv` without a shell, or `script` with `bash -c`."""

    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Time limit in seconds. At the limit, the whole process group is killed. None means no limit."""
    max_output: int = 50_000_000
    """Maximum size of the output to keep, in bytes."""
    tail_bytes: int = 0
    """Number of bytes to keep at the end of an output longer than `max_output`."""
    stdin: bytes = b""
    max_written_bytes: int | None = None
    """Maximum size of output and standard error together, in bytes. None means no limit.

    A program that writes more is ended. Only local environments apply this limit.
    """
    max_stderr_bytes: int | None = None
    """Maximum size of standard error in `ExecResult.stderr`, in bytes. If None, standard error is part of the output.
    """
    unsandboxed: bool = False
    """True to run the program outside the sandbox, for example a command that the user typed."""
    allow_network: bool = False
    """True if the sandboxed program can use the network."""
    writable_paths: tuple[str, ...] = ()
    """Files and folders outside `root` that the sandboxed program can write, as absolute real paths.

    Protected files are ignored, and so are folders that contain protected files.
    """
    show_secrets_as_empty: bool = False
    """True if files with secrets appear empty to the program. This is used for commands that only read files.

    If False, the program cannot open such files. Files whose content is committed to git stay readable.
    """
    readable_secrets: tuple[str, ...] = ()
    """Absolute real paths of secret files that the approved command can read."""
    private_temp_paths: tuple[str, ...] = ()
    """Paths such as `/tmp/x` that lead to the sandbox's own temporary folder, and not to the machine's `/tmp`.

    These paths did not exist on this machine when the command was approved.
    """
    repository_read_only: bool = False
    """True if the workspace's git repository is mounted read-only."""
    read_only: bool = False
    """True if the command can write only temporary folders, not the workspace."""
    hides_home: bool = False
    """True if everything in the home folder is hidden, except files and folders with a leading dot."""
    resolved_cwd: str = ""
    """The absolute real path of `cwd` when the policy judged the command (empty: not known).

    If `cwd` leads to another folder now, the command does not start.
    """


MAX_NAMED_FILES = 5
"""Maximum number of file names in the remark about secret files that appeared empty."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The result of a program.

    - `exit_code`: None if the program was killed.
    - `outcome`: reason for the end. `not_found`: the program or folder does not exist. `failed`: the program could not
      start. `flooded`: the program wrote more than `max_written_bytes`.
    - `blocked`: a sentence about the action that the sandbox probably refused; otherwise empty.
    """

    exit_code: int | None
    outcome: Literal["exited", "timeout", "flooded", "cancelled", "not_found", "failed"]
    output: bytes
    dropped_bytes: int
    duration_ms: float
    message: str = ""
    blocked: str = ""
    stderr: bytes = b""
    emptied_secrets: tuple[str, ...] = ()
    """Files with secrets that the command probably read. They appeared empty to the command."""
    needed_secrets: "tuple[SecretFile, ...]" = ()
    """Files with secrets that the command may need to read. The sentence in `blocked` names them."""
    changed_secrets: "tuple[SecretFile, ...]" = ()
    """Files with secrets that the sandbox protected from a change or a deletion. The sentence in `blocked` names them."""
    notes: tuple[str, ...] = ()
    """Sentences about misleading output. For example, the sandbox makes some files appear empty."""
    cut_offset: int = 0
    """The offset of the missing bytes in `output`, if it was too long (0: nothing is missing)."""
    leftover_count: int = 0
    """Number of processes that still ran when the program itself had ended, as far as known. They were stopped."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about misleading output, e.g. files that appeared empty because the sandbox hid their secrets."""
        names = list_first(self.emptied_secrets, MAX_NAMED_FILES)
        pronoun = "it" if len(self.emptied_secrets) == 1 else "they"
        unread = f"{names} may hold secrets, so {pronoun} appeared empty to this command."
        return (unread, *self.notes) if self.emptied_secrets else self.notes


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox of an environment's commands.

    If there is no sandbox, `kind` is empty, and `unavailable_reason` says why. `lines`: sentences for the user, one for
    each restriction. `writable_folders`: folders outside the workspace in which commands can write.
    """

    kind: str = ""
    lines: tuple[str, ...] = ()
    unavailable_reason: str = ""
    writable_folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessControl:
    """The ways to end a program's processes, and the maximum number of processes.

    - `reaper`: True if all descendants of the program stay below one process of tui-agent.
    - `cgroup_kill`: True if the kernel can kill all descendants in one operation.
    - `max_processes`: maximum number of descendants (0: no limit).
    - `limited_by`: the source of this maximum: a control group or the user's own limit.
    """

    reaper: bool = False
    cgroup_kill: bool = False
    max_processes: int = 0
    limited_by: Literal["cgroup", "uid", ""] = ""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file or folder of the workspace that can hold secrets.

    - `name`: path relative to the workspace.
    - `path`: absolute real path.

    For a folder, `name` and `path` end with `/`.
    """

    name: str
    path: str
    in_git: bool = False
    """True if the git repository contains the file with its current content."""
    ignored: bool = False
    """True if git's ignore files exclude the file."""
    maybe_reincluded: bool = False
    """True if a line with `!` in an ignore file may include the file again."""
    committed_size_and_mtime: tuple[int, int] | None = None
    """Size (bytes) and modification time (seconds) of the version in git's index.

    None if git does not track the file, or if the file has not changed since.
    """
    is_writable: bool = False
    """True if a sandboxed command with read access can also change the file."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """The properties of a file or link in an environment."""

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    mtime_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes at one moment, with their hex SHA-256."""

    path: str
    data: bytes
    digest: str
    mtime_ns: int
    mode: int

    @property
    def text(self) -> str:
        """The content as text, decoded as `read_file` does."""
        return show_text(self.data)


class Environment(Protocol):
    """The files and processes of one workspace.

    Every method raises `EnvironmentFault` with a readable message if it fails.
    """

    @property
    def name(self) -> str: ...

    @property
    def root(self) -> str:
        """Absolute path of the workspace."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox in which commands run."""
        ...

    async def start(self) -> None:
        """Prepare the environment for commands.

        Raise `ConfigError` or `EnvironmentFault` with a message that says what to do.
        """
        ...

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a program until it ends. If the call is cancelled, all processes of the program are ended."""
        ...

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """Return a regular file's content. Refuses devices, pipes and files larger than `max_bytes`."""
        ...

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        """Replace a file atomically and keep its mode. If `expected_digest` is None, create the file.

        Raise `StaleFile` if the current content does not have the digest `expected_digest`. With None, raise
        `StaleFile` if the file exists.
        """
        ...

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file if its digest is `expected_digest`. Raise `StaleFile` if the digest differs."""
        ...

    async def stat(self, path: str) -> FileInfo | None: ...

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """Return the entries of a folder, sorted by name."""
        ...

    def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        """Yield all files below `path` in sorted order, without `.git` and cache folders.

        `include_ignored`: True to also yield the files that `.gitignore` excludes.
        """
        ...

    def resolve(self, path: str) -> str:
        """Return the absolute path with links followed."""
        ...

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """Resolve several paths at once, and map each path to its resolved path. Faster than one `resolve` per path."""
        ...

    async def upload(self, local: Path, path: str) -> None:
        """Copy a file or folder of this machine into the environment, to exactly `path`. Folders are merged."""
        ...

    async def download(self, path: str, local: Path) -> None:
        """Copy a file or folder of the environment to `local` on this machine. Folders are merged."""
        ...

    async def snapshot(self, to: Path) -> None:
        """Write the workspace with all its files as a `tar.gz` archive to the file `to` on this machine."""
        ...

    async def aclose(self) -> int:
        """End all processes. Return the number of processes that had to be killed."""
        ...


def workspace_sandbox(env: Environment) -> str:
    """Return the kind of the sandbox around local commands (see docs/sandbox.md), or an empty string.

    Containers are not counted as such a sandbox, because they do not hide the workspace's secret files.
    """
    return env.sandbox.kind if env.name == LOCAL_ENVIRONMENT else ""


class PipedProcess(Protocol):
    """A background program with pipes for standard input, output and errors."""

    async def read_output(self) -> bytes:
        """Return the next bytes of standard output; empty at its end."""
        ...

    async def read_errors(self) -> bytes:
        """Return the next bytes of standard error; empty at its end."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def end(self, grace_s: float) -> int | None:
        """Close the program's input, wait up to `grace_s` seconds, then kill the remaining processes.

        Return the exit code.
        """
        ...


@runtime_checkable
class ProcessOpener(Protocol):
    """An environment that can start background programs outside the sandbox."""

    async def open_process(self, argv: Sequence[str], env: Mapping[str, str], cwd: str = "") -> PipedProcess:
        """Start a program in `cwd`, which is absolute or relative to `root`.

        Raise `EnvironmentFault` if the program cannot start.
        """
        ...


@runtime_checkable
class CommandOpener(Protocol):
    """An environment that can start background programs in the same sandbox as commands."""

    async def open_command(self, spec: ExecSpec) -> PipedProcess:
        """Start a program with pipes.

        `stdin`, `timeout` and the limits of the output in `spec` have no effect. Raise `EnvironmentFault` if the
        program cannot start.
        """
        ...


@runtime_checkable
class ProgramFinder(Protocol):
    """An environment that knows the search path for programs, and the git repositories around the workspace."""

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        """Return the names, such as `make`, that the shell would find as programs in the workspace."""
        ...

    def find_files(self, paths: Collection[str]) -> frozenset[str]:
        """Return the paths at which a file certainly exists inside the workspace.

        A path is absolute or relative to the workspace. A link to a file counts. A path through a linked folder does
        not count.
        """
        ...

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        """Return True if read-only git commands could run programs, or read files that their arguments do not name.

        The result depends on the configuration of the repositories at the root and at `folders`. Outside a repository,
        the result is True, because git can compare any two files there.

        `folders`: paths relative to the root, or patterns in which `**` is any folder.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """A symbolic link of a workspace.

    - `name`: path relative to the workspace.
    - `target`: absolute real path.
    - `secret`: True if the target can hold secrets.
    """

    name: str
    target: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceScan:
    """Names in a workspace that can change the meaning of a command line. All paths are relative to the workspace.

    - `secrets`: files that can hold secrets, except those that the user allowed commands to read.
    - `links`: all symbolic links.
    - `option_names`: names that a program can take for an option. They start with `-`, `+`, `@`, `|` or `=`.
    - `odd_names`: names that a program can misread. They have a blank, a quote, a backslash or one of `:*?[`.
    - `steering_files`: files that configure programs (`rust-toolchain.toml`), also above the workspace (`../go.work`).
    - `unscanned`: folders that were not searched; "" is the workspace itself.
    """

    secrets: tuple[SecretFile, ...] = ()
    links: tuple[WorkspaceLink, ...] = ()
    option_names: tuple[str, ...] = ()
    odd_names: tuple[str, ...] = ()
    steering_files: tuple[str, ...] = ()
    unscanned: tuple[str, ...] = ()


@runtime_checkable
class WorkspaceScanner(Protocol):
    """An environment that finds secret files and names with a special meaning on a command line."""

    def scan(self) -> WorkspaceScan:
        """Scan the workspace's current names in the calling thread."""
        ...


@runtime_checkable
class PrivateTempFinder(Protocol):
    """An environment whose sandbox has private temporary folders, which other programs do not see."""

    def find_private_temp_paths(self, paths: Collection[str]) -> frozenset[str]:
        """Return the `paths` that exist only in the sandbox's own temporary folders.

        `paths`: absolute real paths in temporary folders. Paths that contain a link are left out.
        """
        ...


@runtime_checkable
class OutputWidthSetter(Protocol):
    """An environment that tells programs how many columns their output can use."""

    output_columns: int
