"""Finds what remains after an undo, a redo or a revert: file changes, and effects of calls and jobs.

Invariant: each remaining change of a file is recorded again on the new branch of the session's history, and the model
is never told that a call did not run if it did.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import groupby
from typing import TypeAlias

from anyio import to_thread

from tui_agent.engine.checkpoints.attribution import file_changed_event, read_stored
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.changed_files import GeneratedFiles
from tui_agent.folds.session.state_view import OpenCall
from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.ports.checkpoint import Checkpoints, FileDifference, RestoreResult
from tui_agent.ports.log import Blobs
from tui_agent.protocol.envelope import Record, known_events
from tui_agent.protocol.events.files import Author, CheckpointTaken, FileChanged, FolderChange
from tui_agent.protocol.events.job import JobFinished
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.ids import CallId, JobId
from tui_agent.workspace.local.file_change_events import count_lines


@dataclass(slots=True)
class FileRecords:
    """The file changes that were recorded in a part of a branch.

    - `first`, `newest`: first and newest change of each file.
    - `authors`: for each file that the session changed, the newest author other than the user.
    - `by_user`: for each file with a change recorded as the user's, the newest `original_author` of these changes
      (None: no change has one).
    - `hidden_changes`: for each file, the checksums of the lines in which a redacted value changed, as in
      `file.changed`.
    - `changes`: all changes of each file, in order.
    - `counts`: for each file, the numbers of lines that its changes added and removed, without subtracting anything.
    - `generated`: for each generated folder, the number of its files that the session changed.
    """

    first: dict[str, FileChanged] = field(default_factory=dict)
    newest: dict[str, FileChanged] = field(default_factory=dict)
    authors: dict[str, Author] = field(default_factory=dict)
    by_user: dict[str, Author | None] = field(default_factory=dict)
    hidden_changes: dict[str, frozenset[int]] = field(default_factory=dict)
    changes: dict[str, list[FileChanged]] = field(default_factory=dict)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
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
            files.changes.setdefault(change.path, []).append(change)
            earlier = files.hidden_changes.get(change.path, frozenset())
            files.hidden_changes[change.path] = earlier.union(change.hidden_changes)
            added, removed = files.counts.get(change.path, (0, 0))
            files.counts[change.path] = added + change.added, removed + change.removed
            if change.first_author != "human":
                files.authors[change.path] = change.first_author
            if change.author == "human":
                files.by_user[change.path] = change.original_author or files.by_user.get(change.path)
    return files


async def find_remaining_changes(
    store: Checkpoints,
    blobs: Blobs,
    old_branch: FileRecords,
    new_branch: FileRecords,
    restored: RestoreResult | None,
    source: str,
) -> list[FileChanged]:
    """Return an event for each file that differs from its newest recorded state on the new branch.

    Each event records the difference as a change by the user. The newest checkpoint must contain the current files.

    - `old_branch`, `new_branch`: changes on the old branch and on the new branch since their last common event.
    - `restored`: result of the restore (None: no file was restored).
    - `source`: commit with the files as they were at the event to which the session moved.
    """
    changes = []
    kept_paths = () if restored is None else restored.kept_paths
    known_modes = {*new_branch.newest, *(() if restored is None else restored.paths)}
    for path in dict.fromkeys(
        (*old_branch.by_user, *(path for path in kept_paths if path in old_branch.first))
    ):
        recorded = new_branch.newest.get(path) or _start_of(old_branch.first[path])
        content = await read_version(store, store.head, path)
        digest = _sha256(content)
        is_large = recorded.disk_sha256_after is None and recorded.after_size > 0
        keeps_mode = old_branch.newest[path].is_mode_only and path not in known_modes
        if (digest == recorded.disk_sha256_after and not keeps_mode) or is_large:
            continue
        replayed = _replay_changes(blobs, old_branch, path, recorded)
        if replayed and replayed[-1].disk_sha256_after == digest:
            changes += replayed
            continue
        size = len(content or b"")
        mode = old_branch.newest[path].mode
        # The log holds the recorded content only without its secrets, but the checkpoint holds the file itself.
        before = await read_version(store, source, path)
        if _sha256(before) != recorded.disk_sha256_after:
            before = None
        difference = FileDifference(path, before, content, recorded.after_size, size, mode)
        change = await to_thread.run_sync(file_changed_event, blobs, difference, "human", None, recorded)
        kept_author = old_branch.authors.get(path) if path in kept_paths else None
        changes.append(
            change.model_copy(update={"original_author": old_branch.by_user.get(path) or kept_author})
        )
    return changes


def find_kept_changes(blobs: Blobs, old_branch: FileRecords, new_branch: FileRecords) -> list[FileChanged]:
    """Return an event for each file that differs from its recorded state on the new branch.

    Blocks: call it in a thread.

    Use this after an undo, redo or revert that moved the conversation and restored no files.
    """
    changes = []
    for path in {**old_branch.first, **new_branch.first}:
        start = new_branch.newest.get(path) or _start_of(old_branch.first[path])
        newest = old_branch.newest.get(path)
        end = newest or _start_of(new_branch.first[path])
        keeps_mode = newest is not None and newest.is_mode_only
        if start.disk_sha256_after == end.disk_sha256_after and not keeps_mode:
            continue
        if replayed := _replay_changes(blobs, old_branch, path, start):
            changes += replayed
            continue
        contents = read_stored(blobs, start.after), read_stored(blobs, end.after)
        if SECRET_FILE_CONTENT in contents:
            added, removed = _sum_counts(path, old_branch, new_branch)
        else:
            added, removed = count_lines(*contents)
        hidden = old_branch.hidden_changes.get(path, frozenset()) | new_branch.hidden_changes.get(
            path, frozenset()
        )
        update = {
            "before": start.after,
            "before_sha256": start.after_sha256,
            "before_size": start.after_size,
            "author": "human",
            "added": added,
            "removed": removed,
            "call_id": None,
            "hidden_changes": tuple(sorted(hidden)),
            "original_author": old_branch.authors.get(path),
        }
        changes.append(end.model_copy(update=update))
    return changes


def _replay_changes(
    blobs: Blobs, old_branch: FileRecords, path: str, start: FileChanged
) -> list[FileChanged]:
    """Return events that record the changes of a file again, if both the session and others changed it.

    Successive changes by the same author become one event, so that lines of others do not count as the session's. There
    is no event if they left the file as it was. Return an empty list if only the session or only others changed the file, or if the changes did not begin with the
    file's version in `start`.
    """
    recorded = old_branch.changes.get(path, [])
    versions = [start.disk_sha256_after, *(change.disk_sha256_after for change in recorded)]
    is_gapless = all(
        before == change.disk_sha256_before for before, change in zip(versions, recorded, strict=False)
    )
    if path not in old_branch.by_user or path not in old_branch.authors or not is_gapless:
        return []
    runs = groupby(recorded, key=lambda change: (change.first_author == "human", change.other_session))
    changes = [list(run) for _, run in runs]
    return [_join_changes(blobs, run) for run in changes if not _is_without_effect(run)]


def _is_without_effect(run: Sequence[FileChanged]) -> bool:
    """Return True if a file has the same content before and after successive changes, or is missing both times.

    A change of only the permissions counts as an effect.
    """
    first, last = run[0], run[-1]
    if last.disk_sha256_after is None:  # a file without digests is missing, or too large for the log
        return first.disk_sha256_before is None and first.before_size == last.after_size == 0
    has_mode_change = any(change.is_mode_only for change in run)
    return first.disk_sha256_before == last.disk_sha256_after and not has_mode_change


def _join_changes(blobs: Blobs, run: Sequence[FileChanged]) -> FileChanged:
    """Join successive changes of a file by one author into one event, which records that the changes were kept."""
    first, last = run[0], run[-1]
    added, removed = first.added, first.removed
    if len(run) > 1:
        contents = read_stored(blobs, first.before), read_stored(blobs, last.after)
        added, removed = count_lines(*contents)
        if SECRET_FILE_CONTENT in contents:
            added, removed = sum(change.added for change in run), sum(change.removed for change in run)
    update = {
        "before": first.before,
        "before_sha256": first.before_sha256,
        "before_size": first.before_size,
        "author": "human",
        "added": added,
        "removed": removed,
        "call_id": None,
        "hidden_changes": tuple(sorted({line for change in run for line in change.hidden_changes})),
        "original_author": None if last.first_author == "human" else last.first_author,
    }
    return last.model_copy(update=update)


def _sum_counts(path: str, old_branch: FileRecords, new_branch: FileRecords) -> tuple[int, int]:
    """Return the numbers of lines added and removed between the new branch's end and the old branch's end.

    The log does not hold the contents of a secret file, so the recorded counts of its changes are used.
    """
    added, removed = old_branch.counts.get(path, (0, 0))
    reversed_added, reversed_removed = new_branch.counts.get(path, (0, 0))
    return added + reversed_removed, removed + reversed_added


def count_kept_folders(old_branch: FileRecords, new_branch: FileRecords) -> tuple[FolderChange, ...]:
    """Return the generated folders that still contain changes of the old branch.

    Use this after an undo, redo or revert that moved the conversation and restored no files.
    """
    counted = dict(new_branch.generated.view())
    more = ((path, count - counted.get(path, 0)) for path, count in old_branch.generated.view())
    return tuple(FolderChange(path=path, files=count, total=count) for path, count in more if count > 0)


def _start_of(change: FileChanged) -> FileChanged:
    """Return a record of the file as it was before the change."""
    start = {"after": change.before, "after_sha256": change.before_sha256, "after_size": change.before_size}
    return change.model_copy(update=start)


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


async def read_version(store: Checkpoints, commit: str, path: str) -> bytes | None:
    """Return a file's content in a checkpoint; None if the checkpoint does not contain the file."""
    try:
        return await store.read_file(commit, path)
    except CheckpointError:
        return None


