"""An environment: files and processes of one workspace. One contract test holds for all of them.

Paths are given relative to `root` (with `/`) or absolute; an environment refuses what lies outside `root` for
writing, and follows no link out of it.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

OutputSink: TypeAlias = Callable[[bytes], None]
"""Called on the event loop with output as it comes; stdout and stderr in the order they were read."""


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """A program to run: `argv` without a shell, or `script` by `bash -c`. No terminal; `stdin` is all that it can read."""

    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds; the whole process group is killed after it."""
    max_output: int = 50_000_000
    """Bytes kept of the output; the rest is counted and dropped."""
    newest: int = 0
    """So many of the bytes kept are the newest; what is between them and the first is dropped."""
    stdin: bytes = b""
    errors: int | None = None
    """Keep so many bytes of standard error apart, in `ExecResult.errors`; None: they are in the output."""
    outside: bool = False
    """Run it unconfined, though the environment has a sandbox: the user allowed it, or gave the command."""
    network: bool = False
    """Let it reach the network, though it is confined. Without a sandbox it says nothing."""
    writable: tuple[str, ...] = ()
    """Files and folders outside `root` that it may write though it is confined: absolute real paths, as they were
    judged. What cannot be opened without opening more than these stays shut. Without a sandbox it says nothing."""
    looks: bool = False
    """It only looks at files: those with secrets are empty to it. To other commands they cannot be opened, so that none goes
    on with an empty one; and what its repository holds anyway is left as it is. Without a sandbox it says nothing."""
    shown: tuple[str, ...] = ()
    """Files with secrets that it may read: absolute real paths, that were named where it was allowed."""
    own: tuple[str, ...] = ()
    """Paths in the machine's temporary folders at which nothing was when it was judged: it finds only what confined commands made
    there, whatever came to be there since. Without a sandbox it says nothing."""
    sealed: bool = False
    """It only reads the workspace's repository: nobody asked about it, and what it changes does not follow from its words.
    Without a sandbox it says nothing."""
    read_only: bool = False
    """Mount the workspace and its repository read-only, and nothing writable but temporary folders: the command was judged to only
    read. Ignored without a sandbox."""
    hides_home: bool = False
    """Hide the user's own files: what lies in the home folder under names without a dot, but for the workspace and the folders
    of programs. Ignored without a sandbox."""
    folder: str = ""
    """The absolute real path that `cwd` led to when it was judged: started there, and nowhere where a link stands on
    the way by now. Empty: wherever `cwd` leads."""


MOST_NAMED = 5
"""Files that were kept from a command, and are named."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """`exit_code` is None when the program was killed; `ended` tells why. `output` is all that was kept.

    `not_found`: there is no such program or folder. `failed`: the program is there and could not be started.
    `blocked`: what the sandbox seems to have refused it, as a sentence; empty where nothing points to that.
    """

    exit_code: int | None
    ended: Literal["exited", "timeout", "cancelled", "not_found", "failed"]
    output: bytes
    dropped: int
    duration_ms: float
    message: str = ""
    blocked: str = ""
    errors: bytes = b""
    unread: tuple[str, ...] = ()
    """Files with secrets that were empty to it, where it would have read them without naming them."""
    wanted: "tuple[SecretFile, ...]" = ()
    """Those of which `blocked` speaks: with them it might do."""
    notes: tuple[str, ...] = ()
    """What its output shows otherwise than it is, a sentence each."""
    cut_at: int = 0
    """Where in `output` the dropped bytes were, if there are any."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the sandbox says beside `blocked`: files that were empty to it, and what its output shows otherwise."""
        names = ", ".join(self.unread[:MOST_NAMED])
        more = f" and {len(self.unread) - MOST_NAMED} more" if len(self.unread) > MOST_NAMED else ""
        unread = f"{names}{more} may hold secrets, and stood empty before this command."
        return (unread, *self.notes) if self.unread else self.notes


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What confines the commands of an environment. `kind` is empty where nothing does, and `why_not` then says why.

    `lines` tell a person what is in force, one thing each.
    """

    kind: str = ""
    lines: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Holding:
    """What keeps a program from leaving anything behind, and from taking everything.

    `reaper`: whatever it starts stays below one process of ours. `cgroup_kill`: the kernel kills them all at once.
    `processes`: how many it may have (0: nothing bounds them), bounded `by` a control group or by its user.
    """

    reaper: bool = False
    cgroup_kill: bool = False
    processes: int = 0
    by: Literal["cgroup", "uid", ""] = ""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file of the workspace that may hold secrets: `name` as seen from the workspace, `path` the absolute real file. Of a
    folder both end with a slash, and all below it is meant."""

    name: str
    path: str
    in_git: bool = False
    """The repository holds it, as it is now."""
    ignored: bool = False
    """Git's ignore files leave it out, and count where it lies: to other programs than git only in a repository."""
    brought_back: bool = False
    """A `!` line of an ignore file in or above the workspace may bring it back, so that programs which skip hidden or ignored
    files read it."""
    held: tuple[int, int] | None = None
    """Bytes, and seconds of the last change, of the version that the repository holds, where it was changed since."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """`kind` says what really is there, links not followed."""

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    mtime_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes as they were at one moment, with their hex SHA-256."""

    path: str
    data: bytes
    digest: str
    mtime_ns: int
    mode: int


