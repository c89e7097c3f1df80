"""Checkpoints of the workspace's files, stored outside the user's own repository."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.files import UNNAMED_AUTHOR, Author, FolderChange


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A path that differs from the newest checkpoint.

    - `path`: path relative to the workspace, with `/`.
    - `before`, `after`: content in bytes, or the target of a link. None if the file does not exist or is too large.
    - `before_size`, `after_size`: sizes in bytes, even if the content is None.
    - `mode`: current permission bits.
    """

    path: str
    before: bytes | None
    after: bytes | None
    before_size: int
    after_size: int
    mode: int | None


@dataclass(frozen=True, slots=True)
class WorkspaceChanges:
    """Differences between the workspace and the newest checkpoint."""

    paths: tuple[str, ...]
    """Every changed path, sorted."""
    files: tuple[FileDifference, ...]
    """Details of the first changed paths."""
    skipped: tuple[str, ...] = ()
    """Sentences about files missing from checkpoints: too large, or over the quota."""
    contested_paths: tuple[str, ...] = ()
    """Paths in `paths` that the user may have changed too. An undo asks before it restores these paths."""
    other_sessions: Mapping[str, str] = field(default_factory=dict)
    """Maps paths in `paths` to the title of the session that recorded the same change, if there is one."""
    saved_paths: frozenset[str] = frozenset()
    """The paths in `paths` that the newest checkpoint contains. All other paths are new."""
    folders: tuple[FolderChange, ...] = ()
    """The generated folders with changed files. Empty if only some paths were compared."""

    @property
    def own_paths(self) -> tuple[str, ...]:
        """The changed paths outside the generated folders in `folders`."""
        names = tuple(folder.path for folder in self.folders)
        return tuple(path for path in self.paths if not path.startswith(names)) if names else self.paths

    def __bool__(self) -> bool:
        return bool(self.paths)


CHANGED_BY_OTHERS = f"also changed by {UNNAMED_AUTHOR}"
"""Value of `RestoreAction.conflict` for a path that the user or another session changed after the session did."""


@dataclass(frozen=True, slots=True)
class RestoreAction:
    """One change to one path when a checkpoint is restored.

    - `added`, `removed`: number of lines.
    - `conflict`: reason why the user is asked first, such as a change by someone else. Empty if there is no
      conflict.
    """

    path: str
    kind: Literal["write", "create", "remove", "mode"]
    added: int
    removed: int
    conflict: str = ""
    folder: str = ""
    """The generated folder that contains the path, with `/` at the end."""
    is_uncertain: bool = False
    """True if `conflict` only says that the file changed while a long command ran."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The plan to restore the checkpoint `source`.

    - `head`: the newest checkpoint when the plan was made. The plan is refused if there is a newer one.
    - `actions`: changes to the paths that the session changed after `source`, and to the `named` paths.
    - `named`: paths that the user selected.
    - `kept_changes`: changes that the user wanted to keep, as pairs of commits (before, after).
    """

    source: str
    head: str
    actions: tuple[RestoreAction, ...]
    named: tuple[str, ...] = ()
    kept_changes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of restoring a checkpoint.

    - `commit`: commit with the workspace's files after the restore.
    - `paths`: restored paths.
    - `kept_paths`: paths that were not restored.
    - `files`: the first restored paths, with their contents before and after.
    """

    commit: str
    paths: tuple[str, ...]
    kept_paths: tuple[str, ...]
    files: tuple[FileDifference, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Maps paths in `kept_paths` to the reasons why they cannot be restored, even if the user agrees."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The first checkpoint of a session: its files before any change."""

    commit: str
    skipped: tuple[str, ...]


class Checkpoints(Protocol):
    """Takes and restores checkpoints of the workspace.

    Only one call at a time is allowed. A cancelled call leaves the workspace and the store unchanged. A failed restore
    undoes its own changes. Methods raise `CheckpointError` if the store cannot be used or a restore fails.
    """

    @property
    def unavailable_reason(self) -> str:
        """The reason why there are no checkpoints, as a sentence. Empty if checkpoints are taken."""
        ...

    @property
    def head(self) -> str:
        """The commit of the newest checkpoint."""
        ...

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """Continue from `known`, the newest checkpoint commit in the log.

        If the store does not have this commit, take a first checkpoint and return it as a baseline.

        `unchanged`: True if the session changed no files after `known`. The baseline can then replace the lost commit.
        """
        ...

    def take_notices(self) -> tuple[str, ...]:
        """Return new sentences for the user, e.g. about lost checkpoints. Each sentence is returned only once."""
        ...

    async def find_changes(
        self, paths: Sequence[str] | None = None, *, extra_paths: Sequence[str] = ()
    ) -> WorkspaceChanges:
        """Return the differences between the workspace and the newest checkpoint.

        - `paths`: paths to compare (None: all).
        - `extra_paths`: paths to compare even if git ignores them.
        """
        ...

    async def read_file(self, commit: str, path: str) -> bytes:
        """Return the bytes of a file (or the target of a link) in a checkpoint.

        Raise `CheckpointError` if the file is missing.
        """
        ...

    async def changed_after(self, paths: Sequence[str], since: float) -> frozenset[str]:
        """Return the paths in `paths` that changed after the time `since` (seconds since the epoch).

        A path is included if its time is uncertain. For a removed path, the time of its folder is used.
        """
        ...

    async def commit(self, changes: WorkspaceChanges, *, part: int, author: Author, message: str) -> str:
        """Store these changes as the newest checkpoint and return its commit."""
        ...

    async def save_version(self, path: str, content: bytes | None) -> str:
        """Save new content for one file in a new commit, and return the commit.

        The commit is a copy of the newest checkpoint, in which only this file differs.

        - `path`: the file.
        - `content`: the new content in bytes. None removes the file.

        Raise `CheckpointError` if `path` is a link.
        """
        ...

    async def plan_restore(
        self, source: str, named_paths: Sequence[str] = (), kept_changes: Sequence[tuple[str, str]] = ()
    ) -> RestorePlan:
        """Return the plan that restores the checkpoint `source`, without changing anything.

        - `named_paths`: files that the plan includes even if someone else changed them.
        - `kept_changes`: pairs of commits. Changes between the two commits of a pair are treated as someone else's
          changes.
        """
        ...

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> RestoreResult:
        """Run a plan: all actions without a conflict, and the actions on paths in `overwrite`.

        Links are never followed when files are written.
        """
        ...

    async def run_maintenance(self) -> bool:
        """Tidy up the store, and return True if anything was done.

        If checkpoints use git objects of other repositories, these objects are copied into the store. A cancellation
        or any other method call stops the maintenance.
        """
        ...

    async def aclose(self) -> None:
        """Stop the background maintenance."""
        ...