CallEvents: TypeAlias = Sequence[ToolStarted | ToolFinished]


def read_call_events(recorder: Recorder, after: int) -> CallEvents:
    """Return the starts and ends of calls on the current branch after the event number `after`.

    Blocks: call it in a thread.
    """
    events = known_events(recorder.records_after(after))
    return [event.payload for event in events if isinstance(event.payload, ToolStarted | ToolFinished)]


def read_job_ends(recorder: Recorder, after: int) -> dict[JobId, JobFinished]:
    """Return the ends of background jobs after the event `after`, which the caller must record again on the new branch.

    Blocks: call it in a thread.
    """
    ends = (event.payload for event in known_events(recorder.records_after(after)))
    # Without `agent`, the model gets a note: after the move, it does not know that it stopped the job.
    return {
        end.job_id: end.model_copy(update={"stopped_by": ""}) if end.stopped_by == "agent" else end
        for end in ends
        if isinstance(end, JobFinished)
    }


def find_reverted_calls(open_calls: Sequence[OpenCall], later: CallEvents) -> set[CallId]:
    """Return those of `open_calls` that ran after the revert's target event, at least in part.

    - `open_calls`: the calls without a result at the target event.
    - `later`: the events of calls after the target event, on the branch that the session leaves.

    A call that was stopped or lost after the target event is left out.
    """
    started = {event.call_id for event in later if isinstance(event, ToolStarted)}
    ended = {
        event.call_id
        for event in later
        if isinstance(event, ToolFinished) and event.status in ("ok", "failed")
    }
    return {
        call.call_id
        for call in open_calls
        if call.call_id in started or (call.started and call.call_id in ended)
    }


def describe_reverted_call(*, files: bool, commits: Sequence[str]) -> str:
    """Return the text that the model gets as the result of a call that ran before the session was reverted.

    `files`: True if files were restored. `commits`: ids with subjects of the commits that remain.
    """
    effects = "Its file changes were undone; other effects remain" if files else "Its effects remain"
    remaining = f" These commits also remain: {'; '.join(commits)}." if commits else ""
    return f"This call ran. The session was then reverted to a point before its result. {effects}.{remaining}"