class Environment(Protocol):
    """Files and processes. Every method raises `EnvironmentFault` with a plain message when it fails."""

    @property
    def name(self) -> str: ...

    @property
    def root(self) -> str:
        """Absolute path of the workspace."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """What confines commands here; the same for the environment's whole life."""
        ...

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run to the end. Cancelling ends the whole process group: terminate, wait briefly, kill."""
        ...

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """A regular file's content. Refuses devices, pipes and anything above `max_bytes`."""
        ...

    async def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        """Replace atomically, keeping the mode. `expect` is the digest the file must still have; None: it must not
        exist. Raises `StaleFile` otherwise. Makes missing folders."""
        ...

    async def remove(self, path: str, expect: str) -> None:
        """Remove a file that still has the digest `expect`."""
        ...

    async def stat(self, path: str) -> FileInfo | None: ...

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """A folder's entries, sorted by name."""
        ...

    def walk(self, path: str = "", *, ignored: bool = False) -> AsyncIterator[FileInfo]:
        """All files below, in sorted order, `.gitignore` respected unless `ignored`; `.git` and caches left out."""
        ...

    def resolve(self, path: str) -> str:
        """The absolute path after links are followed; may not exist yet."""
        ...

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """The same for each of several, quicker than one by one."""
        ...

    async def aclose(self) -> int:
        """End everything it started; returns how many processes had to be killed."""
        ...


@runtime_checkable
class FindsPrograms(Protocol):
    """An environment that can tell where it finds programs, and where their repository begins."""

    def own_programs(self, names: Collection[str]) -> frozenset[str]:
        """Those of these bare names that would start a program that lies in the workspace, links followed."""
        ...

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        """Return True if git may run programs or read files that nobody named where it only looks, because of the repository
        around the root or around one of these folders, in which it is started: each as seen from the root, some are patterns,
        `**` is any. Also True where it has no work tree there: then it compares files that no repository tracks."""
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """A symbolic link of a workspace: `name` as seen from the workspace, `target` the absolute real path it leads to.
    `secret`: that file may hold secrets."""

    name: str
    target: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceScan:
    """Names in a workspace that change what a command line means. All paths are as seen from the workspace.

    `secrets` are files that may hold secrets, but for those that the user opened to commands. `links` are all symbolic links.
    `option_names` are files and folders of which the name begins with `-`, `+`, `@`, `|` or `=`, so that a program may take it
    for an option. `odd_names` have a blank, a quote, a backslash, or one of `: * ? [`, so that they fall into pieces where a list
    of names is cut at blanks, or mean something else to a program; a folder's ends with a slash. `steering_files` decide what some
    programs do (`rust-toolchain.toml`), also from above the workspace (`../go.work`). `unscanned` are folders in which nobody
    looked for any of this, or could look; "" is the workspace itself.
    """

    secrets: tuple[SecretFile, ...] = ()
    links: tuple[WorkspaceLink, ...] = ()
    option_names: tuple[str, ...] = ()
    odd_names: tuple[str, ...] = ()
    steering_files: tuple[str, ...] = ()
    unscanned: tuple[str, ...] = ()


@runtime_checkable
class KnowsSecrets(Protocol):
    """An environment that can tell which of its files may hold secrets, and which names in it are not what they seem."""

    def scan(self) -> WorkspaceScan:
        """Look at the names that are there now. Blocks."""
        ...


@runtime_checkable
class KnowsOwnFiles(Protocol):
    """An environment that confines commands and gives them temporary folders of their own."""

    def only_confined(self, paths: Collection[str]) -> frozenset[str]:
        """Those of these absolute real paths in temporary folders of the machine at which nothing is, so that a confined command
        finds only what such commands made. Paths that lead on there by a link are left out."""
        ...
