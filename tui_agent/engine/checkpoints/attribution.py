"""Attribution of file changes that no checkpoint contains, after a failed checkpoint or an interrupted run.

Invariant: a recorded change is attributed to the session only if the file still has the recorded content.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from anyio import to_thread

from tui_agent.engine.checkpoints.revert_plan import ReadOtherChanges
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import BlobNotFound, StoreError
from tui_agent.folds.session.state_view import SessionStateView, UncheckpointedChange
from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.ports.checkpoint import Checkpoints, FileDifference, WorkspaceChanges
from tui_agent.ports.log import Blobs, OtherChange
from tui_agent.protocol.events.files import MAX_PATHS_IN_EVENT, Author, FileChanged
from tui_agent.protocol.events.job import JobStarted
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.unicode_text import list_first
from tui_agent.workspace.local.file_change_events import count_lines, file_changed

MAX_PATHS_IN_MESSAGE = 3
"""Maximum number of paths in a message to the user."""
GRACE_S = 1.0
"""Period after the last event of an interrupted run, in seconds.

File changes in this period count as changes by the running call.
"""


@dataclass
class UncheckpointedChanges:
    """The paths that calls changed since the newest checkpoint.

    - `any_path`: True if the calls may have changed other paths too.
    - `until`: time (seconds since the epoch) after which changes may be the user's.
    """

    any_path: bool = False
    paths: set[str] = field(default_factory=set)
    until: float | None = None

    def add(self, author: Author, paths: Iterable[str] | None) -> None:
        """Add the paths changed by a call. If `paths` is None, any path may have changed."""
        if paths is None or author == "command":
            self.any_path = True
        else:
            self.paths |= set(paths)


def uncheckpointed_by_earlier_runs(state: SessionStateView) -> UncheckpointedChanges:
    """Return the recorded changes of earlier runs that no checkpoint contains."""
    recorded = {path: change for path, change in state.uncheckpointed.items() if change.by_session}
    if state.crash_time is not None:  # the call that ran may have changed files that it could not record
        return UncheckpointedChanges(any_path=True, paths=set(recorded), until=state.crash_time + GRACE_S)
    if len(recorded) >= MAX_PATHS_IN_EVENT:  # a call records at most this many paths, so there may be more
        until = max(change.time for change in recorded.values()) + GRACE_S
        return UncheckpointedChanges(any_path=True, paths=set(recorded), until=until)
    return UncheckpointedChanges(paths=set(recorded))


class JobChanges:
    """Decides if a background job or the user changed files while no call ran."""

    def __init__(self) -> None:
        self.calls: dict[CallId, None] = {}
        """Calls with jobs that may have changed files since the newest checkpoint, oldest first."""
        self._authors: dict[str, CallId] = {}
        """Maps a file to the job's call that changed it, or to which a checkpoint attributed the file's change."""

    def add_call(self, call_id: CallId, changes: WorkspaceChanges | None) -> None:
        """Add a call that started a job, with the files that the call changed."""
        self.calls[call_id] = None
        self._authors.update(dict.fromkeys(() if changes is None else changes.paths, call_id))

    def drop_ended(self, running: Iterable[JobStarted]) -> None:
        """Drop the calls whose jobs had ended before a checkpoint began.

        `running`: the jobs that were running at that time.
        """
        # A job that ends while the files are compared may change more files, so it stays.
        running_calls = {job.call_id for job in running}
        self.calls = {call_id: None for call_id in self.calls if call_id in running_calls}

    def attribute(self, changes: WorkspaceChanges) -> tuple[WorkspaceChanges, Author, CallId | None]:
        """Return (changes, author, call id) for changes that were made while no call ran.

        If no job ran, the user is the author. Otherwise, the author is "command", and the call id is the id of the
        newest call with a job. But if one older call's job has changed all these files before, the call id is that of
        the older call.

        If a job ran, the files that the user may have changed instead are marked as contested: all files except new
        files, files in generated folders, and files that a job changed before.
        """
        if not self.calls:
            return changes, "human", None
        # An undo of the newest job's turn asks about the files. If they counted for an older job, it would not.
        newest = list(self.calls)[-1]
        earlier_authors = {self._authors.get(path) for path in changes.paths}
        call_id = earlier_authors.pop() if len(earlier_authors) == 1 else newest
        if call_id is None or call_id not in self.calls:
            call_id = newest
        foreign = changes.saved_paths.difference(self._authors)
        self._authors.update({path: call_id for path in changes.paths if path not in foreign})
        contested = tuple(path for path in changes.own_paths if path in foreign)
        return replace(changes, contested_paths=contested), "command", call_id


async def attribute_changes(
    store: Checkpoints,
    changes: WorkspaceChanges,
    missed: UncheckpointedChanges,
    recorded: Mapping[str, UncheckpointedChange],
) -> tuple[WorkspaceChanges, Author, CallId | None]:
    """Return (changes, author, call id) for changes that no checkpoint contains.

    - `missed`: the changes that calls made and no checkpoint contains.
    - `recorded`: maps a path to its newest change in the log.

    In the returned changes, `contested_paths` has the files that the user may have changed too. The call id is None
    unless one call made all changes. Raise `CheckpointError` if the store cannot be read.
    """
    files = {file.path: file for file in changes.files}
    by_session = {
        path: record
        for path in changes.paths
        if (record := recorded.get(path)) is not None and record.by_session
    }
    as_recorded = {
        path: record
        for path, record in by_session.items()
        if record.change.author != "human" and path in files and matches_recorded(record.change, files[path])
    }
    others = [path for path in changes.paths if path not in as_recorded]
    # If no call can have made the other changes, somebody else may have changed the session's files again. Otherwise,
    # only changes after the end of the last call may be somebody else's.
    doubtful: frozenset[str] = frozenset()
    if others and not missed.any_path:
        doubtful = frozenset(others).intersection(by_session)
    elif others and missed.until is not None:
        doubtful = await store.changed_after(others, missed.until)
    calls = {record.change.call_id for record in as_recorded.values()}
    by_agent = missed.paths.issuperset(others) and all(
        record.change.author == "agent" for record in as_recorded.values()
    )
    return (
        replace(changes, contested_paths=tuple(sorted(doubtful))),
        "agent" if by_agent and not missed.any_path else "command",
        calls.pop() if len(calls) == 1 and not others else None,
    )


async def note_changes_by_others(
    read_others: ReadOtherChanges | None,
    recorder: Recorder,
    changes: WorkspaceChanges,
    author: Author,
    since: float,
) -> WorkspaceChanges:
    """Return `changes` with the names of other sessions that recorded the same change of a file.

    If the author is not the user, mark as contested the files that edit tools of other sessions changed. If the other
    sessions cannot be read, record an error, and mark all files as contested.

    - `read_others`: function that returns the changes by other sessions (None: there are none).
    - `since`: time of the previous comparison, in seconds since the epoch.
    """
    if read_others is None or not changes.files:
        return changes
    workspace = recorder.state.workspace
    try:
        others = await to_thread.run_sync(_find_changes_by_others, changes, read_others, workspace, since)
    except StoreError as error:
        names = list_first(changes.own_paths, MAX_PATHS_IN_MESSAGE)
        message = f"Another session may have changed files here too: {names}. {error.message}"
        hint = "An undo does not restore these files; it lists them."
        recorder.append(ErrorRaised(where="checkpoints", message=message, hint=hint))
        return changes if author == "human" else replace(changes, contested_paths=changes.own_paths)
    sessions = {other.change.path: other.session for other in others}
    if author == "human":
        return replace(changes, other_sessions=sessions)
    edited = {other.change.path for other in others if other.change.author == "agent"}
    contested = tuple(sorted(edited.union(changes.contested_paths)))
    return replace(changes, contested_paths=contested, other_sessions=sessions)


def _find_changes_by_others(
    changes: WorkspaceChanges, read_others: ReadOtherChanges, workspace: str, since: float
) -> list[OtherChange]:
    files = {file.path: file for file in changes.files}
    return [
        other
        for other in read_others(workspace, since)
        if other.change.path in files and matches_recorded(other.change, files[other.change.path])
    ]


def matches_recorded(recorded: FileChanged, file: FileDifference) -> bool:
    """Return True if `file` still matches the event `recorded`."""
    if recorded.mode is not None and file.mode is not None and recorded.mode != file.mode:
        return False
    if recorded.after_size != file.after_size or (recorded.after_size and file.mode is None):
        return False
    if file.after is None:
        return file.mode is None or recorded.disk_sha256_after is None
    return recorded.disk_sha256_after == hashlib.sha256(file.after).hexdigest()


def file_changed_event(
    blobs: Blobs,
    file: FileDifference,
    author: Author,
    call_id: CallId | None,
    recorded: FileChanged | None = None,
) -> FileChanged:
    """Store a changed file's contents, with secrets redacted, and return the event about the change.

    `recorded`: the file's newest recorded change since the last checkpoint. The event then describes only what changed
    after this change. If None, the event describes everything that changed since the checkpoint.
    """
    old = None if file.before is None else blobs.put_file(file.path, file.before)
    new = None if file.after is None else blobs.put_file(file.path, file.after)
    sizes = file.before_size, file.after_size
    counts = count_lines(file.before or b"", file.after or b"")
    event = file_changed(file.path, (old, new), sizes, counts, mode=file.mode, author=author, call_id=call_id)
    if recorded is None:
        return event
    start: dict[str, object] = {
        "before": recorded.after,
        "before_sha256": recorded.after_sha256,
        "before_size": recorded.after_size,
    }
    checkpoint_sha256 = None if old is None else old.sha256
    if recorded.disk_sha256_after != checkpoint_sha256:
        # The content in between is stored only without its secrets. Compared with the file itself, each line with a
        # secret would differ.
        contents = read_stored(blobs, recorded.after), read_stored(blobs, event.after)
        if SECRET_FILE_CONTENT in contents:
            added, removed = _subtract_counts(file, checkpoint_sha256, recorded, counts)
        else:
            added, removed = count_lines(*contents)
        hidden = set(event.hidden_changes).difference(recorded.hidden_changes) if recorded.after else ()
        start |= {"added": added, "removed": removed, "hidden_changes": tuple(sorted(hidden))}
    return event.model_copy(update=start)


def _subtract_counts(
    file: FileDifference, checkpoint_sha256: str | None, recorded: FileChanged, counts: tuple[int, int]
) -> tuple[int, int]:
    """Return how many lines of a secret file were at least added and removed after the change `recorded`.

    The log does not hold the content of a secret file. The counts of `recorded` are therefore subtracted from `counts`,
    the counts since the checkpoint. So a line that both changes replaced is not counted. If `recorded` did not start at
    the checkpoint's version, nothing is known: return (0, 0).

    `checkpoint_sha256`: hex SHA-256 of the checkpoint's version of the file; None if there is none.
    """
    if recorded.after is None:
        return count_lines(b"", file.after or b"")
    if recorded.disk_sha256_before != checkpoint_sha256:
        return 0, 0
    added, removed = counts[0] - recorded.added, counts[1] - recorded.removed
    return max(0, added) + max(0, -removed), max(0, removed) + max(0, -added)


def read_stored(blobs: Blobs, digest: str | None) -> bytes:
    """Return the stored content with the SHA-256 `digest`, with secrets redacted. Empty if `digest` is None."""
    try:
        return b"" if digest is None else blobs.read(digest)
    except BlobNotFound:
        return b""
