"""Checkpoints before and after everything that changes files, with the author of each change.

Invariant: before a call that can change files, a checkpoint saves the changes of the user and of other programs.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

from tui_agent.engine.checkpoints.attribution import (
    JobChanges,
    UncheckpointedChanges,
    attribute_changes,
    file_changed_event,
    matches_recorded,
    note_changes_by_others,
    uncheckpointed_by_earlier_runs,
)
from tui_agent.engine.checkpoints.revert_plan import ReadOtherChanges
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import CheckpointError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.checkpoint import Baseline, Checkpoints, WorkspaceChanges
from tui_agent.ports.clock import Clock
from tui_agent.ports.log import Blobs
from tui_agent.protocol.events.files import MAX_PATHS_IN_EVENT, Author, CheckpointTaken
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId

ResultT = TypeVar("ResultT")

CLOSE_TIMEOUT_S = 5.0
"""Maximum time to wait for the checkpoint of a stopped turn, in seconds."""
FINAL_MAINTENANCE_S = 10.0
"""Maximum time for maintenance at the end of an unattended session, in seconds."""
RETRY_FACTOR = 10.0
"""After a failed attempt to open the checkpoint store, wait this many times as long as the attempt took."""


IDLE_DELAY_S = 2.0
"""Idle time of a session before maintenance of the checkpoint store starts, in seconds."""


class CheckpointMaintenance:
    """Runs `Checkpoints.run_maintenance` while the session is idle."""

    def __init__(
        self,
        store: Checkpoints,
        guard: anyio.Lock,
        clock: Clock,
        on_fault: Callable[[CheckpointError], None],
    ) -> None:
        self._store = store
        self._guard = guard
        self._clock = clock
        self._on_fault = on_fault
        self._is_idle = False
        self._idle_changed = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def start_when_idle(self) -> None:
        """Let `run` start maintenance in `IDLE_DELAY_S` seconds, unless `stop` is called earlier."""
        self._is_idle = True
        self._idle_changed.set()

    def stop(self) -> None:
        """Stop maintenance."""
        self._is_idle = False
        if self._scope is not None:
            self._scope.cancel()

    async def run(self) -> None:
        """Run maintenance whenever the session is idle, until cancelled."""
        is_reported = False
        while True:
            while not self._is_idle:
                self._idle_changed = anyio.Event()
                await self._idle_changed.wait()
            self._is_idle = False
            with anyio.CancelScope() as self._scope:
                try:
                    await self._clock.sleep(IDLE_DELAY_S)
                    async with self._guard:
                        await self._store.run_maintenance()
                except CheckpointError as fault:
                    if not is_reported:
                        self._on_fault(fault)
                    is_reported = True
            self._scope = None


class CheckpointRecorder:
    """Takes the checkpoints of one session. Without a store, every method does nothing."""

    def __init__(
        self,
        recorder: Recorder,
        blobs: Blobs,
        store: Checkpoints | None,
        clock: Clock,
        read_others: ReadOtherChanges | None = None,
    ) -> None:
        """Create the recorder. `read_others`: returns the file changes by other sessions."""
        self._recorder = recorder
        self._note_others = partial(note_changes_by_others, read_others, recorder)
        self._compared_at = clock.now()
        """Time when the newest comparison of the whole workspace began, in seconds since the epoch."""
        self._blobs = blobs
        self._clock = clock
        self.unavailable_reason = (
            "This session takes no checkpoints." if store is None else store.unavailable_reason
        )
        """Reason why files cannot be restored, as a sentence."""
        self._must_report_refusal = store is not None and bool(self.unavailable_reason)
        self._store = None if self.unavailable_reason else store
        self._guard = anyio.Lock()
        self._is_open = False
        self._open_call: tuple[CallId, Author] | None = None
        self._named_paths: Sequence[str] = ()
        """The files that the running call names: they are compared even if git ignores them."""
        self._missed = UncheckpointedChanges()
        self._baseline: Baseline | None = None
        self._is_fault_reported = False
        self._retry_at = 0.0
        self._has_changes = False
        """True if there are checkpoints besides the baseline (the session's first checkpoint)."""
        self.turn_start: int | None = None
        """The last event before the running turn. None after the turn has prepared a call that can change files."""
        self._beginning: anyio.CancelScope | None = None
        self._is_closing = False
        self._upkeep = (
            None
            if self._store is None
            else CheckpointMaintenance(self._store, self._guard, clock, self.report_fault)
        )
        self._job_changes = JobChanges()
        self._is_idle = True
        """True if no turn, undo or command runs."""

    @property
    def store(self) -> Checkpoints | None:
        """The checkpoint store; None if no checkpoints can be taken."""
        return self._store

    @property
    def has_uncheckpointed_changes(self) -> bool:
        """True if calls made changes that no checkpoint contains yet."""
        return self._store is not None and self._missed != UncheckpointedChanges()

    def load_uncheckpointed(self) -> bool:
        """Load changes without a checkpoint from earlier runs. Return True if there are any.

        Call this before anything changes files.
        """
        self._missed = uncheckpointed_by_earlier_runs(self._recorder.state)
        self._has_changes = bool(self._recorder.state.commit)
        return self.has_uncheckpointed_changes

    async def begin(self) -> None:
        """Take the baseline: the first checkpoint of the session.

        Raise `CheckpointError` on failure.
        """
        async with self._guard:
            with anyio.CancelScope() as self._beginning:
                if not self._is_closing:
                    await self._open_store()
            self._beginning = None

    async def prepare_call(self, call_id: CallId, author: Author | None, paths: Iterable[str] = ()) -> None:
        """Prepare a call that can change files: take a checkpoint of changes by the user or other programs.

        `author`: author of the call's changes. None if the policy has proven that the call changes nothing.
        `paths`: files that the call names. Before and after the call, they are compared with the newest checkpoint
        even if git ignores them.
        """
        if self._store is None:
            if self._must_report_refusal:  # report once, before the first change
                hint = "Without checkpoints, /undo cannot restore files."
                self._recorder.append(
                    ErrorRaised(where="checkpoints", message=self.unavailable_reason, hint=hint)
                )
            self._must_report_refusal = False
            return
        async with self._guard:
            self._open_call = None if author is None else (call_id, author)
            self._named_paths = sorted(set(paths))
            # A store that cannot be opened must not delay every call, so the attempts are rare.
            if self._is_open or self._clock.monotonic() >= self._retry_at:
                with self._reporting_faults():
                    await self._checkpoint_others(self._named_paths)
            self.turn_start = None

    async def find_call_changes(
        self, paths: Iterable[str] | None, call_id: CallId | None = None
    ) -> WorkspaceChanges | None:
        """Return the running call's changes to the files at `paths`.

        If `paths` is None, return and record the changes to all files. The caller must then call `commit_changes`.

        `call_id`: the call to record as the cause of the changes (None: the running call).
        """
        if self._store is None or self._open_call is None:
            return None
        sorted_paths = None if paths is None else sorted(set(paths))
        prepared_id, author = self._open_call
        call_id = call_id or prepared_id
        self._open_call = (call_id, author)
        changes, now = None, self._clock.now()
        async with self._guard:
            with self._reporting_faults():
                if self._is_open:
                    changes = await self._use_store(
                        lambda store: store.find_changes(sorted_paths, extra_paths=self._named_paths)
                    )
            if changes is None:
                self._missed.add(author, sorted_paths)
        if changes is not None and sorted_paths is None:
            changes = await self._note_others(changes, author, self._compared_at)
            self._compared_at = now
            await self._record_changes(changes, author, call_id)
        return changes

    async def commit_changes(
        self, changes: WorkspaceChanges | None, part: int, *, goes_on: bool = False
    ) -> None:
        """Take a checkpoint if there are `changes`.

        `part`: index of the newest message part.
        `goes_on`: True if the call has not ended, so that later changes are attributed to this call too.
        """
        # A cancelled task still waits for the checkpoint, so that the changes are not attributed to a later call.
        call = self._open_call
        self._open_call = call if goes_on else None
        if call is not None and any(job.call_id == call[0] for job in self._recorder.state.jobs):
            self._job_changes.add_call(call[0], changes)
        if self._store is None or not changes or call is None:
            return
        call_id, author = call
        committed = False
        with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
            async with self._guard:
                with self._reporting_faults():
                    await self._commit(changes, part, author, call_id)
                    committed = True
        if not committed:
            self._missed.add(author, changes.paths)

    async def end_turn(self) -> None:
        """At the end of a turn, record the baseline if it is ready and not recorded yet.

        If a call was stopped, take a checkpoint of the call's changes instead.
        """
        if self._open_call is None:
            self._record_baseline()
        else:
            with anyio.move_on_after(CLOSE_TIMEOUT_S):
                changes = await self.find_call_changes(None)
                await self.commit_changes(changes, self._recorder.state.parts - 1)
        self._open_call = self.turn_start = None

    async def checkpoint_workspace(self, *, by_user: bool = False) -> None:
        """Take a checkpoint of changes by the user, background jobs or other programs.

        `by_user`: True if the changes are the user's even if a background job ran, because the user ran a command.

        Raise `CheckpointError` if the store fails.
        """
        if self._store is not None:
            async with self._guard:
                await self._checkpoint_others(by_user=by_user)

    async def checkpoint_jobs(self, *, if_idle: bool = False) -> None:
        """Take a checkpoint if background jobs may have changed files since the newest checkpoint.

        While a call runs, do nothing: all changes then count as the call's. Wait at most `CLOSE_TIMEOUT_S`.

        `if_idle`: True to do nothing while a turn, an undo or a command runs, because each of them takes its own
        checkpoints.
        """
        if self._upkeep is None or not self._job_changes.calls or (if_idle and not self._is_idle):
            return
        self._upkeep.stop()
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            async with self._guard:
                if self._open_call is None and self._job_changes.calls:
                    with self._reporting_faults():
                        await self._checkpoint_others()

    def report_fault(self, fault: CheckpointError) -> None:
        """Report a fault of the checkpoint store. Ignore further faults until checkpoints work again."""
        if not self._is_fault_reported:
            hint = f"{fault.hint} The session continues; changes are checkpointed as soon as the checkpoint store works again."
            self._recorder.append(ErrorRaised(where="checkpoints", message=fault.message, hint=hint.strip()))
        self._is_fault_reported = True

    def stop_maintenance(self) -> None:
        """Stop maintenance of the checkpoint store. Call this before running anything that can change files."""
        self._is_idle = False
        if self._upkeep is not None:
            self._upkeep.stop()

    def allow_maintenance(self) -> None:
        """Allow maintenance of the checkpoint store, when nothing runs any more."""
        self._is_idle = True
        if self._upkeep is not None and self._is_open:
            self._upkeep.start_when_idle()

    async def run_maintenance(self) -> None:
        """Run maintenance of the checkpoint store in the background until cancelled."""
        if self._upkeep is not None:
            await self._upkeep.run()

    async def aclose(self, *, unattended: bool = False) -> None:
        """Stop background work.

        `unattended`: True to run maintenance now, for up to `FINAL_MAINTENANCE_S`. In an unattended session,
        maintenance has not run before, because the session was never idle.
        """
        self.stop_maintenance()
        self._is_closing = True
        if self._beginning is not None:
            self._beginning.cancel()
        if self._store is None:
            return
        await self._store.aclose()
        if unattended and self._is_open and self._has_changes:
            with anyio.move_on_after(FINAL_MAINTENANCE_S), self._reporting_faults():
                # Stopped maintenance may still be ending, and would make this do nothing.
                async with self._guard:
                    await self._store.run_maintenance()

    # -- call only while holding the guard ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reporting_faults(self) -> Iterator[None]:
        try:
            yield
        except CheckpointError as fault:
            self.report_fault(fault)

    async def _open_store(self) -> None:
        if self._is_open or self._store is None:
            return
        known = self._recorder.state.commit
        started = self._clock.monotonic()
        try:
            baseline = await self._store.begin(known, unchanged=self._missed == UncheckpointedChanges())
        except CheckpointError:
            failed_at = self._clock.monotonic()
            self._retry_at = failed_at + RETRY_FACTOR * (failed_at - started)
            raise
        finally:
            for notice in self._store.take_notices():
                self._recorder.append(ErrorRaised(where="checkpoints", message=notice))
        self._is_open, self._baseline = True, baseline
        if baseline is not None:
            self._missed, self._is_fault_reported = UncheckpointedChanges(), False
        if known:
            self._record_baseline()
        if self._missed != UncheckpointedChanges():
            await self._commit_others()

    def _record_baseline(self) -> None:
        """Record the baseline, if it is ready and not recorded yet."""
        # If it were recorded as soon as it is ready, its position in the log would depend on timing.
        baseline, self._baseline = self._baseline, None
        if baseline is not None:
            part = self._recorder.state.parts - 1 if self._recorder.state.commit else -1
            self._recorder.append(
                CheckpointTaken(
                    part=part,
                    commit=baseline.commit,
                    author="human",
                    skipped=baseline.skipped,
                    as_of_seq=self.turn_start,
                )
            )

    async def _checkpoint_others(self, also: Sequence[str] = (), *, by_user: bool = False) -> None:
        """Take a checkpoint of changes by the user, background jobs or other programs."""
        if self._is_open:
            # The store may have been deleted or damaged meanwhile. After an error, open it again and retry once.
            with contextlib.suppress(CheckpointError):
                await self._commit_others(also, by_user=by_user)
                return
        await self._open_store()
        await self._commit_others(also, by_user=by_user)

    async def _commit_others(self, also: Sequence[str] = (), *, by_user: bool = False) -> None:
        self._record_baseline()
        if self._missed != UncheckpointedChanges():
            await self._commit_missed()
        self._missed = UncheckpointedChanges()
        # Both are read before the comparison: what changes or ends during it belongs to the next comparison too.
        running_jobs, now = self._recorder.state.jobs, self._clock.now()
        changes = await self._use_store(lambda store: store.find_changes(extra_paths=also))
        if changes:
            author: Author = "human"
            call_id: CallId | None = None
            if not by_user:
                changes, author, call_id = self._job_changes.attribute(changes)
            changes = await self._note_others(changes, author, self._compared_at)
            await self._record_changes(changes, author, call_id)
            await self._commit(changes, self._recorder.state.parts - 1, author, call_id)
        self._job_changes.drop_ended(running_jobs)
        self._compared_at = now

    async def _commit_missed(self) -> None:
        """Take a checkpoint of calls' changes that no checkpoint contains yet."""
        missed, recorded = self._missed, self._recorder.state.uncheckpointed
        paths = None if missed.any_path else sorted(missed.paths)
        unattributed = await self._use_store(lambda store: store.find_changes(paths))
        if not unattributed:
            return
        changes, author, call_id = await self._use_store(
            lambda store: attribute_changes(store, unattributed, missed, recorded)
        )
        await self._record_changes(changes, author, None)
        await self._commit(changes, self._recorder.state.parts - 1, author, call_id)

    async def _commit(
        self, changes: WorkspaceChanges, part: int, author: Author, call_id: CallId | None
    ) -> None:
        message = f"{author}: part {part}" if part >= 0 else f"{author}: before the first part"
        commit = await self._use_store(
            lambda store: store.commit(changes, part=part, author=author, message=message)
        )
        self._has_changes, self._is_fault_reported = True, False
        self._recorder.append(
            CheckpointTaken(
                part=part,
                commit=commit,
                author=author,
                paths=changes.own_paths[:MAX_PATHS_IN_EVENT],
                unlisted_count=max(0, len(changes.own_paths) - MAX_PATHS_IN_EVENT),
                folders=changes.folders[:MAX_PATHS_IN_EVENT],
                skipped=changes.skipped,
                call_id=call_id,
                as_of_seq=self.turn_start,
            )
        )

    async def _use_store(self, act: Callable[[Checkpoints], Awaitable[ResultT]]) -> ResultT:
        """Call `act` with the checkpoint store and return the result of `act`.

        If `act` raises `CheckpointError`, mark the store as closed, so that the next use opens it again.
        """
        assert self._store is not None
        try:
            return await act(self._store)
        except CheckpointError:
            self._is_open = False
            raise

    async def _record_changes(
        self, changes: WorkspaceChanges, author: Author, call_id: CallId | None
    ) -> None:
        recorded, agent = self._recorder.state.uncheckpointed, _agent_of(self._recorder.state, call_id)
        for file in changes.files:
            known = recorded[file.path].change if file.path in recorded else None
            if known is not None and matches_recorded(known, file):
                continue
            # In doubt, the user is the author, so that an undo asks before it restores the file.
            file_author = "human" if file.path in changes.contested_paths else author
            make_event = partial(file_changed_event, self._blobs, file, file_author, call_id, known)
            event = await to_thread.run_sync(make_event)
            if file_author == "human":
                event = event.model_copy(update={"other_session": changes.other_sessions.get(file.path, "")})
            self._recorder.append(event, agent=agent)


def _agent_of(state: SessionStateView, call_id: CallId | None) -> AgentId:
    """Return the agent that made a running call."""
    return next((call.agent for call in state.open_calls if call.call_id == call_id), MAIN_AGENT)
