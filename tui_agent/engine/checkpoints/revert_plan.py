"""Plan of the files that an undo, a redo or a revert restores, and the conflicts with changes by others.

Invariant: an undo asks before it restores a file that somebody else may have changed. A reverted hunk
counts as a change by the user until the change with this hunk is undone.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, replace
from typing import Protocol

from anyio import to_thread

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import BranchesView, is_on_branch, last_shared, stretches
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.checkpoint import CHANGED_BY_OTHERS, Checkpoints, RestoreAction, RestorePlan
from tui_agent.ports.log import OtherChange
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import (
    LONG_COMMAND_S,
    MAX_PATHS_IN_EVENT,
    UNNAMED_AUTHOR,
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointTaken,
    FileChanged,
    FolderChange,
    PlannedFileChange,
)
from tui_agent.protocol.events.job import JobFinished, JobStarted
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.ids import CallId, JobId
from tui_agent.protocol.unicode_text import clip_line, list_first
from tui_agent.units import format_duration

NO_CHECKPOINT = "There is no checkpoint of the files yet."
MAX_COMMAND_CHARS = 40

ReadOtherChanges = Callable[[str, float], Iterable[OtherChange]]
"""Function (workspace, time) that returns other sessions' changes after this time. Blocks: call it in a thread.

