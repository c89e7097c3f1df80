"""Events of files: reads, changes and checkpoints of the workspace."""

from typing import Final, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.ids import CallId

Author: TypeAlias = Literal["agent", "command", "human"]
UNNAMED_AUTHOR: Final = "you or another session"
"""Who made a change with the author `human` that names no other session.

The log cannot tell them apart, for example if another session undid its own change.
"""

MAX_PATHS_IN_EVENT = 200
"""Maximum number of paths listed in one event."""
LONG_COMMAND_S = 2.0
"""Number of seconds after which a command counts as long. During a long command, someone else may change files too."""


class FileRead(Payload):
    """A tool read a file. `digest`: hex SHA-256 of the full content. Lines count from 1."""

    kind: Literal["file.read"] = "file.read"
    path: str
    digest: str
    size: int
    first_line: int
    last_line: int
    complete: bool
    call_id: CallId | None = None


class FileChanged(Payload):
    """A file was created (`before` is None), changed, or removed (`after` is None).

    `before`, `after`: digests of blobs, without secrets. `path`: relative to the workspace, with `/`. `mode`:
    permission bits after the change. `before_sha256`, `after_sha256`: hex SHA-256 of the original bytes, if the blob is
    redacted. For a file that may hold secrets (`.env`), the blobs hold `[redacted: secret file]` instead of the content.

    `hidden_changes`: CRC-32 of each redacted line that looks the same before and after, although its hidden values
    changed.

    `other_session`: title of the other session in the same folder that made the change. Empty if there is none; with a
    title, the author is `human`.

    A file can keep its changes when a turn is undone. The changes are then recorded again with the author `human`,
    and `original_author` is the author who made them.
    """

    kind: Literal["file.changed"] = "file.changed"
    path: str
    before: str | None
    after: str | None
    before_size: int
    after_size: int
    mode: int | None
    author: Author
    added: int
    removed: int
    call_id: CallId | None = None
    before_sha256: str | None = None
    after_sha256: str | None = None
    hidden_changes: tuple[int, ...] = ()
    original_author: Author | None = None
    other_session: str = ""

    @property
    def first_author(self) -> Author:
        """The author who made the change: `original_author` if it is set, otherwise `author`."""
        return self.original_author or self.author

    @property
    def disk_sha256_before(self) -> str | None:
        """The hex SHA-256 of the file before the change. None if the file did not exist or was too large."""
        return self.before_sha256 or self.before

    @property
    def disk_sha256_after(self) -> str | None:
        """The hex SHA-256 of the file after the change. None if the file does not exist or is too large."""
        return self.after_sha256 or self.after

    @property
    def is_mode_only(self) -> bool:
        """True if only the file's permissions changed."""
        return self.disk_sha256_before is not None and self.disk_sha256_before == self.disk_sha256_after


class FolderChange(FrozenModel):
    """The number of changed files in a folder of generated files, such as `.venv/`.

    `files`: number of changed files. `total`: number of the folder's files in checkpoints. `removed`: number of files
    that a restore removed. `conflicts`: number of files that were not restored, because someone else changed them too.
    """

    path: str
    files: int
    total: int = 0
    removed: int = 0
    conflicts: int = 0


class CheckpointTaken(Payload):
    """The workspace's files were saved as `commit` in the session's `checkpoints.git`.

    `part`: number of the message part just before the save, such as a tool call (-1: before the session's first
    change). `author`: who changed `paths` since the previous checkpoint. `as_of_seq`: last event before the running
    turn, if the turn has not changed any file yet. An undo of the turn then keeps these changes. Otherwise null.

    `unlisted_count`: number of changed paths that `paths` does not list. `folders`: numbers of changed files in generated
    folders. `skipped`: phrases about files that are not in the commit (too large, or over the quota).

    Files can keep their changes when a turn is undone. The `author` of these changes is then `human`, and
    `original_author` is the author who made them.
    """

    kind: Literal["checkpoint.taken"] = "checkpoint.taken"
    part: int
    commit: str
    author: Author = "agent"
    paths: tuple[str, ...] = ()
    unlisted_count: int = 0
    folders: tuple[FolderChange, ...] = ()
    skipped: tuple[str, ...] = ()
    call_id: CallId | None = None
    as_of_seq: int | None = None
    original_author: Author | None = None

    @property
    def first_author(self) -> Author:
        """The author who made the changes: `original_author` if it is set, otherwise `author`."""
        return self.original_author or self.author


class PlannedFileChange(FrozenModel):
    """The planned change to one path when files are restored. `added`, `removed`: number of lines.

    `conflict`: reason why the user is asked before the restore, for example that someone else also changed the path.
    `uncertain`: True if nobody knows who changed the path, because it changed while a long command ran. `conflict`
    names the command.
    """

    path: str
    operation: Literal["write", "create", "remove", "mode"]
    added: int
    removed: int
    conflict: str = ""
    uncertain: bool = False


class CheckpointPlanned(Payload):
    """A preview of restoring the files to the checkpoint at event `to_seq`. No file was changed.

    `unlisted_conflict_count`: number of files with a conflict among the `unlisted_count` files. `unavailable`: reason why files cannot be restored. `running_jobs`: commands of the background jobs that a revert
    stops first.
    """

    kind: Literal["checkpoint.planned"] = "checkpoint.planned"
    to_seq: int
    changes: tuple[PlannedFileChange, ...] = ()
    unlisted_count: int = 0
    unlisted_conflict_count: int = 0
    folders: tuple[FolderChange, ...] = ()
    unavailable: str = ""
    running_jobs: tuple[str, ...] = ()


class CheckpointRestoreStarted(Payload):
    """Files are about to be restored from `source`, the checkpoint at event `to_seq`.

    If no `checkpoint.restored` follows, the program ended during the restore.
    """

    kind: Literal["checkpoint.restore_started"] = "checkpoint.restore_started"
    source: str
    to_seq: int
    paths: tuple[str, ...] = ()
    unlisted_count: int = 0


class CheckpointRestored(Payload):
    """Files were restored from the checkpoint `source`. `commit`: the commit with the workspace's files after the
    restore.

    `skipped_paths`: files that were not restored, because someone else changed them too. `removed_count`: number of
    files that the restore removed. `unlisted_skipped_count`: number of skipped paths that are not listed.
    `skipped_reasons`: the reason for each skipped path that may have been changed by a command, not by someone else.
    """

    kind: Literal["checkpoint.restored"] = "checkpoint.restored"
    source: str
    commit: str
    paths: tuple[str, ...]
    unlisted_count: int = 0
    removed_count: int = 0
    skipped_paths: tuple[str, ...] = ()
    unlisted_skipped_count: int = 0
    folders: tuple[FolderChange, ...] = ()
    skipped_reasons: dict[str, str] = Field(default_factory=dict)

    @property
    def kept_count(self) -> int:
        """The number of files not restored because of changes by someone else, including generated folders."""
        in_folders = sum(files for _, files in self.kept_folders)
        return len(self.skipped_paths) + self.unlisted_skipped_count + in_folders

    @property
    def kept_folders(self) -> tuple[tuple[str, int], ...]:
        """Pairs of a generated folder and the number of its files that were not restored."""
        return tuple((folder.path, folder.conflicts) for folder in self.folders if folder.conflicts)

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The listed files, and the generated folders, that were not restored because of changes by someone else."""
        return (*self.skipped_paths, *(path for path, _ in self.kept_folders))
