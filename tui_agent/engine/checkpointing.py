"""L4: checkpoints around whatever changes files: who changed what, kept after the part that did it.

Invariant: before a call that can change files runs, everything that others changed until then is in a checkpoint of
theirs; after it, what differs is the call's. A store of checkpoints that fails is told once and costs no turn.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio
from anyio import to_thread

from tui_agent.engine.recorder import Recorder
from tui_agent.errors import CheckpointError
from tui_agent.folds.line_diff import count_changes
from tui_agent.ports.checkpoint import Baseline, Changes, Checkpoints, FileStand
from tui_agent.ports.log import Blobs
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.files import PATHS_NAMED, Author, CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import CallId

ResultT = TypeVar("ResultT")

CLOSING_S = 5.0
"""Seconds that looking at the files may take when a turn was stopped."""


class Checkpointing:
    """One session's checkpoints, taken as the engine runs. Without a store every call does nothing."""

    def __init__(
        self, recorder: Recorder, blobs: Blobs, store: Checkpoints | None, *, lost_call: bool = False
    ) -> None:
        self._recorder = recorder
        self._blobs = blobs
        self.unavailable = "No checkpoints are taken here." if store is None else store.unavailable
        """Why files cannot be put back, as a sentence; empty where they can."""
        self._store = None if self.unavailable else store
        self._guard = anyio.Lock()
        self._begun = False
        self._open: tuple[CallId, Author] | None = None
        self._lost_call = lost_call
        self._baseline: Baseline | None = None

    @property
    def store(self) -> Checkpoints | None:
        """The store, where there is one that works."""
        return self._store

    async def begin(self) -> None:
        """Keep the files as the session found them; to be started early, since it may take a while."""
        async with self._guard:
            await self._begin()

    async def before(self, call_id: CallId, author: Author) -> None:
        """A call is about to run that may change files: what others changed since the last look is theirs."""
        if self._store is None:
            return
        async with self._guard:
            await self._theirs()
            self._open = (call_id, author)

    async def changed(self, paths: Iterable[str] | None) -> Changes | None:
        """What the open call changed: at `paths` only, or (None) anywhere; told as `file.changed` where its tool
        did not. To be followed by `keep`."""
        if self._store is None or self._open is None:
            return None
        named = None if paths is None else sorted(set(paths))
        async with self._guard:
            changes = await self._safely(lambda store: store.look(named))
        if changes and named is None:
            call_id, author = self._open
            await self._tell(changes, author, call_id)
        return changes

    async def keep(self, changes: Changes | None, part: int) -> None:
        """Take the checkpoint after part `part`, where anything changed."""
        opened, self._open = self._open, None
        if self._store is None or not changes or opened is None:
            return
        async with self._guard:
            await self._commit(changes, part, opened[1], opened[0])

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
        """Keep what others changed, so that the newest checkpoint is the workspace as it stands."""
        if self._store is not None:
            async with self._guard:
                await self._theirs()

    async def aclose(self) -> None:
        """Stop what the store does in the background."""
        if self._store is not None:
            await self._store.aclose()

    # -- with the guard held ---------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        if self._begun or self._store is None:
            return
        known = self._recorder.state.commit
        self._begun = True
        made = await self._safely(lambda store: store.begin(known))
        self._baseline = made
        if self._lost_call:
            self._lost_call = False
            self._tell_baseline()
            await self._take(author="command")

    def _tell_baseline(self) -> None:
        """The first checkpoint stands in the log before the first call that can write, or at the end of its turn: not
        wherever the files happened to be read."""
        made, self._baseline = self._baseline, None
        if made is not None:
            self._emit(CheckpointTaken(part=-1, commit=made.commit, author="human", skipped=made.skipped))

    async def _theirs(self) -> None:
        await self._begin()
        self._tell_baseline()
        await self._take(author="human")

    async def _take(self, author: Author) -> None:
        changes = await self._safely(lambda store: store.look())
        if changes:
            await self._tell(changes, author, None)
            await self._commit(changes, self._recorder.state.parts - 1, author, None)

    async def _commit(self, changes: Changes, part: int, author: Author, call_id: CallId | None) -> None:
        message = f"{author}: part {part}" if part >= 0 else f"{author}: before the first part"
        commit = await self._safely(
            lambda store: store.commit(changes, part=part, author=author, message=message)
        )
        if commit is None:
            return
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

    async def _safely(self, act: Callable[[Checkpoints], Awaitable[ResultT]]) -> ResultT | None:
        """A store that fails is told and left alone from then on: the work goes on without checkpoints."""
        if self._store is None:
            return None
        try:
            return await act(self._store)
        except CheckpointError as fault:
            self._store, self.unavailable = None, fault.message
            hint = f"{fault.hint} Files cannot be put back from here on.".strip()
            self._emit(ErrorRaised(where="checkpoints", message=fault.message, hint=hint))
            return None

    async def _tell(self, changes: Changes, author: Author, call_id: CallId | None) -> None:
        for file in changes.files:
            self._emit(await to_thread.run_sync(file_changed, self._blobs, file, author, call_id))

    def _emit(self, payload: Payload) -> None:
        self._recorder.append(payload)


def file_changed(blobs: Blobs, file: FileStand, author: Author, call_id: CallId | None) -> FileChanged:
    """The event of one changed file, its contents stored. Where a side is too large to be kept, it has no digest."""
    before, after = file.before, file.after
    added, removed = line_counts(before, after)
    return FileChanged(
        path=file.path,
        before=None if before is None else blobs.put(before),
        after=None if after is None else blobs.put(after),
        before_size=file.before_size,
        after_size=file.after_size,
        mode=file.mode,
        author=author,
        added=added,
        removed=removed,
        call_id=call_id,
    )


def line_counts(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """(added, removed) lines; 0 and 0 where either side is binary."""
    old, new = before or b"", after or b""
    if b"\0" in old[:8192] or b"\0" in new[:8192]:
        return 0, 0
    return count_changes(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
