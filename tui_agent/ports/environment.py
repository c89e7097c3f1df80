"""The environment protocol: files and processes of one workspace. Every implementation passes one contract test.

Paths are relative to `root` (with `/`) or absolute. An environment refuses to write outside `root`, and does not
follow links out of it.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

OutputSink: TypeAlias = Callable[[bytes], None]
"""Receives output on the event loop as it arrives; stdout and stderr in the order they were read."""


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """A program to run: `argv` without a shell, or `script` by `bash -c`. It has no terminal; its input is `stdin`.

    Fields that concern the sandbox are ignored if there is none.
    """

    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds after which the whole process group is killed; None: no limit."""
    max_output: int = 50_000_000
    """Maximum bytes of output to keep; the rest is counted and dropped."""
    tail_bytes: int = 0
    """How many of the kept bytes come from the end of the output; bytes are dropped between the two pieces."""
    stdin: bytes = b""
    max_stderr_bytes: int | None = None
    """Maximum bytes of standard error to keep apart in `ExecResult.stderr`; None: it is part of the output."""
    unsandboxed: bool = False
    """Run outside the sandbox: the user allowed it, or typed the command."""
    allow_network: bool = False
    """Allow network access from inside the sandbox."""
    writable_paths: tuple[str, ...] = ()
    """Files and folders outside `root` that may be written from inside the sandbox: the absolute real paths that were
    judged. A path that could only be opened together with others stays closed."""
    show_secrets_as_empty: bool = False
    """Show files with secrets as empty, because the command only looks at files. Other commands fail to open them, so
    that none continues with an empty file. Files that the repository holds anyway are shown unchanged."""
    readable_secrets: tuple[str, ...] = ()
    """Files with secrets that the command may read: absolute real paths that the approved command names."""
    private_temp_paths: tuple[str, ...] = ()
    """Paths in the machine's temporary folders that did not exist when the command was judged. The command sees only
    what sandboxed commands created there, whatever exists there by now."""
    repository_read_only: bool = False
    """Mount the workspace's repository read-only: nobody was asked, and the command line does not show what the
    command changes."""
    read_only: bool = False
    """Mount the workspace and its repository read-only, with only temporary folders writable: the command was judged
    to only read."""
    hides_home: bool = False
    """Hide the user's own files: everything in the home folder whose name has no leading dot, except the workspace and
    folders of programs."""
    resolved_cwd: str = ""
    """The absolute real path of `cwd` when the command was judged. The command starts there, or not at all if a link
    is on the way by now. Empty: resolve `cwd` at the start."""


MAX_NAMED_FILES = 5
"""Maximum number of emptied secret files to name."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The result of a program. `exit_code` is None if it was killed; `outcome` says why. `output` is the kept part.

    `outcome` is `not_found` if there is no such program or folder, `failed` if the program exists but could not start.
    `blocked` is a sentence on what the sandbox seems to have refused; empty if nothing suggests that.
    """

    exit_code: int | None
    outcome: Literal["exited", "timeout", "cancelled", "not_found", "failed"]
    output: bytes
    dropped_bytes: int
    duration_ms: float
    message: str = ""
    blocked: str = ""
    stderr: bytes = b""
    emptied_secrets: tuple[str, ...] = ()
    """Files with secrets that appeared empty to a command which reads them without naming them."""
    needed_secrets: "tuple[SecretFile, ...]" = ()
    """The secret files that `blocked` is about; the command might succeed with them."""
    notes: tuple[str, ...] = ()
    """Sentences on where the output does not show the real state because of the sandbox."""
    cut_offset: int = 0
    """The offset in `output` at which bytes were dropped, if any were."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences of the sandbox besides `blocked`: which files appeared empty, and `notes`."""
        names = ", ".join(self.emptied_secrets[:MAX_NAMED_FILES])
        more = (
            f" and {len(self.emptied_secrets) - MAX_NAMED_FILES} more"
            if len(self.emptied_secrets) > MAX_NAMED_FILES
            else ""
        )
        unread = f"{names}{more} may hold secrets and appeared empty to this command."
        return (unread, *self.notes) if self.emptied_secrets else self.notes


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox of an environment's commands. `kind` is empty if there is none; `unavailable_reason` then says why.

    `lines` describe its restrictions to the user, one each.
    """

    kind: str = ""
    lines: tuple[str, ...] = ()
    unavailable_reason: str = ""


@dataclass(frozen=True, slots=True)
class ProcessControl:
    """Control over a program's child processes: what ends them, and how many there may be.

    `reaper`: all descendants stay below one process of ours. `cgroup_kill`: the kernel kills them all at once.
    `max_processes` is their maximum number (0: no limit), enforced `limited_by` a control group or per user.
    """

    reaper: bool = False
    cgroup_kill: bool = False
    max_processes: int = 0
    limited_by: Literal["cgroup", "uid", ""] = ""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file of the workspace that may hold secrets: `name` relative to the workspace, `path` absolute and real.

    For a folder both end with a slash and stand for everything below.
    """

    name: str
    path: str
    in_git: bool = False
    """True if the repository holds the file with its present content."""
    ignored: bool = False
    """True if git's ignore files exclude it. Programs other than git respect them only inside a repository."""
    maybe_reincluded: bool = False
    """True if a `!` line of an ignore file in or above the workspace may re-include it, so that programs which skip
    hidden or ignored files read it."""
    committed_size_and_mtime: tuple[int, int] | None = None
    """Size in bytes and modification time in seconds of the version in the repository, if the file changed since."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file's properties, without following links."""

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


