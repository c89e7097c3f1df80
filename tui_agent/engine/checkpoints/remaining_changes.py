"""Finds the changes that stay in the files after an undo, a redo or a revert.

Invariant: each of these changes is recorded again on the new branch of the session's history.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import field

from anyio import to_thread

from tui_agent.engine.checkpoints.attribution import file_changed_event
from tui_agent.errors import BlobNotFound, CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.generated_files import GeneratedFiles
from tui_agent.ports.checkpoint import Checkpoints, FileDifference, RestoreResult
from tui_agent.ports.log import Blobs
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import Author, CheckpointTaken, FileChanged, FolderChange
from tui_agent.workspace.local.change_recorder import count_lines


@dataclass(slots=True)
class FileRecords:
    """The file changes that were recorded in a part of a branch.

    - `first`, `newest`: first and newest change of each file.
    - `authors`: for each file that the session changed, the newest author other than the user.
    - `by_user`: for each file that the user changed, the author of the session's earlier change. None if no such change
      remains.
    - `generated`: for each generated folder, the number of its files that the session changed.
    """

    first: dict[str, FileChanged] = field(default_factory=dict)
    newest: dict[str, FileChanged] = field(default_factory=dict)
    authors: dict[str, Author] = field(default_factory=dict)
    by_user: dict[str, Author | None] = field(default_factory=dict)
    generated: GeneratedFiles = field(default_factory=GeneratedFiles)


def read_file_records(records: Iterable[Record]) -> FileRecords:
    """Collect the file changes in these records."""
    files = FileRecords()
    for record in records:
        if isinstance(record.payload, CheckpointTaken) and record.payload.first_author != "human":
            files.generated.add(record.payload.folders)
        if isinstance(record.payload, FileChanged):
            change = record.payload
            files.first.setdefault(change.path, change)
            files.newest[change.path] = change
            if change.first_author != "human":
                files.authors[change.path] = change.first_author
            if change.author == "human":
                files.by_user[change.path] = change.original_author or files.by_user.get(change.path)
    return files


async def find_remaining_changes(
    store: Checkpoints,
    blobs: Blobs,
    left: FileRecords,
    present: FileRecords,
    restored: RestoreResult | None,
) -> list[FileChanged]:
    """Return an event for each file that differs from its newest recorded state on the new branch.

    Each event records the difference as a change by the user. The newest checkpoint must contain the current files.

    - `left`, `present`: changes on the old branch and on the new branch since their last common event.
    - `restored`: result of the restore (None: no file was restored).
    """
    changes = []
    kept_paths = () if restored is None else restored.kept_paths
    known_modes = {*present.newest, *(() if restored is None else restored.paths)}
    for path in dict.fromkeys((*left.by_user, *(path for path in kept_paths if path in left.first))):
        recorded = present.newest.get(path) or _start_of(left.first[path])
        content = await read_newest(store, path)
        digest = None if content is None else hashlib.sha256(content).hexdigest()
        is_large = recorded.disk_sha256_after is None and recorded.after_size > 0
        keeps_mode = left.newest[path].is_mode_only and path not in known_modes
        if (digest == recorded.disk_sha256_after and not keeps_mode) or is_large:
            continue
        size = len(content or b"")
        mode = left.newest[path].mode
        difference = FileDifference(path, None, content, recorded.after_size, size, mode)
        change = await to_thread.run_sync(file_changed_event, blobs, difference, "human", None, recorded)
        kept_author = left.authors.get(path) if path in kept_paths else None
        changes.append(change.model_copy(update={"original_author": left.by_user.get(path) or kept_author}))
    return changes


def find_kept_changes(blobs: Blobs, left: FileRecords, present: FileRecords) -> list[FileChanged]:
    """Return an event for each file that differs from its recorded state on the new branch. Blocks.

    Use this after an undo, redo or revert that moved the conversation and restored no files.
    """
    changes = []
    for path in {**left.first, **present.first}:
        start = present.newest.get(path) or _start_of(left.first[path])
        newest = left.newest.get(path)
        end = newest or _start_of(present.first[path])
        keeps_mode = newest is not None and newest.is_mode_only
        if start.disk_sha256_after == end.disk_sha256_after and not keeps_mode:
            continue
        added, removed = count_lines(_find_content(blobs, start.after), _find_content(blobs, end.after))
        update = {
            "before": start.after,
            "before_sha256": start.after_sha256,
            "before_size": start.after_size,
            "author": "human",
            "added": added,
            "removed": removed,
            "call_id": None,
            "original_author": left.authors.get(path),
        }
        changes.append(end.model_copy(update=update))
    return changes


def count_kept_folders(left: FileRecords, present: FileRecords) -> tuple[FolderChange, ...]:
    """Return the generated folders that still contain changes of the old branch.

    Use this after an undo, redo or revert that moved the conversation and restored no files.
    """
    counted = dict(present.generated.view())
    more = ((path, count - counted.get(path, 0)) for path, count in left.generated.view())
    return tuple(FolderChange(path=path, files=count, total=count) for path, count in more if count > 0)


def _find_content(blobs: Blobs, digest: str | None) -> bytes:
    """Return the stored content with the SHA-256 `digest`; empty if there is none."""
    try:
        return b"" if digest is None else blobs.read(digest)
    except BlobNotFound:
        return b""


def _start_of(change: FileChanged) -> FileChanged:
    """Return a record of the file as it was before the change."""
    start = {"after": change.before, "after_sha256": change.before_sha256, "after_size": change.before_size}
    return change.model_copy(update=start)


async def read_newest(store: Checkpoints, path: str) -> bytes | None:
    """Return a file's content in the newest checkpoint; None if the checkpoint does not contain the file."""
    try:
        return await store.read_file(store.head, path)
    except CheckpointError:
        return None
