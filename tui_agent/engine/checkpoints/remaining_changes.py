"""Changes of the user that are still in the files after an undo, a redo or a revert.

Invariant: such a change is recorded again on the new branch, because its first record is on the old branch.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import field

from anyio import to_thread

from tui_agent.engine.checkpoints.attribution import file_changed_event
from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.checkpoint import Checkpoints, FileDifference
from tui_agent.ports.log import Blobs
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import FileChanged


@dataclass(slots=True)
class FileRecords:
    """The file changes in a part of a branch.

    `first` and `newest` are each file's first and newest change. `by_user` are the files that the user changed too.
    """

    first: dict[str, FileChanged] = field(default_factory=dict)
    newest: dict[str, FileChanged] = field(default_factory=dict)
    by_user: dict[str, None] = field(default_factory=dict)


def read_file_records(records: Iterable[Record]) -> FileRecords:
    """Collect the changes of files in these records."""
    files = FileRecords()
    for record in records:
        if isinstance(record, Envelope) and isinstance(record.payload, FileChanged):
            change = record.payload
            files.first.setdefault(change.path, change)
            files.newest[change.path] = change
            if change.author == "human":
                files.by_user[change.path] = None
    return files


async def find_remaining_changes(
    store: Checkpoints, blobs: Blobs, left: FileRecords, present: FileRecords, kept: Iterable[str]
) -> list[FileChanged]:
    """Return the files that differ from their newest record on the new branch, as changes by the user.

    `left` are the changes on the branch that was left, and `present` the changes on the new branch. Both begin after
    the last event that the branches share. `kept` are files that the move did not restore. The store's newest
    checkpoint must have the files as they are now.
    """
    changes = []
    for path in dict.fromkeys((*left.by_user, *(path for path in kept if path in left.first))):
        recorded = present.newest.get(path) or _start_of(left.first[path])
        content = await read_newest(store, path)
        digest = None if content is None else hashlib.sha256(content).hexdigest()
        is_large = recorded.disk_sha256_after is None and recorded.after_size > 0
        if digest == recorded.disk_sha256_after or is_large:
            continue
        size = len(content or b"")
        mode = left.newest[path].mode
        difference = FileDifference(path, None, content, recorded.after_size, size, mode)
        changes.append(
            await to_thread.run_sync(file_changed_event, blobs, difference, "human", None, recorded)
        )
    return changes


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