class Environment(Protocol):
    """Files and processes. Every method raises `EnvironmentFault` with a readable message if it fails."""

    @property
    def name(self) -> str: ...

    @property
    def root(self) -> str:
        """Absolute path of the workspace."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox of its commands; the same for the environment's whole life."""
        ...

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a program to its end. Cancelling ends the whole process group: terminate, wait briefly, kill."""
        ...

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """Return a regular file's content. Refuses devices, pipes and files larger than `max_bytes`."""
        ...

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        """Replace a file atomically and keep its mode. Creates missing folders.

        `expected_digest` is the digest that the file must still have; None: it must not exist. Raises `StaleFile` otherwise.
        """
        ...

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file that still has the digest `expected_digest`."""
        ...

    async def stat(self, path: str) -> FileInfo | None: ...

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """Return a folder's entries, sorted by name."""
        ...

    def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        """Yield all files below `path` in sorted order, without `.git` and caches.

        Files that `.gitignore` excludes are skipped unless `include_ignored`.
        """
        ...

    def resolve(self, path: str) -> str:
        """Return the absolute path with links followed; it may not exist yet."""
        ...

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """Resolve several paths; faster than calling `resolve` for each."""
        ...

    async def aclose(self) -> int:
        """End everything it started and return how many processes had to be killed."""
        ...


@runtime_checkable
class ProgramFinder(Protocol):
    """An environment that knows where it finds programs, and which repositories surround them."""

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        """Return those bare names that would start a program inside the workspace, links followed."""
        ...

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        """Return True if even a read-only git command may run programs or read files that it does not name.

        The repository around the root, or around one of `folders`, may be configured to do that. `folders` are relative
        to the root, some are patterns, `**` is any folder. Also True without a work tree: git then compares arbitrary
        files.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """A symbolic link of a workspace: `name` relative to the workspace, `target` the absolute real path.

    `secret` is True if the target may hold secrets.
    """

    name: str
    target: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceScan:
    """Names in a workspace that change what a command line means. All paths are relative to the workspace.

    `secrets` are files that may hold secrets, except those that the user made readable for commands. `links` are all
    symbolic links. `option_names` begin with `-`, `+`, `@`, `|` or `=`, so that a program may take them for an option.
    `odd_names` contain a blank, a quote, a backslash, or one of `: * ? [`, so that they break where a list of names is
    split at blanks, or have a special meaning; a folder's name ends with a slash. `steering_files` configure programs
    (`rust-toolchain.toml`), also from above the workspace (`../go.work`). `unscanned` are folders that were not or
    could not be searched; "" is the workspace itself.
    """

    secrets: tuple[SecretFile, ...] = ()
    links: tuple[WorkspaceLink, ...] = ()
    option_names: tuple[str, ...] = ()
    odd_names: tuple[str, ...] = ()
    steering_files: tuple[str, ...] = ()
    unscanned: tuple[str, ...] = ()


@runtime_checkable
class WorkspaceScanner(Protocol):
    """An environment that knows which files may hold secrets, and which names change the meaning of a command line."""

    def scan(self) -> WorkspaceScan:
        """Scan the present names. Blocking."""
        ...


@runtime_checkable
class PrivateTempFinder(Protocol):
    """An environment that sandboxes commands and gives them temporary folders of their own."""

    def find_private_temp_paths(self, paths: Collection[str]) -> frozenset[str]:
        """Return those absolute real paths in the machine's temporary folders that do not exist outside the sandbox.

        A sandboxed command finds only what such commands created there. Paths with a link on the way are left out.
        """
        ...
