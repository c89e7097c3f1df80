"""Checkpoints of the workspace's files, stored outside the user's own repository."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.files import Author, FolderChange


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A path that differs from the newest checkpoint. `path` is relative to the workspace, with `/`.

    `before` and `after` are the contents in bytes (for a link, its target). They are None if the file does not exist or
    is too large; the sizes are always correct. `mode` is the current permission bits.
    """

    path: str
    before: bytes | None
    after: bytes | None
    before_size: int
    after_size: int
    mode: int | None


@dataclass(frozen=True, slots=True)
class WorkspaceChanges:
    """Differences between the workspace and the newest checkpoint. An instance without differences is false."""

    paths: tuple[str, ...]
    """Every changed path, sorted."""
    files: tuple[FileDifference, ...]
    """Details of the first changed paths. Their number is limited."""
    skipped: tuple[str, ...] = ()
    """Sentences about files that checkpoints leave out. These files are too large or exceed the quota."""
    contested_paths: tuple[str, ...] = ()
    """The paths in `paths` that the user possibly changed too. The user is asked before these paths are restored."""
    folders: tuple[FolderChange, ...] = ()
    """The generated folders with changed files. Empty if only some paths were compared."""

    @property
    def own_paths(self) -> tuple[str, ...]:
        """The changed paths that are not in one of the generated folders `folders`."""
        names = tuple(folder.path for folder in self.folders)
        return tuple(path for path in self.paths if not path.startswith(names)) if names else self.paths

    def __bool__(self) -> bool:
        return bool(self.paths)


CHANGED_BY_YOU = "also changed by you"
"""Value of `RestoreAction.conflict` for a path that the user changed after the session changed it."""


@dataclass(frozen=True, slots=True)
class RestoreAction:
    """One action when a checkpoint is restored: the change to one path. `added` and `removed` count lines.

    If someone else changed the path too, `conflict` is the reason to ask the user first. Otherwise it is empty.
    """

    path: str
    kind: Literal["write", "create", "remove", "mode"]
    added: int
    removed: int
    conflict: str = ""
    folder: str = ""
    """The generated folder that contains the path, with `/` at the end. Empty if there is none."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The plan to restore the checkpoint `source`.

    Its actions restore the paths that the session changed after `source`, and the `named` paths, which the user
    selected. `kept_changes` are changes that the user kept, as pairs of commits.
    """

    source: str
    head: str
    actions: tuple[RestoreAction, ...]
    named: tuple[str, ...] = ()
    kept_changes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of restoring a checkpoint.

    `paths` were restored, and `kept_paths` were not. `commit` contains the workspace's files after the restore. `files`
    describes the first restored paths, with their contents before and after.
    """

    commit: str
    paths: tuple[str, ...]
    kept_paths: tuple[str, ...]
    files: tuple[FileDifference, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Maps the blocked paths in `kept_paths` to the reasons. They cannot be restored even if the user agrees."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The first checkpoint of a session: its files before any change."""

    commit: str
    skipped: tuple[str, ...]


class Checkpoints(Protocol):
    """Takes and restores checkpoints of the workspace.

    Only one call at a time is allowed. A cancelled call leaves the workspace and the store unchanged. Methods raise
    `CheckpointError` if the store cannot be used, or if an action of a restore failed. After a failed action, all other
    actions are rolled back.
    """

    @property
    def unavailable_reason(self) -> str:
        """The reason why there are no checkpoints, as a sentence. Empty if checkpoints are taken."""
        ...

    @property
    def head(self) -> str:
        """The commit of the newest checkpoint. Empty before the first checkpoint."""
        ...

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """Continue from the commit `known`, the newest commit in the log.

        If `known` is empty or lost, take a first checkpoint and return it as a baseline. `unchanged` means that the
        session changed nothing after `known`; in this case, the baseline replaces a lost commit. Can be called again
        after an error.
        """
        ...

    def take_notices(self) -> tuple[str, ...]:
        """Return new sentences for the user, e.g. about lost checkpoints. Each sentence is returned only once."""
        ...

    async def find_changes(
        self, paths: Sequence[str] | None = None, *, extra_paths: Sequence[str] = ()
    ) -> WorkspaceChanges:
        """Return the differences between the workspace and the newest checkpoint.

        Only `paths` are compared (None: all paths). `extra_paths` are the paths that a call is about to change. They
        are included even if git ignores them.
        """
        ...

    async def read_file(self, commit: str, path: str) -> bytes:
        """Return the bytes of a file (or the target of a link) in a checkpoint.

        Raises `CheckpointError` if the file is missing.
        """
        ...

    async def changed_after(self, paths: Sequence[str], since: float) -> frozenset[str]:
        """Return the paths in `paths` that changed after the time `since` (seconds since the epoch).

        For a removed path, the time of its folder is used. A path with an uncertain time is included.
        """
        ...

    async def commit(self, changes: WorkspaceChanges, *, part: int, author: Author, message: str) -> str:
        """Store these changes as the newest checkpoint and return its commit."""
        ...

    async def save_version(self, path: str, content: bytes | None) -> str:
        """Store a copy of the newest checkpoint with this content for one file. Return the copy's commit.

        If `content` is None, the copy does not contain the file. The copy does not become the newest checkpoint. A plan
        restores this content only if it names the path. Raises `CheckpointError` if `path` is a link.
        """
        ...

    async def plan_restore(
        self, source: str, named_paths: Sequence[str] = (), kept_changes: Sequence[tuple[str, str]] = ()
    ) -> RestorePlan:
        """Return the plan that restores the checkpoint `source`. Nothing is changed.

        `named_paths` are included even if someone else changed them. Current differences from the newest checkpoint
        count as changes by someone else. So do the session's changes between the two commits of each pair in
        `kept_changes`.
        """
        ...

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> RestoreResult:
        """Run a plan: all actions without a conflict, and the actions on paths in `overwrite`.

        Never writes through a link. Afterwards, `head` is the `commit` of the result.
        """
        ...

    async def run_maintenance(self) -> bool:
        """Copy git objects that the checkpoints borrow from other repositories into the store. Then pack the store.

        Returns True if anything was done. Call this while the session is idle. Any other call, or a cancellation, stops
        the maintenance.
        """
        ...

    async def aclose(self) -> None:
        """Stop the maintenance that runs in the background."""
        ...
