"""The environment protocol: files and processes of one workspace. Every implementation passes the same contract test.

Paths are relative to `root` (with `/`) or absolute. An environment refuses to write outside `root`, and does not follow
links that lead out of it.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.charset import show_text
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.unicode_text import list_first

OutputSink: TypeAlias = Callable[[bytes], None]
"""Function that receives the output of a program as it arrives. It is called on the event loop.

Pieces of stdout and stderr come in the order in which they were read.
"""


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """A program to run: `argv` without a shell, or `script` with `bash -c`.

    The program has no terminal. `stdin` is its input. Fields about the sandbox have no effect if there is no sandbox.
    """

    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Time limit in seconds. At the limit, the whole process group is killed. None means no limit."""
    max_output: int = 50_000_000
    """Maximum size of the output to keep, in bytes. Further output is counted and dropped."""
    tail_bytes: int = 0
    """Part of `max_output` that is reserved for the end of the output, in bytes. Bytes in the middle are dropped."""
    stdin: bytes = b""
    max_written_bytes: int | None = None
    """Maximum size of output and standard error together, in bytes. None means no limit.

    A program that writes more is ended. Only local environments apply this limit.
    """
    max_stderr_bytes: int | None = None
    """Maximum size of standard error to keep separately in `ExecResult.stderr`, in bytes.

    None merges standard error into the output.
    """
    unsandboxed: bool = False
    """True if the program runs outside the sandbox. The user has allowed this or typed the command."""
    allow_network: bool = False
    """True if the sandboxed program can use the network."""
    writable_paths: tuple[str, ...] = ()
    """Files and folders outside `root` that the sandboxed program can write, as absolute real paths.

    A path is ignored if making it writable would make other paths writable too.
    """
    show_secrets_as_empty: bool = False
    """True if files with secrets appear empty. This is used for commands that only read files.

    For any other command, opening such a file fails. Otherwise the command could believe that the file is really empty.
    Files that are committed to git without later changes are always shown.
    """
    readable_secrets: tuple[str, ...] = ()
    """Files with secrets that the command can read, as absolute real paths. The approved command names them."""
    private_temp_paths: tuple[str, ...] = ()
    """Paths in the machine's temporary folders that did not exist when the command was judged.

    Even if they exist now, the command sees at these paths only files that sandboxed commands created.
    """
    repository_read_only: bool = False
    """True if the workspace's repository is mounted read-only.

    This is used if the user was not asked and the command line does not show everything that the command changes.
    """
    read_only: bool = False
    """True if the workspace and its repository are mounted read-only. Only temporary folders are then
    writable.

    This is used for a command that was judged to only read.
    """
    hides_home: bool = False
    """True if the user's own files are hidden.

    These are all files in the home folder without a leading dot, except the workspace and folders of programs.
    """
    resolved_cwd: str = ""
    """The absolute real path of `cwd` when the command was judged; empty to resolve `cwd` at the start.

    If links have changed since then, the command does not start.
    """