The time is in seconds since the epoch.
"""


class BranchReader(Protocol):
    """The part of a `Recorder` that is needed to plan a restore."""

    @property
    def state(self) -> SessionStateView: ...
    @property
    def branches(self) -> BranchesView: ...
    def commit_at(self, seq: int) -> str: ...
    def records_after(self, seq: int) -> Iterable[Record]: ...


async def make_restore_plan(
    recorder: BranchReader,
    store: Checkpoints,
    source: str,
    to_seq: int,
    read_others: ReadOtherChanges | None,
    *,
    overwrite: tuple[str, ...] = (),
    kept_changes: tuple[tuple[str, str], ...] = (),
    stopped_calls: Collection[CallId] = (),
    listed_paths: Collection[str] | None = None,
) -> RestorePlan:
    """Plan a restore to the checkpoint `source` at the event `to_seq`.

    Files that somebody else may have changed get a conflict.

    - `overwrite`: files that are restored in spite of a conflict.
    - `kept_changes`: later file changes that the user kept, each as (commit before, commit after).
    - `stopped_calls`: calls whose background jobs were stopped for this restore.
    - `listed_paths`: the files with uncertain conflicts in the preview that the user saw (None: there was no preview). A
      file that a call in `stopped_calls` may have changed gets no new uncertain conflict if it is not in this list: the
      job changed it after the preview.
    """
    reverted = await find_reverted_paths(recorder, to_seq)
    moves = recorder.branches.moves
    after = last_shared(stretches(moves, recorder.state.seq), stretches(moves, to_seq))
    kept_changes += await to_thread.run_sync(
        lambda: find_earlier_changes(recorder.records_after(after), recorder.commit_at(after), to_seq)
    )
    plan = await store.plan_restore(source, (*overwrite, *reverted.restored_paths), kept_changes)
    shared = await to_thread.run_sync(
        lambda: find_shared_changes(recorder.records_after(after), recorder.state, read_others)
    )
    actions = []
    for action in plan.actions:
        if action.path in reverted.kept_paths and not action.conflict:
            action = replace(action, conflict=CHANGED_BY_OTHERS)
        elif not action.folder and (change := shared.find(action.path)) is not None:
            action = _with_reason(action, change, stopped_calls, listed_paths)
        actions.append(action)
    return replace(plan, actions=tuple(actions))


def _with_reason(
    action: RestoreAction,
    change: "SharedChange",
    stopped_calls: Collection[CallId],
    listed_paths: Collection[str] | None,
) -> RestoreAction:
    """Return a planned action with the conflict that `change` causes."""
    if change.is_contested:
        # The checkpoint counts the change as the user's already. Only the reason becomes more exact.
        return replace(action, conflict=change.reason) if action.conflict == CHANGED_BY_OTHERS else action
    is_job_file = (
        change.is_uncertain
        and change.call_id in stopped_calls
        and listed_paths is not None
        and action.path not in listed_paths
    )
    if action.conflict or is_job_file:
        return action
    return replace(action, conflict=change.reason, is_uncertain=change.is_uncertain)


def find_earlier_changes(records: Iterable[Record], commit: str, to_seq: int) -> tuple[tuple[str, str], ...]:
    """Return the changes in `records` by background jobs of earlier calls. Blocks: call it in a thread.

    Each item is a pair of commits, before and after the changes. An undo of `records` keeps these changes, because the
    calls that made them are not undone.

    - `commit`: the newest checkpoint before the records.
    - `to_seq`: target event of the undo. Changes that were made before this event but recorded after it are left out.
    """
    # A checkpoint for a call that is not in the records is from a background job of an earlier call.
    calls, pairs = set[CallId](), list[tuple[str, str]]()
    for record in records:
        match record.payload:
            case ToolCalled(call_id=call_id) | ToolFinished(call_id=call_id):
                calls.add(call_id)
            case CheckpointRestored(commit=after):
                commit = after
            case CheckpointTaken(commit=after) as taken:
                is_late = taken.as_of_seq is not None and taken.as_of_seq <= to_seq
                if taken.author == "command" and taken.call_id not in (None, *calls) and not is_late:
                    pairs.append((commit, after))
                commit = after
            case _:
                pass
    return tuple(pairs)


def plan_event(to_seq: int, plan: RestorePlan, running_jobs: tuple[str, ...] = ()) -> CheckpointPlanned:
    """Return the event that tells the user which files a restore would change.

    `running_jobs`: commands of the background jobs that the restore would stop.
    """
    # The user is asked about the files with a conflict, so they are listed first.
    own = sorted((action for action in plan.actions if not action.folder), key=lambda act: not act.conflict)
    unlisted = own[MAX_PATHS_IN_EVENT:]
    acts = tuple(
        PlannedFileChange(
            path=action.path,
            operation=action.kind,
            added=action.added,
            removed=action.removed,
            conflict=action.conflict,
            uncertain=action.is_uncertain,
        )
        for action in own[:MAX_PATHS_IN_EVENT]
    )
    return CheckpointPlanned(
        to_seq=to_seq,
        changes=acts,
        unlisted_count=len(unlisted),
        unlisted_conflict_count=sum(bool(action.conflict) for action in unlisted),
        folders=folder_changes(
            plan,
            [action.path for action in plan.actions if not action.conflict],
            [action.path for action in plan.actions if action.conflict],
        ),
        running_jobs=running_jobs,
    )


def folder_changes(
    plan: RestorePlan, restored_paths: Sequence[str], kept_paths: Sequence[str]
) -> tuple[FolderChange, ...]:
    """Return the generated folders of a plan, with the numbers of their restored and kept files."""
    folders = {action.path: action.folder for action in plan.actions if action.folder}
    removed_files = removed_paths(plan).intersection(restored_paths)
    restored_counts, removed_counts, kept_counts = (
        Counter(folders[path] for path in paths if path in folders)
        for paths in (restored_paths, removed_files, kept_paths)
    )
    return tuple(
        FolderChange(
            path=folder,
            files=restored_counts[folder],
            removed=removed_counts[folder],
            conflicts=kept_counts[folder],
        )
        for folder in sorted(restored_counts | kept_counts)[:MAX_PATHS_IN_EVENT]
    )


def expand_overwrite(overwrite: Sequence[str], plan: RestorePlan) -> tuple[str, ...]:
    """Return `overwrite`, with each folder replaced by its files in the plan.

    A path that ends with `/` is a folder; `/` alone means all files.
    """
    folders = {path for path in overwrite if path.endswith("/")}
    files = (action.path for action in plan.actions if action.folder in folders or "/" in folders)
    return (*(path for path in overwrite if path not in folders), *files)


def removed_paths(plan: RestorePlan) -> set[str]:
    return {action.path for action in plan.actions if action.kind == "remove"}


def generated_paths(plan: RestorePlan) -> set[str]:
    return {action.path for action in plan.actions if action.folder}


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A file that changed while a command ran.

    - `reason`: says who may have changed the file.
    - `is_uncertain`: True if only the time of the change points to somebody else.
    - `is_contested`: True if the checkpoint names both the user and a background job as possible authors.
    - `call_id`: the call that ran the command; None if a job of an earlier turn may have changed the file too.
    """

    reason: str
    is_uncertain: bool
    is_contested: bool
    call_id: CallId | None


