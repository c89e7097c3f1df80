"""Checkpoints of a workspace in a git store of the session's own, the implementation of `ports.checkpoint`.

Invariant: the user's repository is only read, as files; no program of its configuration ever runs.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Baseline, Changes, Restored, RestorePlan
from tui_agent.protocol.events.files import Author
from tui_agent.workspace.checkpoints import baseline
from tui_agent.workspace.checkpoints import bundle_import as unbundling
from tui_agent.workspace.checkpoints import checkpoint_reader as reading
from tui_agent.workspace.checkpoints import commit as committing
from tui_agent.workspace.checkpoints import maintenance as settling
from tui_agent.workspace.checkpoints import repair as mending
from tui_agent.workspace.checkpoints import restore as restoring
from tui_agent.workspace.checkpoints import restore_plan as planning
from tui_agent.workspace.checkpoints import store_setup as opening
from tui_agent.workspace.checkpoints.atomic_restore import FileActs
from tui_agent.workspace.checkpoints.checkpoint_reader import KeptFile, LineChange
from tui_agent.workspace.checkpoints.git import Git, Run, run_program
from tui_agent.workspace.checkpoints.limits import Limits, git_program, why_unavailable
from tui_agent.workspace.checkpoints.state import Shadow, disk_fault
from tui_agent.workspace.checkpoints.status import changed_after, look

DEFAULT_LIMITS = Limits()


class GitShadow:
    """Checkpoints of `workspace` in the folder `store`. `git` is the program, found on the path when not given.

    `sessions` is the folder of all sessions, which the workspace must not hold. Calls wait for each other. The session's lock must be held: one process uses a store.
    """

    def __init__(
        self,
        workspace: Path,
        store: Path,
        *,
        git: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        run: Run = run_program,
        acts: FileActs | None = None,
        sessions: Path | None = None,
    ) -> None:
        workspace = workspace.resolve()
        program = git or git_program(workspace)
        self._unavailable = why_unavailable(workspace, program, sessions)
        self._shadow = Shadow(Git(program or "git", store.absolute(), workspace, run), workspace, limits)
        self._acts = acts or FileActs()
        self._lock = anyio.Lock()
        self._settling: anyio.CancelScope | None = None

    @property
    def unavailable(self) -> str:
        """Why there are no checkpoints, as a sentence; empty where there are."""
        return self._unavailable

    @property
    def head(self) -> str:
        """The newest checkpoint's commit; empty before the first."""
        return self._shadow.head

    @asynccontextmanager
    async def _alone(self, *, begun: bool = True, upkeep: bool = False) -> AsyncIterator[Shadow]:
        """One call at a time; upkeep gives way."""
        if self._unavailable:
            raise CheckpointError(self._unavailable)
        if self._settling is not None and not upkeep:
            self._settling.cancel()
        async with self._lock:
            if begun and not self._shadow.head:
                raise CheckpointError(
                    "There is no checkpoint yet.", hint="Wait until the first one is taken."
                )
            if begun and not upkeep:
                self._shadow.require_workspace()
            try:
                yield self._shadow
            except OSError as fault:
                raise disk_fault(self._shadow.git.folder, fault) from fault

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[Shadow]:
        """For what needs objects only: names that are gone are written anew."""
        async with self._alone(begun=False) as shadow:
            await run_sync(opening.names_anew, shadow.git.folder)
            yield shadow

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """Go on from the checkpoint `known`; without one, or where it is lost, keep the files as they are, which is then
        returned. `unchanged`: the session changed nothing since `known`, so that the new one stands in for it."""
        if self._unavailable:
            return None
        async with self._alone(begun=False) as shadow:
            shadow.require_workspace()
            await opening.open_store(shadow)
            await run_sync(restoring.recover, shadow, self._acts)
            if known and await opening.take_up(shadow, known):
                return None
            made = await baseline.first(shadow)
            if known and unchanged:
                await run_sync(mending.stand_in, shadow.git.folder, known, made.commit)
            return made

    async def look_on(self, known: str) -> bool:
        """Go on from the checkpoint `known` only to plan: nothing of the workspace is touched, not even what a restore
        that was cut off has left there. False where it is lost."""
        async with self._alone(begun=False) as shadow:
            shadow.require_workspace()
            await opening.open_store(shadow)
            return await opening.take_up(shadow, known)

    def notices(self) -> tuple[str, ...]:
        """What happened to the store by itself since the last call, as sentences for the user."""
        told = tuple(self._shadow.notices)
        self._shadow.notices.clear()
        return told

    async def look(self, paths: Sequence[str] | None = None, *, also: Sequence[str] = ()) -> Changes:
        """What differs now from the newest checkpoint: at `paths`; or anywhere, and at `also` though it is ignored."""
        async with self._alone() as shadow:
            return await look(shadow, paths, also)

    async def late(self, paths: Sequence[str], at: float) -> frozenset[str]:
        """Those of the paths at which something changed after this time."""
        async with self._alone() as shadow:
            return await run_sync(changed_after, shadow, paths, at)

    async def commit(self, changes: Changes, *, part: int, author: Author, message: str) -> str:
        """Keep these changes as the newest checkpoint; returns its commit."""
        async with self._alone() as shadow:
            if not changes:
                return shadow.head
            return await committing.commit(shadow, changes, message=message, author=author, part=part)

    async def plan(self, source: str, named: Sequence[str] = ()) -> RestorePlan:
        """What putting the files back to the checkpoint `source` would do, with the `named` paths in any case."""
        async with self._alone() as shadow:
            source = await run_sync(mending.meant, shadow.git.folder, source)
            return planning.shown(shadow, await planning.prepare(shadow, source, named))

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> Restored:
        """Carry out a plan: the free acts, and of those in conflict the ones that `overwrite` names."""
        async with self._alone() as shadow:
            return await restoring.restore(shadow, plan, overwrite, self._acts)

    async def settle(self) -> bool:
        """Upkeep, to be called when nothing else is to be done: any other call ends it. True if it did something."""
        done = False
        if self._settling is None:
            with anyio.CancelScope() as self._settling:
                try:
                    async with self._alone(upkeep=True) as shadow:
                        done = await settling.settle(shadow)
                finally:
                    self._settling = None
        return done

    async def files_at(self, commit: str) -> list[KeptFile]:
        """Every file of a checkpoint."""
        async with self._reading() as shadow:
            return await reading.files_at(shadow, commit)

    async def read_at(self, commit: str, path: str) -> bytes:
        """A file's bytes in a checkpoint; of a link, its target."""
        async with self._reading() as shadow:
            return await reading.read_at(shadow, commit, path)

    async def diff(self, before: str, after: str) -> list[LineChange]:
        """The paths in which two checkpoints differ, with lines that came and went."""
        async with self._reading() as shadow:
            return await reading.difference(shadow, before, after)

    async def checkout(self, commit: str, dest: Path) -> None:
        """Write a checkpoint's files into an empty folder."""
        async with self._reading() as shadow:
            await reading.checkout(shadow, commit, dest)

    async def export_bundle(self, dest: Path) -> None:
        """All checkpoints as one file that `git clone` takes."""
        async with self._reading() as shadow:
            await settling.export_bundle(shadow, dest)

    async def import_bundle(self, bundle: Path) -> None:
        """Make the store, which must not be there yet, of such a file. Nothing in it is trusted before it is checked."""
        async with self._alone(begun=False) as shadow:
            await unbundling.import_bundle(shadow, bundle)

    async def verify(self) -> list[str]:
        """What is wrong with the store; empty where nothing is. What can be written anew is, and is named."""
        async with self._alone(begun=False) as shadow:
            anew = await run_sync(opening.names_anew, shadow.git.folder)
            return await settling.verify(shadow, anew)

    async def lost(self, commits: Sequence[str]) -> list[str]:
        """Those of these checkpoints that are not in the store any more."""
        async with self._reading() as shadow:
            return await reading.lost(shadow, commits)

    async def borrowed(self) -> str:
        """Why a part of the first checkpoint stays in the user's repository, as a sentence; empty where none does."""
        async with self._reading() as shadow:
            return await settling.borrowed(shadow)

    async def size(self) -> int:
        """Bytes that the store takes."""
        async with self._reading() as shadow:
            return await settling.size(shadow)

    async def aclose(self) -> None:
        """End upkeep and wait for the call that is under way."""
        if self._settling is not None:
            self._settling.cancel()
        async with self._lock:
            return
