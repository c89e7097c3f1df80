"""What the parts of the checkpoint store share while a session holds it."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import uuid4

import anyio
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.cancellation import while_wanted
from tui_agent.workspace.checkpoints.git import Git, names_of
from tui_agent.workspace.checkpoints.limits import Limits
from tui_agent.workspace.checkpoints.modes import Modes, modes_after
from tui_agent.workspace.checkpoints.rooted_files import Anchored

T = TypeVar("T")
MAIN = "refs/heads/main"
KEPT = "refs/heads/kept/"
FILE_MODE = 0o600
EMPTY_FOLDERS = "empty-folders"
"""A file of the store: the folders that held no file when the session began."""
STAGING = ".tui-agent-restore-"
"""How the folder's name begins in which a restore lays out what it is about to move into place."""


class Entry(NamedTuple):
    """A file of the newest checkpoint: git's mode and the content's name."""

    git_mode: int
    oid: str


@dataclass
class Shadow:
    """The store as it stands: its newest checkpoint, in memory."""

    git: Git
    workspace: Path
    limits: Limits
    head: str = ""
    tracked: dict[str, Entry] = field(default_factory=dict)
    modes: Modes = field(default_factory=Modes)
    grown: int = 0
    """Bytes that the store has grown by since its first checkpoint; at most too many, never too few."""
    strangers: set[str] = field(default_factory=set)
    """Paths (folders end with `/`) at which something is that no checkpoint held though it was there: a look skipped
    it, or it was ignored."""
    checked: frozenset[str] = frozenset()
    """Paths that the last look at everything was asked about though they are ignored."""
    settled: str = ""
    """The newest checkpoint when what is borrowed was last copied."""
    notices: list[str] = field(default_factory=list)
    """What happened to the store by itself and was not told yet, as sentences."""

    @cached_property
    def files(self) -> Anchored:
        """The workspace's files."""
        return Anchored(self.workspace)

    @cached_property
    def own_place(self) -> str:
        """The session's folder, relative to the workspace; empty when it lies elsewhere."""
        store = self.git.folder
        if not store.is_relative_to(self.workspace):
            return ""
        session = store.parent if store.parent != self.workspace else store
        return session.relative_to(self.workspace).as_posix()

    def require_workspace(self) -> None:
        """Raises `CheckpointError` where the workspace is no folder any more: nothing in it was deleted then."""
        if not self.workspace.is_dir():
            what = "is no folder any more" if self.workspace.exists() else "is not there any more"
            raise CheckpointError(
                f"The workspace {self.workspace} {what}.",
                hint="Put it back where it was; the checkpoints are kept.",
            )

    @contextlib.contextmanager
    def draft(self, *, empty: bool = False) -> Iterator[Path]:
        """An index to work on, a copy of the newest checkpoint's. It is gone afterwards unless it was taken over."""
        path = self.git.folder / f"draft-{uuid4().hex}"
        try:
            if not empty:
                copy_index(self.git.index, path)
            yield path
        except OSError as fault:
            raise disk_fault(self.git.folder, fault) from fault
        finally:
            for left in (path, path.with_name(f"{path.name}.lock")):
                left.unlink(missing_ok=True)

    async def load(self, index: Path) -> dict[str, Entry]:
        """The files that an index holds."""
        out = await self.git("ls-files", "-s", "-z", index=index)
        return await run_sync(_entries, out)

    def is_stranger(self, path: str) -> bool:
        """Whether something was at this new path before, which no checkpoint held."""
        parts = path.split("/")
        return path in self.strangers or any(
            "/".join(parts[:end]) + "/" in self.strangers for end in range(1, len(parts))
        )

    async def modes_at(self, commit: str) -> Modes:
        """The permission bits of a checkpoint."""
        out = await self.git("log", "-z", "--first-parent", "--reverse", "--format=%B", commit, "--")
        return modes_after(os.fsdecode(message) for message in out.split(b"\0"))

    async def tree(self, commit: str) -> str:
        """The tree of a commit. Raises `CheckpointError` where it is not there."""
        ended = await self.git.end("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        if ended.code:
            self.git.require_borrowed()
            raise CheckpointError(
                f"The checkpoint {commit[:12]} is not in the store {self.git.folder}.",
                hint="Nothing was changed. The conversation can go back there without the files.",
            )
        return ended.out.decode().strip()

    async def entry_at(self, commit: str, path: str) -> Entry | None:
        """What a commit holds at a path."""
        for item in names_of(await self.git("ls-tree", "-z", commit, "--", path)):
            info, name = item.split("\t", 1)
            mode, kind, oid = info.split(" ")
            if name == path and kind == "blob":
                return Entry(int(mode, 8), oid)
        return None

    async def between(self, before: str, after: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """The paths in which two trees or commits differ, with what each of them holds."""
        out = await self.git(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after, "--"
        )
        words = names_of(out)
        return {path: _sides(info) for info, path in zip(words[::2], words[1::2], strict=True)}


def _sides(info: str) -> tuple[Entry | None, Entry | None]:
    old_mode, new_mode, old, new, _ = info.removeprefix(":").split(" ")
    sides = [
        Entry(int(mode, 8), oid) if int(mode, 8) else None for mode, oid in ((old_mode, old), (new_mode, new))
    ]
    return sides[0], sides[1]


def _entries(out: bytes) -> dict[str, Entry]:
    found = {}
    modes: dict[str, int] = {}
    for item in while_wanted(names_of(out)):
        info, path = item.split("\t", 1)
        mode, oid, _ = info.split(" ")
        found[path] = Entry(modes.setdefault(mode, int(mode, 8)), oid)
    return found


def copy_index(source: Path, target: Path) -> None:
    """Copy an index with its time, by which git knows the entries that it must not trust."""
    shutil.copyfile(source, target)
    found = source.stat()
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def put(store: Path, path: Path, content: bytes) -> None:
    """Write a file of the store whole or not at all. Raises OSError."""
    draft = store / f"draft-{uuid4().hex}"
    try:
        draft.touch(FILE_MODE)
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what failed above says it already
            draft.unlink(missing_ok=True)


def disk_fault(place: Path, fault: OSError) -> CheckpointError:
    """The error for an operating system that refused."""
    return CheckpointError(
        f"The checkpoint store {place} could not be used: {fault.strerror or fault}.",
        hint="See that the disk has space and that the folder can be written; the workspace is as it was.",
    )


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for place, _, names in while_wanted(os.walk(folder)):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(place) / name).lstat().st_size
    return total


@contextlib.asynccontextmanager
async def shielded_on_fault(undo: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """When the body fails or is cancelled, undo what it did, uninterrupted, before the fault goes on."""
    try:
        yield
    except BaseException:
        with anyio.CancelScope(shield=True):
            await undo()
        raise