@dataclass(slots=True)
class SharedChanges:
    """The files that somebody else may have changed while a command ran.

    - `by_path`: maps such a file to its change.
    - `recorded_paths`: all files with a recorded change. A checkpoint records only the first `MAX_PATHS_IN_EVENT`.
    - `unlisted`: the change of each file that is not in `recorded_paths`. None if nobody else may have changed the
      unlisted files.
    """

    by_path: dict[str, SharedChange] = field(default_factory=dict)
    recorded_paths: set[str] = field(default_factory=set)
    unlisted: SharedChange | None = None

    def find(self, path: str) -> SharedChange | None:
        """Return the shared change of a file; None if nobody else may have changed the file."""
        return self.by_path.get(path) if path in self.recorded_paths else self.unlisted


@dataclass(slots=True)
class _CommandRun:
    """A command that a call ran, in the foreground or as a background job.

    - `contested`: changes that the user or the command's job made.
    - `has_unlisted`: True if the command changed more files than a checkpoint records.
    - `earlier_jobs`: jobs of calls that are not undone. They were started before this command and ran at the same time.
    """

    call_id: CallId
    command: str
    started: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    changes: list[FileChanged] = field(default_factory=list)
    contested: list[FileChanged] = field(default_factory=list)
    has_unlisted: bool = False
    earlier_jobs: list[JobId] = field(default_factory=list)

    def describe_doubt(self) -> SharedChange | None:
        """Return the shared change of a file if only the time of its change points to somebody else.

        None if no other job ran during the command and the command was short.
        """
        if self.earlier_jobs:
            reason = f"changed while `{self.command}` and {list_first(self.earlier_jobs, 1)} of an earlier turn ran"
            return SharedChange(reason, True, False, None)
        if self.seconds > LONG_COMMAND_S:
            reason = f"changed while `{self.command}` ran ({format_duration(self.seconds)})"
            return SharedChange(reason, True, False, self.call_id)
        return None


def find_shared_changes(
    records: Iterable[Record], state: SessionStateView, read_others: ReadOtherChanges | None
) -> SharedChanges:
    """Return the files that somebody else may have changed while a command ran. Blocks: call it in a thread.

    `records`: the undone part of the branch. `state`: the session's state at the end of this part.
    """
    records = list(records)
    runs, edited = _read_runs(records, state.jobs)
    runs = [run for run in runs if run.changes or run.contested]
    others: dict[str, list[OtherChange]] = {}
    if runs and read_others is not None:
        for other in read_others(state.workspace, min(run.started for run in runs)):
            others.setdefault(other.change.path, []).append(other)
    shared = SharedChanges(recorded_paths=set(edited))
    by_path = shared.by_path
    for path, session in _find_other_sessions(records).items():
        shared.recorded_paths.add(path)
        by_path[path] = SharedChange(f"changed by the session “{session}”", False, True, None)
    for run in runs:
        shared.recorded_paths.update(change.path for change in (*run.changes, *run.contested))
        doubt = run.describe_doubt()
        if run.has_unlisted and doubt is not None:
            shared.unlisted = doubt
        for change in run.changes:
            reason = _other_session(run, change, others.get(change.path, ()))
            if reason:
                by_path[change.path] = SharedChange(reason, False, False, run.call_id)
            # An edit tool knows exactly what it changed, so its files leave no doubt.
            elif doubt is not None and change.path not in edited:
                by_path.setdefault(change.path, doubt)
        for change in run.contested:
            reason = (
                _other_session(run, change, others.get(change.path, ()))
                or f"changed by {UNNAMED_AUTHOR}, or by `{run.command}`"
            )
            by_path[change.path] = SharedChange(reason, False, True, run.call_id)
    return shared


