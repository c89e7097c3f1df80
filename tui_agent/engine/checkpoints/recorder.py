"""Checkpoints around whatever changes files: who changed what, kept after the part that did it.

Invariant: before a call that can change files runs, everything that others changed until then is in a checkpoint of
theirs; after it, what differs is the call's. A store of checkpoints that fails is told once, costs no turn, and is
tried again; what it missed is kept then.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

from tui_agent.engine.checkpoints.attribution import Missed, file_changed, holds, left_by_a_run, sort_out
from tui_agent.engine.checkpoints.maintenance import Upkeep
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import CheckpointError
from tui_agent.folds.session.view import SessionStateView
from tui_agent.ports.checkpoint import Baseline, Changes, Checkpoints
from tui_agent.ports.clock import Clock
from tui_agent.ports.log import Blobs
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.files import PATHS_NAMED, Author, CheckpointTaken
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId

ResultT = TypeVar("ResultT")

CLOSING_S = 5.0
"""Seconds that looking at the files may take when a turn was stopped."""
LEAVING_S = 10.0
"""Seconds that upkeep may take when a session ends that nobody attends. What it does not finish it begins again."""
PATIENCE = 10.0
"""Within a turn a store that failed is tried again after this many times what the failure took."""


class Checkpointing:
    """One session's checkpoints, taken as the engine runs. Without a store every call does nothing."""

    def __init__(
        self,
        recorder: Recorder,
        blobs: Blobs,
        store: Checkpoints | None,
        clock: Clock,
    ) -> None:
        self._recorder = recorder
        self._blobs = blobs
        self._clock = clock
        self.unavailable = "No checkpoints are taken here." if store is None else store.unavailable
        """Why files cannot be put back, as a sentence; empty where they can."""
        self._refused = store is not None and bool(self.unavailable)
        self._store = None if self.unavailable else store
        self._guard = anyio.Lock()
        self._begun = False
        self._open: tuple[CallId, Author] | None = None
        self._missed = Missed()
        self._baseline: Baseline | None = None
        self._trouble = False
        self._again_at = 0.0
        self._worth = False
        """There is more than a first checkpoint of this run."""
        self._beginning: anyio.CancelScope | None = None
        self._leaving = False
        self._upkeep = None if self._store is None else Upkeep(self._store, clock, self.tell)

    @property
    def store(self) -> Checkpoints | None:
        """The store, where there can be one."""
        return self._store

    @property
    def owing(self) -> bool:
        """Something that calls changed is in no checkpoint yet: to be kept before anybody else changes more."""
        return self._store is not None and self._missed != Missed()

    def take_up(self) -> bool:
        """See what the runs before left in no checkpoint; True where that is to be kept before anybody changes more. To be
        called once, before anything else."""
        self._missed = left_by_a_run(self._recorder.state)
        self._worth = bool(self._recorder.state.commit)
        return self.owing

    async def begin(self) -> None:
        """Keep the files as the session found them; to be started early, since it may take a while.

        Raises `CheckpointError`; it is tried again by whatever comes next.
        """
        async with self._guard:
            with anyio.CancelScope() as self._beginning:
                if not self._leaving:
                    await self._begin()
            self._beginning = None

    async def before(self, call_id: CallId, author: Author, paths: Iterable[str] = ()) -> None:
        """A call is about to run that may change files, those at `paths` for certain: what others changed since the
        last look is theirs."""
        if self._store is None:
            if self._refused:  # say once, before the first change, that there can be none
                hint = "What is changed here cannot be taken back with /undo."
                self._emit(ErrorRaised(where="checkpoints", message=self.unavailable, hint=hint))
            self._refused = False
            return
        async with self._guard:
            self._open = (call_id, author)
            if self._begun or self._clock.monotonic() >= self._again_at:
                with self._going_on():
                    await self._theirs(sorted(set(paths)))

    async def changed(self, paths: Iterable[str] | None) -> Changes | None:
        """What the open call changed: at `paths` only, or (None) anywhere; told as `file.changed` where its tool
        did not. To be followed by `keep`."""
        if self._store is None or self._open is None:
            return None
        named = None if paths is None else sorted(set(paths))
        call_id, author = self._open
        changes = None
        async with self._guard:
            with self._going_on():
                if self._begun:
                    changes = await self._ask(lambda store: store.look(named))
            if changes is None:
                self._missed.add(author, named)
        if changes and named is None:
            await self._tell(changes, author, call_id)
        return changes

    async def keep(self, changes: Changes | None, part: int) -> None:
        """Take the checkpoint after part `part`, where anything changed. Who cancels waits for it, but not for long: what
        a finished call changed is never taken for somebody else's."""
        opened, self._open = self._open, None
        if self._store is None or not changes or opened is None:
            return
        call_id, author = opened
        kept = False
        with anyio.move_on_after(CLOSING_S, shield=True):
            async with self._guard:
                with self._going_on():
                    await self._commit(changes, part, author, call_id)
                    kept = True
        if not kept:
            self._missed.add(author, changes.paths)

    async def close(self) -> None:
        """The turn ends. Where it was stopped inside a call, what that call had changed is kept as its own."""
        if self._open is None:
            self._tell_baseline()
            return
        with anyio.move_on_after(CLOSING_S):
            changes = await self.changed(None)
            await self.keep(changes, self._recorder.state.parts - 1)
        self._open = None

    async def settle(self) -> None:
        """Keep what others changed, so that the newest checkpoint is the workspace as it stands.

        Raises `CheckpointError`.
        """
        if self._store is not None:
            async with self._guard:
                await self._theirs()

    def tell(self, fault: CheckpointError) -> None:
        """Say what failed, once until it works again: the work goes on without checkpoints."""
        if not self._trouble:
            hint = f"{fault.hint} The work goes on; what changes meanwhile is kept as soon as it works again."
            self._emit(ErrorRaised(where="checkpoints", message=fault.message, hint=hint.strip()))
        self._trouble = True

    def busy(self) -> None:
        """Something runs that may change files: upkeep ends at once."""
        if self._upkeep is not None:
            self._upkeep.stop()

    def idle(self) -> None:
        """Nothing runs any more."""
        if self._upkeep is not None and self._begun:
            self._upkeep.rest()

    async def run(self) -> None:
        """Look after the store in the background, until cancelled."""
        if self._upkeep is not None:
            await self._upkeep.run()

    async def aclose(self, *, unattended: bool = False) -> None:
        """Stop what the store does in the background. A first checkpoint that is not taken yet is left: whatever changes files
        waits for it, so that it lacks none of the session's changes. `unattended`: there was nobody to rest for, so that what
        upkeep would do is done now, for a while."""
        self.busy()
        self._leaving = True
        if self._beginning is not None:
            self._beginning.cancel()
        if self._store is None:
            return
        await self._store.aclose()
        if unattended and self._begun and self._worth:
            with anyio.move_on_after(LEAVING_S), self._going_on():
                await self._store.settle()

    # -- with the guard held ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        """What fails in it is told, and ends only this."""
        try:
            yield
        except CheckpointError as fault:
            self.tell(fault)

    async def _begin(self) -> None:
        if self._begun or self._store is None:
            return
        known = self._recorder.state.commit
        began = self._clock.monotonic()
        try:
            made = await self._store.begin(known, unchanged=self._missed == Missed())
        except CheckpointError:
            now = self._clock.monotonic()
            self._again_at = now + PATIENCE * (now - began)
            raise
        finally:
            for notice in self._store.notices():
                self._emit(ErrorRaised(where="checkpoints", message=notice))
        self._begun, self._trouble = True, False
        self._baseline = made
        if made is not None:
            self._missed = Missed()
        if known:
            self._tell_baseline()
        if self._missed != Missed():
            await self._take_theirs()

    def _tell_baseline(self) -> None:
        """The first checkpoint stands in the log before the first call that can write, or at the end of its turn: not
        wherever the files happened to be read."""
        made, self._baseline = self._baseline, None
        if made is not None:
            part = self._recorder.state.parts - 1 if self._recorder.state.commit else -1
            self._emit(CheckpointTaken(part=part, commit=made.commit, author="human", skipped=made.skipped))

    async def _theirs(self, also: Sequence[str] = ()) -> None:
        """A store that was damaged while it was open is opened again before it counts as failed."""
        if self._begun:
            with contextlib.suppress(CheckpointError):
                await self._take_theirs(also)
                return
        await self._begin()
        await self._take_theirs(also)

    async def _take_theirs(self, also: Sequence[str] = ()) -> None:
        self._tell_baseline()
        if self._missed != Missed():
            await self._take_missed()
        self._missed = Missed()
        changes = await self._ask(lambda store: store.look(also=also))
        if changes:
            await self._tell(changes, "human", None)
            await self._commit(changes, self._recorder.state.parts - 1, "human", None)

    async def _take_missed(self) -> None:
        """What calls changed and no checkpoint holds, as the session's; what may be anybody's as a person's too."""
        missed, told = self._missed, self._recorder.state.unkept
        paths = None if missed.anything else sorted(missed.paths)
        found = await self._ask(lambda store: store.look(paths))
        if not found:
            return
        found_out = await self._ask(lambda store: sort_out(store, found, missed, told))
        changes, author, call_id = found_out.changes, found_out.author, found_out.call_id
        await self._tell(changes, author, None)
        await self._commit(changes, self._recorder.state.parts - 1, author, call_id)

    async def _commit(self, changes: Changes, part: int, author: Author, call_id: CallId | None) -> None:
        message = f"{author}: part {part}" if part >= 0 else f"{author}: before the first part"
        commit = await self._ask(
            lambda store: store.commit(changes, part=part, author=author, message=message)
        )
        self._worth = True
        self._emit(
            CheckpointTaken(
                part=part,
                commit=commit,
                author=author,
                paths=changes.paths[:PATHS_NAMED],
                more=max(0, len(changes.paths) - PATHS_NAMED),
                skipped=changes.skipped,
                call_id=call_id,
            )
        )

    async def _ask(self, act: Callable[[Checkpoints], Awaitable[ResultT]]) -> ResultT:
        """Where the store fails it is opened anew before it is used again."""
        assert self._store is not None
        try:
            return await act(self._store)
        except CheckpointError:
            self._begun = False
            raise

    async def _tell(self, changes: Changes, author: Author, call_id: CallId | None) -> None:
        """What was told of a file already is not told again."""
        told, agent = self._recorder.state.unkept, _agent_of(self._recorder.state, call_id)
        for file in changes.files:
            known = told[file.path].change if file.path in told else None
            if known is not None and holds(known, file):
                continue
            who = "human" if file.path in changes.doubtful else author
            make = partial(file_changed, self._blobs, file, who, call_id, known)
            self._emit(await to_thread.run_sync(make), agent)

    def _emit(self, payload: Payload, agent: AgentId = MAIN_AGENT) -> None:
        self._recorder.append(payload, agent=agent)


def _agent_of(state: SessionStateView, call_id: CallId | None) -> AgentId:
    """Whose call it is: what a delegate's command changed stands under the delegate."""
    return next((call.agent for call in state.open_calls if call.call_id == call_id), MAIN_AGENT)