MAX_NAMED_FILES = 5
"""Maximum number of secret files listed in a remark about files that appeared empty."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The result of a program. If the program was killed, `exit_code` is None and `outcome` gives the reason.

    `output` is the collected output. `outcome` is `not_found` if there is no such program or folder, `failed` if the
    program exists but could not start, and `flooded` if it wrote more than `max_written_bytes`. `blocked` is a sentence
    about the action that the sandbox probably refused; empty if there is none.
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
    """Files with secrets that appeared empty to the command. The command read them without naming them."""
    needed_secrets: "tuple[SecretFile, ...]" = ()
    """The files with secrets that `blocked` mentions. The command might succeed if it could use them."""
    notes: tuple[str, ...] = ()
    """Sentences about parts of the output that differ from the real state because of the sandbox."""
    cut_offset: int = 0
    """The offset in `output` where bytes were dropped. 0 if none were dropped."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """The sandbox's remarks as sentences. The first remark names files that appeared empty; then `notes` follow."""
        names = list_first(self.emptied_secrets, MAX_NAMED_FILES)
        unread = f"{names} may hold secrets and appeared empty to this command."
        return (unread, *self.notes) if self.emptied_secrets else self.notes


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox of an environment's commands.

    If there is no sandbox, `kind` is empty and `unavailable_reason` gives the reason. Each of `lines` describes one
    restriction to the user.
    """

    kind: str = ""
    lines: tuple[str, ...] = ()
    unavailable_reason: str = ""


@dataclass(frozen=True, slots=True)
class ProcessControl:
    """Control over the processes that a program starts: their end, and their maximum number.

    `reaper` is True if all descendants of the program stay below one process of ours. `cgroup_kill` is True if the
    kernel can kill all descendants in one operation. `max_processes` is the maximum number of descendants (0: no
    limit). `limited_by` says what sets this maximum: a control group or the user's own limit.
    """

    reaper: bool = False
    cgroup_kill: bool = False
    max_processes: int = 0
    limited_by: Literal["cgroup", "uid", ""] = ""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file of the workspace that can hold secrets.

    `name` is relative to the workspace; `path` is absolute and real. A folder includes everything below it; its `name`
    and `path` end with a slash.
    """

    name: str
    path: str
    in_git: bool = False
    """True if the git repository contains the file with its current content."""
    ignored: bool = False
    """True if git's ignore files exclude the file.

    Other programs respect ignore files only inside a repository.
    """
    maybe_reincluded: bool = False
    """True if a `!` line of an ignore file in or above the workspace can include the file again.

    Programs that skip hidden or ignored files then still read it.
    """
    committed_size_and_mtime: tuple[int, int] | None = None
    """Size (bytes) and modification time (seconds) of the committed version, if the file was changed later."""
    is_writable: bool = False
    """True if a sandboxed command that may read the file can also change it."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """The properties of a file or link in an environment. For a link, they describe the link itself."""

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
        """The content as text, as read_file shows it: UTF-8, UTF-16, UTF-32 or Latin-1. Other bytes are replaced."""
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
        """The sandbox in which commands run. It never changes."""
        ...

    async def start(self) -> None:
        """Prepare the environment for commands. Called once, before `exec`.

        Raises `ConfigError` or `EnvironmentFault` with a message that says what to do.
        """
        ...

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a program until it ends.

        If cancelled, the whole process group is terminated, and killed after a short wait.
        """
        ...

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """Return a regular file's content. Refuses devices, pipes and files larger than `max_bytes`."""
        ...

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        """Replace a file atomically and keep its mode. Missing folders are created.

        Raises `StaleFile` if the file does not have the digest `expected_digest`. None means that the file must not
        exist.
        """
        ...

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file if its digest is `expected_digest`. Otherwise raise `StaleFile`."""
        ...

    async def stat(self, path: str) -> FileInfo | None: ...

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """Return the entries of a folder, sorted by name."""
        ...

    def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        """Yield all files below `path` in sorted order. `.git` and cache folders are left out.

        Files that `.gitignore` excludes are left out unless `include_ignored` is True.
        """
        ...

    def resolve(self, path: str) -> str:
        """Return the absolute path with links followed. The path need not exist."""
        ...

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the resolved path of each path. This is faster than calling `resolve` for each path."""
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
    """Return the kind of the sandbox that keeps the promises of docs/sandbox.md. Empty if there is none.

    Only the local environment has such a sandbox. A container, for example, does not hide secret files of the
    workspace.
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
        """Close the program's input and wait up to `grace_s` seconds for its exit. Then kill the remaining processes.

        Returns the exit code.
        """
        ...


@runtime_checkable
class ProcessOpener(Protocol):
    """An environment that can start background programs outside the sandbox."""

    async def open_process(self, argv: Sequence[str], env: Mapping[str, str], cwd: str = "") -> PipedProcess:
        """Start a program in `cwd`, which is absolute or relative to `root`.

        Raises `EnvironmentFault` if the program cannot start.
        """
        ...


@runtime_checkable
class CommandOpener(Protocol):
    """An environment that can start background programs where commands run, with the limits of commands."""

    async def open_command(self, spec: ExecSpec) -> PipedProcess:
        """Start a program with pipes.

        `stdin` and the limits of time and output in `spec` have no effect. Raises `EnvironmentFault` if the program
        cannot start.
        """
        ...


@runtime_checkable
class ProgramFinder(Protocol):
    """An environment that knows the search path for programs, and the git repositories around the workspace."""

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        """Return the names in `names` that would start a program of the workspace.

        `names` are bare names (`make`). They are looked up in the search path, and links are followed.
        """
        ...

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        """Return True if even a read-only git command can run programs, or can read files that its arguments do not
        name.

        This depends on the configuration of the repository around the root, and around each of `folders`. `folders` are
        relative to the root; some are patterns, in which `**` is any folder. The result is also True outside a
        repository, because git then compares arbitrary files.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """A symbolic link of a workspace.

    `name` is relative to the workspace; `target` is an absolute real path. `secret` is True if the target can hold
    secrets.
    """

    name: str
    target: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceScan:
    """Names in a workspace that change the meaning of a command line. All paths are relative to the workspace.

    `secrets` are files that can hold secrets, except those that the user made readable for commands. `links` are all
    symbolic links. `option_names` start with `-`, `+`, `@`, `|` or `=`, so that a program can misread them as an
    option. `odd_names` contain a blank, a quote, a backslash, or one of `: * ? [`. Such a name is misread if a list of
    names is split at blanks, or it has a special meaning to a program. A folder's name ends with a slash.

    `steering_files` configure programs (`rust-toolchain.toml`); they include files above the workspace (`../go.work`).
    `unscanned` are folders that were not or could not be searched; "" is the workspace itself.
    """

    secrets: tuple[SecretFile, ...] = ()
    links: tuple[WorkspaceLink, ...] = ()
    option_names: tuple[str, ...] = ()
    odd_names: tuple[str, ...] = ()
    steering_files: tuple[str, ...] = ()
    unscanned: tuple[str, ...] = ()


@runtime_checkable
class WorkspaceScanner(Protocol):
    """An environment that knows which files can hold secrets, and which names change the meaning of a command line."""

    def scan(self) -> WorkspaceScan:
        """Scan the workspace's current names. Blocking."""
        ...


@runtime_checkable
class PrivateTempFinder(Protocol):
    """An environment that sandboxes commands and gives these commands their own temporary folders."""

    def find_private_temp_paths(self, paths: Collection[str]) -> frozenset[str]:
        """Return the paths in `paths` that do not exist outside the sandbox.

        `paths` are absolute real paths in temporary folders. At the returned paths, a sandboxed command finds only
        files that sandboxed commands created. Paths that lead through a link are left out.
        """
        ...


@runtime_checkable
class OutputWidthSetter(Protocol):
    """An environment that tells programs how many columns their output can use."""

    output_columns: int