def _read_runs(
    records: Iterable[Record], running_jobs: Iterable[JobStarted]
) -> tuple[list[_CommandRun], set[str]]:
    """Return the commands with their file changes, and the files changed by edit tools.

    `running_jobs`: jobs that still run at the end of the records.
    """
    runs: dict[str, _CommandRun] = {}
    jobs: dict[JobId, _CommandRun] = {}
    earlier_jobs: dict[JobId, float] = {job.job_id: math.inf for job in running_jobs}
    """Ends of the jobs that were started before the records."""
    edited: set[str] = set()
    last_time = 0.0
    for record in records:
        last_time = record.time
        match record.payload:
            case ToolCalled(call_id=call_id, target=target):
                runs[call_id] = _CommandRun(call_id, clip_line(target, MAX_COMMAND_CHARS))
            case ToolStarted(call_id=call_id) if call_id in runs:
                runs[call_id].started = record.time
            case ToolFinished(call_id=call_id) as end if call_id in runs:
                runs[call_id].ended, runs[call_id].seconds = record.time, (end.duration_ms or 0.0) / 1000
            case JobStarted(job_id=job_id, call_id=call_id) if call_id in runs:
                earlier_jobs.pop(job_id, None)  # it still runs, but was not started earlier
                jobs[job_id] = runs[call_id]
            case JobFinished(job_id=job_id) if job_id in jobs:
                _set_end(jobs.pop(job_id), record.time)
            case JobFinished(job_id=job_id):
                earlier_jobs[job_id] = record.time
            case FileChanged(author="agent", path=path):
                edited.add(path)
            case FileChanged(author="command", call_id=call_id) as change if call_id in runs:
                runs[call_id].changes.append(change)
            case FileChanged(author="human", call_id=call_id) as change if call_id in runs:
                runs[call_id].contested.append(change)
            case CheckpointTaken(author="command", call_id=call_id) as taken if call_id in runs:
                runs[call_id].has_unlisted |= taken.unlisted_count > 0
    for run in jobs.values():  # still running
        _set_end(run, last_time)
    for run in runs.values():
        run.earlier_jobs = [job_id for job_id, end in earlier_jobs.items() if end >= run.started]
    return list(runs.values()), edited


def _find_other_sessions(records: Iterable[Record]) -> dict[str, str]:
    """Return the files that another session changed and the user did not, with this session's title."""
    sessions: dict[str, str] = {}
    for record in records:
        match record.payload:
            case FileChanged(author="human", original_author=None) as change:
                is_users = sessions.get(change.path) == ""
                sessions[change.path] = "" if is_users else change.other_session
    return {path: session for path, session in sessions.items() if session}


def _set_end(run: _CommandRun, time: float) -> None:
    run.ended, run.seconds = time, time - run.started


def _other_session(run: _CommandRun, change: FileChanged, others: Iterable[OtherChange]) -> str:
    """Return a reason if another session changed the file during the command; otherwise an empty string."""
    for other in others:
        if other.change.author == "agent" and run.started <= other.time <= run.ended:
            return f"changed by the session “{other.session}”"
        # Both sessions work in this folder and noticed the same change, but at most one of the commands made it.
        if other.change.author == "command" and _contents(other.change) == _contents(change):
            return f"changed while a command of the session “{other.session}” also ran"
    return ""


def _contents(change: FileChanged) -> tuple[str | None, str | None]:
    return change.disk_sha256_before, change.disk_sha256_after


@dataclass(frozen=True, slots=True)
class RevertedPaths:
    """Files with hunks that the user reverted after the target event of an undo.

    - `kept_paths`: files in which the undo would bring a reverted hunk back. The user is asked first.
    - `restored_paths`: files in which the undo reverses only the user's own revert. The user is not asked.
    """

    kept_paths: frozenset[str] = frozenset()
    restored_paths: tuple[str, ...] = ()


async def find_reverted_paths(recorder: BranchReader, to_seq: int) -> RevertedPaths:
    """Return the files with hunks reverted on the current branch after the event `to_seq`."""
    moves = recorder.branches.moves
    current, target = stretches(moves, recorder.state.seq), stretches(moves, to_seq)
    if not any(
        move.reason == "hunk" and is_on_branch(move.seq, current) and not is_on_branch(move.seq, target)
        for move in moves
    ):
        return RevertedPaths()
    after = last_shared(current, target)
    return await to_thread.run_sync(lambda: _sort_paths(recorder.records_after(after), to_seq))


def _sort_paths(records: Iterable[Record], to_seq: int) -> RevertedPaths:
    changed_versions: set[tuple[str, str | None]] = set()
    kept_paths, restored_paths = set[str](), dict[str, None]()
    for record in records:
        match record.payload:
            case FileChanged(path=path, before=before, author="agent" | "command"):
                changed_versions.add((path, before))
            case SessionHeadMoved(from_seq=from_seq, reason="hunk", hunk=hunk) if hunk:
                if from_seq == to_seq:
                    restored_paths[hunk.path] = None
                elif (hunk.path, hunk.before) not in changed_versions:
                    kept_paths.add(hunk.path)
    return RevertedPaths(frozenset(kept_paths), tuple(restored_paths))
