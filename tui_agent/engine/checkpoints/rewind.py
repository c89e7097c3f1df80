"""Undo, redo and revert of the conversation, the files, or both.

Invariant: nothing is deleted, and every move can be undone.
"""

from collections.abc import Sequence
from dataclasses import replace

import anyio
from anyio import to_thread

from tui_agent.engine.checkpoints.attribution import file_changed_event
from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointRecorder
from tui_agent.engine.checkpoints.hunk_revert import content_without, trace_change
from tui_agent.engine.checkpoints.irreversible_effects import (
    NO_EFFECTS,
    IrreversibleEffects,
    find_irreversible_effects,
)
from tui_agent.engine.checkpoints.revert_plan import (
    NO_CHECKPOINT,
    expand_overwrite,
    folder_changes,
    generated_paths,
    make_restore_plan,
    plan_event,
    removed_paths,
)
from tui_agent.engine.checkpoints.rewind_events import (
    CallEvents,
    FileRecords,
    count_kept_folders,
    describe_reverted_call,
    find_kept_changes,
    find_remaining_changes,
    find_reverted_calls,
    read_call_events,
    read_file_records,
    read_job_ends,
    read_version,
)
from tui_agent.engine.components import EngineParts
from tui_agent.engine.interruption_cleanup import TURN_ENDED_FIRST, close_calls, close_requests
from tui_agent.engine.setting_commands import record_setting, revoke_other_rules
from tui_agent.engine.tools.jobs import JobManager
from tui_agent.errors import UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Reason, is_on_branch, last_shared, stretches
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.checkpoint import CHANGED_BY_OTHERS, Checkpoints, RestorePlan, RestoreResult
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, RevertHunk, Undo
from tui_agent.protocol.envelope import known_events
from tui_agent.protocol.events.files import (
    MAX_PATHS_IN_EVENT,
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoreStarted,
    CheckpointTaken,
    FolderChange,
)
from tui_agent.protocol.events.job import JobStarted
from tui_agent.protocol.events.session import (
    ErrorRaised,
    RevertedHunk,
    SessionHeadMoved,
    SessionTitled,
    WorkspaceMoved,
)
from tui_agent.protocol.events.turn import (
    TurnFinished,
    UserQueued,
    UserShellFinished,
    UserShellStarted,
    UserUnqueued,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.settings import SessionSettings

MAX_BLOCKED_NAMED = 8
"""Maximum number of errors recorded about files that cannot be restored."""
MAKE_ROOM_HINT = (
    "Move the file or folder that is in the way, then repeat the command. All other files are restored."
)


@dataclass(frozen=True, slots=True)
class Target:
    """The event that an undo, a redo or a revert moves to.

    - `checkpoint`: commit with the files as they were at that event (empty: none).
    - `kept_changes`: later file changes that the user kept, each as (commit before, commit after).
    """

    to_seq: int
    reason: Reason
    conversation: bool
    files: bool
    checkpoint: str
    overwrite: tuple[str, ...]
    kept_changes: tuple[tuple[str, str], ...] = ()


class Rewind:
    """Runs the commands `Revert`, `RevertHunk`, `Undo` and `Redo`, while no turn runs."""

    def __init__(self, parts: EngineParts, checkpointing: CheckpointRecorder, jobs: JobManager) -> None:
        self._recorder = parts.recorder
        self._blobs = parts.blobs
        self._checkpointing = checkpointing
        self._jobs = jobs
        self._preview: tuple[int, frozenset[str]] | None = None
        """Target event of the newest preview (`plan`) of a revert, and its uncertain files."""
        self._find_changes_by_others = parts.find_changes_by_others

    async def run(self, command: Revert | Undo | Redo) -> None:
        """Undo, redo or revert.

        Raise `UsageError` or `CheckpointError`, without any change, if this is impossible.
        """
        target, previous_commit = self._target(command), self._recorder.state.commit
        if target.conversation:
            await self._recorder.fold_branch_at(target.to_seq)
        close_calls(self._recorder, why=TURN_ENDED_FIRST)
        shared = self._last_shared(target.to_seq)
        stopped = await self._stop_jobs(shared)
        preview, self._preview = self._preview, None
        restored, start = None, self._recorder.state.seq
        store = self._checkpointing.store if target.files and target.checkpoint else None
        if store is not None:
            await self._checkpointing.checkpoint_workspace()
            start = self._recorder.state.seq
            plan = await make_restore_plan(
                self._recorder,
                store,
                target.checkpoint,
                target.to_seq,
                self._find_changes_by_others,
                overwrite=tuple(path for path in target.overwrite if not path.endswith("/")),
                kept_changes=target.kept_changes,
                stopped_calls=frozenset(job.call_id for job in stopped),
                listed_paths=preview[1] if preview is not None and preview[0] == target.to_seq else None,
            )
            restored = await self._restore(store, target, plan)
        old_branch = await self._file_records(shared) if target.conversation else None
        own_commands = await self._find_own_commands() if target.reason == "redo" else []
        if target.conversation:
            effects = await self._find_irreversible_effects(target, shared)
            later = await to_thread.run_sync(read_call_events, self._recorder, shared)
            job_ends = await to_thread.run_sync(read_job_ends, self._recorder, shared)
            files, from_seq = restored is not None, self._recorder.state.seq
            self._move(target, files=files, from_seq=from_seq, effects=effects, later=later, jobs=stopped)
            for job in self._recorder.state.jobs:  # started on both branches, but ended only on the old one
                if job.job_id in job_ends:
                    self._recorder.append(job_ends[job.job_id])
        elif restored is not None and restored[1].paths:
            await self._move_past_file_changes(
                replace(target, reason="files"), *restored, from_seq=start, jobs=stopped
            )
        folders: tuple[FolderChange, ...] = ()
        if old_branch is not None and store is None:
            folders = await self._record_kept_changes(old_branch, shared)
        elif old_branch is not None and store is not None:
            result = None if restored is None else restored[1]
            await self._record_remaining_changes(store, old_branch, shared, result, target.checkpoint)
        # Only after these changes, because the restore's commit contains them: a fork can start right after it.
        if restored is not None:
            self._record_restored(target, *restored)
        for event in own_commands:
            self._recorder.append(event)
        self._record_checkpoint(previous_commit, folders)
        await self._recorder.commit()

    def _last_shared(self, to_seq: int) -> int:
        """Return the last event that the current branch shares with the branch at the event `to_seq`."""
        moves = self._recorder.branches.moves
        return last_shared(stretches(moves, self._recorder.state.seq), stretches(moves, to_seq))

    async def _find_undone_jobs(self, shared: int) -> tuple[JobStarted, ...]:
        """Return the running background jobs that were started after the event `shared`."""
        running = self._recorder.state.jobs
        if not running:
            return ()
        records = await to_thread.run_sync(lambda: list(self._recorder.records_after(shared)))
        started = {record.payload.job_id for record in records if isinstance(record.payload, JobStarted)}
        return tuple(job for job in running if job.job_id in started)

    async def _stop_jobs(self, shared: int) -> tuple[JobStarted, ...]:
        """Stop the running background jobs that were started after the event `shared`, and return them.

        The ends and the file changes of these jobs are recorded before the move, so the new branch lacks these records.
        """
        jobs = await self._find_undone_jobs(shared)
        if jobs:
            await self._jobs.stop_undone([job.job_id for job in jobs])
            await self._checkpointing.checkpoint_jobs()
        return jobs

    async def _find_own_commands(self) -> list[Payload]:
        """Return the events of the user's `!` commands that were run after the undo that a redo would reverse."""
        move = self._recorder.branches.undone_move
        if move is None:
            return []
        own, records_after = (UserShellStarted, UserShellFinished), self._recorder.records_after
        return await to_thread.run_sync(
            lambda: [
                event.payload
                for event in known_events(records_after(move.seq))
                if isinstance(event.payload, own)
            ]
        )

    async def _find_irreversible_effects(self, target: Target, shared: int) -> IrreversibleEffects:
        if not target.files or target.reason not in ("undo", "revert"):
            return NO_EFFECTS
        return await to_thread.run_sync(find_irreversible_effects, self._recorder, self._blobs, shared)

    async def _record_remaining_changes(
        self,
        store: Checkpoints,
        old_branch: FileRecords,
        shared: int,
        restored: RestoreResult | None,
        source: str,
    ) -> None:
        new_branch = await self._file_records(shared)
        for change in await find_remaining_changes(
            store, self._blobs, old_branch, new_branch, restored, source
        ):
            self._recorder.append(change)

    async def _record_kept_changes(self, old_branch: FileRecords, shared: int) -> tuple[FolderChange, ...]:
        """Record the remaining file changes on the new branch, and return the changes in generated folders."""
        new_branch = await self._file_records(shared)
        for change in await to_thread.run_sync(find_kept_changes, self._blobs, old_branch, new_branch):
            self._recorder.append(change)
        return count_kept_folders(old_branch, new_branch)

    async def _file_records(self, after: int) -> FileRecords:
        return await to_thread.run_sync(lambda: read_file_records(self._recorder.records_after(after)))

    async def revert_hunk(self, command: RevertHunk) -> None:
        """Revert one hunk of a file.

        Raise `UsageError` or `CheckpointError`, without any change, if this is impossible.
        """
        store, recorder = self._checkpointing.store, self._recorder
        if store is None:
            raise UsageError(f"{command.path} cannot be reverted: {self._checkpointing.unavailable_reason}")
        lines = await to_thread.run_sync(trace_change, self._blobs, command)
        close_calls(recorder, why=TURN_ENDED_FIRST)
        await self._checkpointing.checkpoint_workspace()
        previous_commit = recorder.state.commit
        current = await read_version(store, store.head, command.path)
        content = await to_thread.run_sync(content_without, command, lines, current)
        commit = await store.save_version(command.path, content)
        start = recorder.state.seq
        target = Target(start, "hunk", True, True, commit, ())
        outcome = await self._restore(store, target, await store.plan_restore(commit, (command.path,)))
        if outcome is None or outcome[1].paths != (command.path,):
            raise UsageError(f"{command.path} changed in the meantime.", hint="Nothing was reverted.")
        reverted = RevertedHunk.model_validate(command, from_attributes=True)
        await self._move_past_file_changes(target, *outcome, from_seq=start, hunk=reverted)
        self._record_restored(target, *outcome)
        self._record_checkpoint(previous_commit)
        await recorder.commit()

    async def _move_past_file_changes(
        self,
        target: Target,
        plan: RestorePlan,
        restored: RestoreResult,
        *,
        from_seq: int,
        hunk: RevertedHunk | None = None,
        jobs: Sequence[JobStarted] = (),
    ) -> None:
        """Record that files were restored and that the conversation did not change.

        `from_seq`: the newest event before the files were restored. A later redo goes back to it.
        """
        recorder, generated = self._recorder, generated_paths(plan)
        for file in restored.files:
            if file.path not in generated:
                recorder.append(file_changed_event(self._blobs, file, "human", None))
        target = replace(target, to_seq=recorder.state.seq)
        with anyio.CancelScope(shield=True):  # the files are restored already
            await recorder.fold_branch_at(target.to_seq)
        self._move(target, files=True, from_seq=from_seq, hunk=hunk, jobs=jobs)

    async def plan(self, command: PlanRevert) -> None:
        """Record which files a revert to `command.to_seq` would change, without changing them."""
        store, source = self._checkpointing.store, self._recorder.commit_at(command.to_seq)
        jobs = await self._find_undone_jobs(self._last_shared(command.to_seq))
        commands = tuple(job.command for job in jobs)
        if store is None or not source:
            why = self._checkpointing.unavailable_reason or NO_CHECKPOINT
            planned = CheckpointPlanned(to_seq=command.to_seq, unavailable=why, running_jobs=commands)
            self._recorder.append(planned)
            return
        await self._checkpointing.begin()
        await self._checkpointing.checkpoint_jobs()
        plan = await make_restore_plan(
            self._recorder, store, source, command.to_seq, self._find_changes_by_others
        )
        planned = plan_event(command.to_seq, plan, commands)
        # Also those that the event does not list: the undo keeps them.
        uncertain_paths = frozenset(action.path for action in plan.actions if action.is_uncertain)
        self._preview = (command.to_seq, uncertain_paths)
        self._recorder.append(planned)

    def _target(self, command: Revert | Undo | Redo) -> Target:
        known = self._recorder.branches
        match command:
            case Revert():
                to_seq, reason = command.to_seq, self._reason(command.to_seq)
                conversation, files = command.conversation, command.files
            case Undo(turn=turn):
                if known.undo_to is None:
                    raise UsageError("Nothing to undo.", hint="Send a message first.")
                start = known.undo_to if turn is None else known.find_turn_start(turn)
                if start is None:
                    raise UsageError(f"There is no turn {turn} to undo.")
                to_seq, conversation, files = start, True, True
                reason = "undo" if start == known.undo_to else self._reason(start)
            case Redo():
                if known.redo_to is None:
                    raise UsageError("Nothing to redo.", hint="/undo undoes the last turn.")
                if not self._recorder.has_event(known.redo_to):
                    raise UsageError(
                        "Nothing to redo in this session.",
                        hint="What you undid before the fork is in the parent session.",
                    )
                to_seq, reason, conversation, files = known.redo_to, "redo", True, True
        last = self._recorder.state.seq
        if not 0 <= to_seq <= last:
            raise UsageError(f"There is no event {to_seq}.", hint=f"The newest event is {last}.")
        if not isinstance(command, Redo) and not self._recorder.has_event(to_seq):
            raise UsageError(
                f"There is no event {to_seq} in this session.",
                hint="A fork lacks some events of its parent; `sessions tree` shows where the fork began.",
            )
        if not conversation and not files:
            raise UsageError("Nothing to revert: choose the conversation, the files, or both.")
        checkpoint = self._recorder.commit_at(to_seq)
        kept_changes = self._recorder.kept_changes(to_seq) if isinstance(command, Undo) else ()
        return Target(to_seq, reason, conversation, files, checkpoint, command.overwrite, kept_changes)

    def _reason(self, to_seq: int) -> Reason:
        current = stretches(self._recorder.branches.moves, self._recorder.state.seq)
        return "revert" if is_on_branch(to_seq, current) else "branch"

    async def _restore(
        self, store: Checkpoints, target: Target, plan: RestorePlan
    ) -> tuple[RestorePlan, RestoreResult] | None:
        if not plan.actions:
            return None
        # Generated files come last, because the event lists only the first paths.
        paths = [action.path for action in sorted(plan.actions, key=lambda action: bool(action.folder))]
        self._recorder.append(
            CheckpointRestoreStarted(
                source=target.checkpoint,
                to_seq=target.to_seq,
                paths=tuple(paths[:MAX_PATHS_IN_EVENT]),
                unlisted_count=max(0, len(paths) - MAX_PATHS_IN_EVENT),
            )
        )
        await self._recorder.commit()  # first, so that the log shows the restore even after a crash in it
        return plan, await store.restore(plan, expand_overwrite(target.overwrite, plan))

    def _move(
        self,
        target: Target,
        *,
        files: bool,
        from_seq: int,
        hunk: RevertedHunk | None = None,
        effects: IrreversibleEffects = NO_EFFECTS,
        later: CallEvents = (),
        jobs: Sequence[JobStarted] = (),
    ) -> None:
        """Record the move, and end the turn, the calls and the requests that were unfinished at the target event.

        `later`: the events of calls after the target. `jobs`: the background jobs that were stopped before the move.
        """
        recorder = self._recorder
        before, is_redo = recorder.state, target.reason == "redo"
        recorder.append(
            SessionHeadMoved(
                to_seq=target.to_seq,
                from_seq=from_seq,
                reason=target.reason,
                redone=recorder.branches.redo_reason if is_redo else None,
                restored_turns=recorder.count_restored_turns(target.to_seq) if is_redo else 0,
                files=files,
                parts=before.parts,
                turn=before.turn,
                iteration=before.iteration,
                agents=before.delegate_count,
                jobs=before.job_count,
                used=before.used,
                run_id=before.run_id,
                hunk=hunk,
                kept_commits=effects.commits,
                kept_stashes=effects.stashes,
                outside_paths=effects.outside_paths,
                deleted_paths=effects.deleted_paths,
                stopped_jobs=tuple(job.command for job in jobs),
            )
        )
        message = describe_reverted_call(files=files, commits=effects.commits)
        ran = dict.fromkeys(find_reverted_calls(recorder.state.open_calls, later), message)
        close_calls(recorder, why="the session was reverted to this point", ran=ran)
        close_requests(recorder, {})
        if recorder.state.turn_running:
            recorder.append(
                TurnFinished(
                    turn=recorder.state.turn,
                    reason="interrupted",
                    detail="The session was reverted to the middle of this turn.",
                    duration_ms=0.0,
                )
            )
        self._keep_queue(before.queue)
        self._keep_settings(before)

    def _keep_queue(self, waiting: Sequence[UserQueued]) -> None:
        """Record the user's waiting messages again on the new branch, so that the queue stays as it is."""
        waiting_ids = {message.queue_id for message in waiting}
        reverted_ids = {message.queue_id for message in self._recorder.state.queue}
        for queue_id in sorted(reverted_ids - waiting_ids):
            self._recorder.append(UserUnqueued(queue_id=queue_id))
        for message in waiting:
            if message.queue_id not in reverted_ids:
                self._recorder.append(message.model_copy(update={"place": None}))

    def _keep_settings(self, before: SessionStateView) -> None:
        """Record the current workspace, title and settings on the new branch, and revoke rules not granted `before`."""
        recorder = self._recorder
        if before.workspace != recorder.state.workspace:
            recorder.append(WorkspaceMoved(workspace=before.workspace, previous=recorder.state.workspace))
        revoke_other_rules(recorder, before.granted_rules)
        title = before if before.titled_by == "user" else recorder.state
        if title.title and before.title != recorder.state.title:
            # Also an earlier title is recorded again, because lists of sessions show the newest title in the log.
            recorder.append(SessionTitled(title=title.title, titled_by=title.titled_by or "user"))
        present, reverted = before.settings, recorder.state.settings
        if present is None or reverted is None:
            return
        for key in SessionSettings.model_fields:
            if getattr(present, key) != getattr(reverted, key):
                record_setting(recorder, key, reverted, present, changed_by="engine")

    def _record_restored(self, target: Target, plan: RestorePlan, restored: RestoreResult) -> None:
        recorder, generated = self._recorder, generated_paths(plan)
        removed = removed_paths(plan)
        own_paths = [path for path in restored.paths if path not in generated]
        paths = sorted(own_paths, key=lambda path: path in removed)  # Messages name the first paths.
        kept_paths = tuple(path for path in restored.kept_paths if path not in restored.blocked)
        own_kept_paths = tuple(path for path in kept_paths if path not in generated)
        reasons = {
            action.path: action.conflict for action in plan.actions if action.conflict != CHANGED_BY_OTHERS
        }
        recorder.append(
            CheckpointRestored(
                source=target.checkpoint,
                commit=restored.commit,
                paths=tuple(paths[:MAX_PATHS_IN_EVENT]),
                unlisted_count=max(0, len(paths) - MAX_PATHS_IN_EVENT),
                removed_count=len(removed.intersection(paths)),
                skipped_paths=own_kept_paths[:MAX_PATHS_IN_EVENT],
                unlisted_skipped_count=max(0, len(own_kept_paths) - MAX_PATHS_IN_EVENT),
                folders=folder_changes(plan, restored.paths, kept_paths),
                skipped_reasons={
                    path: reasons[path] for path in own_kept_paths[:MAX_PATHS_IN_EVENT] if path in reasons
                },
            )
        )
        for path, why in list(restored.blocked.items())[:MAX_BLOCKED_NAMED]:
            message = f"{path} could not be restored: {why}."
            recorder.append(ErrorRaised(where="checkpoints", message=message, hint=MAKE_ROOM_HINT))

    def _record_checkpoint(self, previous_commit: str, folders: tuple[FolderChange, ...] = ()) -> None:
        """Record the newest checkpoint again on the new branch.

        `previous_commit`: newest commit before the move, used if the store is not open yet.
        """
        recorder, store = self._recorder, self._checkpointing.store
        commit = "" if store is None else store.head or previous_commit
        if commit and commit != recorder.state.commit:
            recorder.append(
                CheckpointTaken(
                    part=recorder.state.parts - 1,
                    commit=commit,
                    author="human",
                    folders=folders,
                    original_author="agent" if folders else None,
                )
            )
