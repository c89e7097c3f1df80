"""Shared state of the checkpoint store while a session has it open."""

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

from tui_agent.config.project.generated_folders import GeneratedFolders
from tui_agent.config.project.git_query import query_git
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.cancellation import iterate_cancellable
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.file_modes import Modes, read_modes
from tui_agent.workspace.checkpoints.git_runner import Git, split_names
from tui_agent.workspace.checkpoints.rooted_files import RootedFiles

T = TypeVar("T")
MAIN_REF = "refs/heads/main"
KEPT_PREFIX = "refs/heads/kept/"
FILE_MODE = 0o600
EMPTY_FOLDERS_FILE = "empty-folders"
"""Name of the store's file with the empty folders from the session's start."""
STAGING_PREFIX = ".tui-agent-restore-"
"""Name prefix of the folder in which a restore prepares files."""


class Entry(NamedTuple):
    """A file of the newest checkpoint: git's mode and the content's id."""

    git_mode: int
    oid: str


@dataclass
class CheckpointStore:
    """A session's checkpoint store, and its newest checkpoint in memory.

    - `head`: commit of the newest checkpoint; empty before the first one
    - `tracked`: the files of the newest checkpoint by path
    - `modes`: the permission bits of these files
    """

    git: Git
    workspace: Path
    limits: Limits
    head: str = ""
    tracked: dict[str, Entry] = field(default_factory=dict)
    modes: Modes = field(default_factory=Modes)
    growth_bytes: int = 0
    """Growth of the store since its first checkpoint, in bytes; possibly slightly too high."""
    unsaved_paths: set[str] = field(default_factory=set)
    """Existing paths that no checkpoint contains: git ignores them, or they were skipped. Folders end with `/`."""
    checked_ignored: frozenset[str] = frozenset()
    """Paths that the last search of the whole workspace included although git ignores them."""
    maintained_head: str = ""
    """The newest checkpoint at the time of the last maintenance."""
    notices: list[str] = field(default_factory=list)
    """Sentences about repairs of the store, to be shown to the user at the next opportunity."""

    @cached_property
    def files(self) -> RootedFiles:
        return RootedFiles(self.workspace)

    @cached_property
    def session_folder(self) -> str:
        """The session's folder relative to the workspace; empty if it is outside the workspace."""
        store = self.git.folder
        if not store.is_relative_to(self.workspace):
            return ""
        session = store.parent if store.parent != self.workspace else store
        return session.relative_to(self.workspace).as_posix()

    def find_generated(self) -> GeneratedFolders:
        """Return a new finder of generated folders in the checkpoint and the workspace; use it in a thread."""
        return GeneratedFolders(
            lambda path: path in self.tracked or os.path.lexists(self.workspace / path),
            lambda folder: bool(query_git(self.workspace, "ls-files", "-z", "--", folder)),
        )

    def require_workspace(self) -> None:
        """Raise `CheckpointError` if the workspace is missing, so that its files are not reported as deleted."""
        if not self.workspace.is_dir():
            problem = "is no longer a folder" if self.workspace.exists() else "no longer exists"
            raise CheckpointError(
                f"The workspace {self.workspace} {problem}.",
                hint="Move the workspace back. Its checkpoints still exist.",
            )

    @contextlib.contextmanager
    def draft(self, *, empty: bool = False) -> Iterator[Path]:
        """Yield the path of a temporary copy of the newest checkpoint's index.

        `empty`: True to make no copy, so that the caller can create a new index at this path.
        """
        path = self.git.folder / f"draft-{uuid4().hex}"
        try:
            if not empty:
                copy_index(self.git.index, path)
            yield path
        except OSError as fault:
            raise disk_error(self.git.folder, fault) from fault
        finally:
            for leftover in (path, path.with_name(f"{path.name}.lock")):
                leftover.unlink(missing_ok=True)

    async def load_entries(self, index: Path) -> dict[str, Entry]:
        """Return the entries of a git index, keyed by path."""
        out = await self.git("ls-files", "-s", "-z", index=index)
        return await run_sync(_parse_entries, out)

    def was_unsaved(self, path: str) -> bool:
        """Return True if the path or a folder above it is one of `unsaved_paths`."""
        parts = path.split("/")
        return path in self.unsaved_paths or any(
            "/".join(parts[:end]) + "/" in self.unsaved_paths for end in range(1, len(parts))
        )

    async def read_modes(self, commit: str) -> Modes:
        """Return the permission bits of all files in a checkpoint."""
        out = await self.git("log", "-z", "--first-parent", "--reverse", "--format=%B", commit, "--")
        return read_modes(os.fsdecode(message) for message in out.split(b"\0"))

    async def find_tree(self, commit: str) -> str:
        """Return the tree id of a commit; raise `CheckpointError` if the commit is missing."""
        result = await self.git.run("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        if result.code:
            self.git.require_borrowed()
            raise CheckpointError(
                f"The checkpoint {commit[:12]} is not in the store {self.git.folder}.",
                hint="Nothing was changed. You can still undo the conversation without the files.",
            )
        return result.out.decode().strip()

    async def read_entry(self, commit: str, path: str) -> Entry | None:
        """Return the file at `path` in a commit, or None if there is none."""
        for item in split_names(await self.git("ls-tree", "-z", commit, "--", path)):
            info, name = item.split("\t", 1)
            mode, kind, oid = info.split(" ")
            if name == path and kind == "blob":
                return Entry(int(mode, 8), oid)
        return None

    async def compare_trees(self, before: str, after: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Return the paths that differ between two trees or commits.

        The result maps a path to its old and new entry. An entry is None if there is no file.
        """
        out = await self.git(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after, "--"
        )
        words = split_names(out)
        return {path: _parse_sides(info) for info, path in zip(words[::2], words[1::2], strict=True)}


def _parse_sides(info: str) -> tuple[Entry | None, Entry | None]:
    old_mode, new_mode, old, new, _ = info.removeprefix(":").split(" ")
    sides = [
        Entry(int(mode, 8), oid) if int(mode, 8) else None for mode, oid in ((old_mode, old), (new_mode, new))
    ]
    return sides[0], sides[1]


def _parse_entries(out: bytes) -> dict[str, Entry]:
    entries = {}
    modes: dict[str, int] = {}
    for item in iterate_cancellable(split_names(out)):
        info, path = item.split("\t", 1)
        mode, oid, _ = info.split(" ")
        entries[path] = Entry(modes.setdefault(mode, int(mode, 8)), oid)
    return entries


def copy_index(source: Path, target: Path) -> None:
    """Copy a git index with its modification time."""
    # Git needs this time to decide which entries to trust.
    shutil.copyfile(source, target)
    status = source.stat()
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def write_file(store: Path, name: str, content: bytes) -> None:
    """Atomically write the file `name`, such as `info/exclude`, of a checkpoint store; raise `OSError` if this fails."""
    # The draft is in the store's own folder, where `clear_locks` finds it after a crash.
    draft = store / f"draft-{uuid4().hex}"
    try:
        draft.touch(FILE_MODE)
        draft.write_bytes(content)
        draft.replace(store / name)
    finally:
        with contextlib.suppress(OSError):  # report the original error, not one of the clean-up
            draft.unlink(missing_ok=True)


def disk_error(place: Path, fault: OSError) -> CheckpointError:
    """Return the error to raise when a file operation on the checkpoint store has failed."""
    return CheckpointError(
        f"The checkpoint store {place} could not be used: {fault.strerror or fault}.",
        hint="Check the disk's free space and the folder's permissions.",
    )


def measure_folder(folder: Path) -> int:
    """Return the total size in bytes of all files below a folder."""
    total = 0
    for parent, _, names in iterate_cancellable(os.walk(folder)):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(parent) / name).lstat().st_size
    return total


@contextlib.asynccontextmanager
async def undo_on_error(undo: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """If the `with` block fails or is cancelled, run `undo` without interruption, then re-raise."""
    try:
        yield
    except BaseException:
        with anyio.CancelScope(shield=True):
            await undo()
        raise
