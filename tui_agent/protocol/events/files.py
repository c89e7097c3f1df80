"""Events of files: reads, changes and checkpoints of the workspace."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import CallId, FrozenModel, Payload

Author: TypeAlias = Literal["agent", "command", "human"]

MAX_PATHS_IN_EVENT = 200
"""Maximum number of paths listed in one event."""


class FileRead(Payload):
    """A tool read a file. `digest` is the hex SHA-256 of the full content. Lines count from 1."""

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

    `before` and `after` are digests of blobs. `path` is relative to the workspace, with `/`. `mode` is the permission
    bits after the change. Blobs contain no secrets. If redaction changed the bytes, `before_sha256` and `after_sha256`
    are the hex SHA-256 of the file's original bytes.
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

    @property
    def disk_sha256_before(self) -> str | None:
        """The hex SHA-256 of the file before the change. None if there was no file, or if it was too large."""
        return self.before_sha256 or self.before

    @property
    def disk_sha256_after(self) -> str | None:
        """The hex SHA-256 of the file after the change. None if there is no file, or if it is too large."""
        return self.after_sha256 or self.after

    @property
    def is_mode_only(self) -> bool:
        """True if only the file's permissions changed."""
        return self.disk_sha256_before is not None and self.disk_sha256_before == self.disk_sha256_after


class FolderChange(FrozenModel):
    """The number of changed files in a folder of generated files, such as `.venv/`. The files are not named.

    `files` is the number of changed files. `total` is the number of files from the folder that checkpoints contain.
    `removed` is the number of changed files that a restore removed. `conflicts` counts further files that someone else
    also changed and that were not restored.
    """

    path: str
    files: int
    total: int = 0
    removed: int = 0
    conflicts: int = 0


class CheckpointTaken(Payload):
    """The workspace's files were saved as `commit` in the session's `checkpoints.git`.

    `part` is the index of the message part (such as a tool call) after which the checkpoint was taken; -1 is the state
    before the session's first change. `author` is who changed `paths` since the previous checkpoint. If the turn had
    not changed anything yet, `as_of_seq` is the last event before the turn; the commit then has the files as of that
    event. At most `MAX_PATHS_IN_EVENT` paths are listed; `unlisted_count` counts the rest. Files in generated folders
    are only counted, in `folders`. `skipped` are short phrases about files that are not in the commit (too large, or
    over the quota).
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


class PlannedFileChange(FrozenModel):
    """The planned change to one path when files are restored. `added` and `removed` count lines.

    If someone else changed the path too, `conflict` says who, and the user is asked first. Otherwise it is empty.
    """

    path: str
    operation: Literal["write", "create", "remove", "mode"]
    added: int
    removed: int
    conflict: str = ""


class CheckpointPlanned(Payload):
    """A preview of restoring the files to the checkpoint at event `to_seq`. No file was changed.

    `unavailable` is the reason if files cannot be restored.
    """

    kind: Literal["checkpoint.planned"] = "checkpoint.planned"
    to_seq: int
    changes: tuple[PlannedFileChange, ...] = ()
    unlisted_count: int = 0
    folders: tuple[FolderChange, ...] = ()
    unavailable: str = ""


class CheckpointRestoreStarted(Payload):
    """Files are about to be restored from `source`, the checkpoint at event `to_seq`.

    If `checkpoint.restored` does not follow, the program ended during the restore.
    """

    kind: Literal["checkpoint.restore_started"] = "checkpoint.restore_started"
    source: str
    to_seq: int
    paths: tuple[str, ...] = ()
    unlisted_count: int = 0


class CheckpointRestored(Payload):
    """Files were restored from the checkpoint `source`. `commit` has the workspace's files afterwards.

    `commit` differs from `source` if some files were not restored. These are the files in `skipped_paths`, which
    someone else also changed, and files that the session never changed. `removed_count` counts the restored paths that
    have no file now. `unlisted_skipped_count` counts skipped paths that are not listed.
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

    @property
    def kept_count(self) -> int:
        """The number of files that were not restored because someone else changed them, including generated folders."""
        in_folders = sum(files for _, files in self.kept_folders)
        return len(self.skipped_paths) + self.unlisted_skipped_count + in_folders

    @property
    def kept_folders(self) -> tuple[tuple[str, int], ...]:
        """Pairs of a generated folder and the number of its files that were not restored.

        These files were also changed by someone else.
        """
        return tuple((folder.path, folder.conflicts) for folder in self.folders if folder.conflicts)
