"""Checkpoints of a workspace in the session's own git store, the implementation of `ports.checkpoint`.

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
from tui_agent.workspace.checkpoints import baseline, checkpoint_reader, maintenance, store_setup
from tui_agent.workspace.checkpoints import commit as commit_module
from tui_agent.workspace.checkpoints import repair as repair_module
from tui_agent.workspace.checkpoints import restore as restore_module
from tui_agent.workspace.checkpoints import restore_plan as plan_module
from tui_agent.workspace.checkpoints.atomic_restore import FileActs
from tui_agent.workspace.checkpoints.checkpoint_reader import KeptFile, LineChange
from tui_agent.workspace.checkpoints.git import Git, Run, run_program
from tui_agent.workspace.checkpoints.limits import Limits, git_program, why_unavailable
from tui_agent.workspace.checkpoints.state import Shadow, disk_fault
from tui_agent.workspace.checkpoints.status import changed_after, look

DEFAULT_LIMITS = Limits()


class GitShadow:
    """Checkpoints of `workspace` in the folder `store`. `git` is the program, found on the path if not given.

    `sessions` is the folder of all sessions, which the workspace must not contain. Calls run one at a time.
    The session's lock must be held: only one process uses a store.
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
        self._upkeep_scope: anyio.CancelScope | None = None

    @property
    def unavailable(self) -> str:
        """Why there are no checkpoints, as a sentence; empty if there are."""
        return self._unavailable

    @property
    def head(self) -> str:
        """The newest checkpoint's commit; empty before the first."""
        return self._shadow.head

    @asynccontextmanager
    async def _exclusive(self, *, begun: bool = True, upkeep: bool = False) -> AsyncIterator[Shadow]:
        """Run one call at a time; maintenance is cancelled by any other call."""
        if self._unavailable:
            raise CheckpointError(self._unavailable)
        if self._upkeep_scope is not None and not upkeep:
            self._upkeep_scope.cancel()
        async with self._lock:
            if begun and not self._shadow.head:
                raise CheckpointError(
                    "There is no checkpoint yet.", hint="Wait until the first one is saved."
                )
            if begun and not upkeep:
                self._shadow.require_workspace()
            try:
                yield self._shadow
            except OSError as fault:
                raise disk_fault(self._shadow.git.folder, fault) from fault

    @asynccontextmanager
    async def _read_access(self) -> AsyncIterator[Shadow]:
        """Open the store for reading objects only; missing refs are recreated."""
        async with self._exclusive(begun=False) as shadow:
            await run_sync(store_setup.names_anew, shadow.git.folder)
            yield shadow

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """Continue from the checkpoint `known`, or save and return a first one if it is empty or lost.

        `unchanged`: the session changed nothing since `known`, so the new checkpoint replaces it.
        """
        if self._unavailable:
            return None
        async with self._exclusive(begun=False) as shadow:
            shadow.require_workspace()
            await store_setup.open_store(shadow)
            await run_sync(restore_module.recover, shadow, self._acts)
            if known and await store_setup.take_up(shadow, known):
                return None
            first = await baseline.first(shadow)
            if known and unchanged:
                await run_sync(repair_module.stand_in, shadow.git.folder, known, first.commit)
            return first

    async def look_on(self, known: str) -> bool:
        """Load the checkpoint `known` for planning only; return False if it is lost.

        Nothing in the workspace is touched, not even the leftovers of an interrupted restore.
        """
        async with self._exclusive(begun=False) as shadow:
            shadow.require_workspace()
            await store_setup.open_store(shadow)
            return await store_setup.take_up(shadow, known)

    def notices(self) -> tuple[str, ...]:
        """Return the automatic actions on the store since the last call, as sentences for the user."""
        sentences = tuple(self._shadow.notices)
        self._shadow.notices.clear()
        return sentences

    async def look(self, paths: Sequence[str] | None = None, *, also: Sequence[str] = ()) -> Changes:
        """Return the changes since the newest checkpoint: at `paths`, or anywhere and at ignored paths in
        `also`.
        """
        async with self._exclusive() as shadow:
            return await look(shadow, paths, also)

    async def late(self, paths: Sequence[str], at: float) -> frozenset[str]:
        """Return the paths where something changed after this time (seconds since 1970)."""
        async with self._exclusive() as shadow:
            return await run_sync(changed_after, shadow, paths, at)

    async def commit(self, changes: Changes, *, part: int, author: Author, message: str) -> str:
        """Save these changes as the newest checkpoint; return its commit."""
        async with self._exclusive() as shadow:
            if not changes:
                return shadow.head
            return await commit_module.commit(shadow, changes, message=message, author=author, part=part)

    async def plan(self, source: str, named: Sequence[str] = ()) -> RestorePlan:
        """Plan a restore to the checkpoint `source`, always including the `named` paths."""
        async with self._exclusive() as shadow:
            source = await run_sync(repair_module.meant, shadow.git.folder, source)
            return plan_module.shown(shadow, await plan_module.prepare(shadow, source, named))

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> Restored:
        """Carry out a plan: the conflict-free acts, and those in conflict that `overwrite` names."""
        async with self._exclusive() as shadow:
            return await restore_module.restore(shadow, plan, overwrite, self._acts)

    async def settle(self) -> bool:
        """Run maintenance when idle; any other call cancels it. Return True if it did something."""
        has_worked = False
        if self._upkeep_scope is None:
            with anyio.CancelScope() as self._upkeep_scope:
                try:
                    async with self._exclusive(upkeep=True) as shadow:
                        has_worked = await maintenance.settle(shadow)
                finally:
                    self._upkeep_scope = None
        return has_worked

    async def files_at(self, commit: str) -> list[KeptFile]:
        """Return every file of a checkpoint."""
        async with self._read_access() as shadow:
            return await checkpoint_reader.files_at(shadow, commit)

    async def read_at(self, commit: str, path: str) -> bytes:
        """Return a file's bytes in a checkpoint, or a link's target."""
        async with self._read_access() as shadow:
            return await checkpoint_reader.read_at(shadow, commit, path)

    async def diff(self, before: str, after: str) -> list[LineChange]:
        """Return the paths that differ between two checkpoints, with added and removed lines."""
        async with self._read_access() as shadow:
            return await checkpoint_reader.difference(shadow, before, after)

    async def checkout(self, commit: str, dest: Path) -> None:
        """Write a checkpoint's files into an empty folder."""
        async with self._read_access() as shadow:
            await checkpoint_reader.checkout(shadow, commit, dest)

    async def export_bundle(self, dest: Path) -> None:
        """Write all checkpoints into one file that `git clone` accepts."""
        async with self._read_access() as shadow:
            await maintenance.export_bundle(shadow, dest)

    async def import_bundle(self, bundle: Path) -> None:
        """Create the store from such a file, which is verified completely. The store must not exist yet."""
        async with self._exclusive(begun=False) as shadow:
            await store_setup.import_bundle(shadow, bundle)

    async def verify(self) -> list[str]:
        """Return the problems of the store; empty if there are none. Recreates what it can, and names it."""
        async with self._exclusive(begun=False) as shadow:
            recreated = await run_sync(store_setup.names_anew, shadow.git.folder)
            return await maintenance.verify(shadow, recreated)

    async def lost(self, commits: Sequence[str]) -> list[str]:
        """Return the checkpoints that are no longer in the store."""
        async with self._read_access() as shadow:
            return await checkpoint_reader.lost(shadow, commits)

    async def borrowed(self) -> str:
        """Return why parts of the first checkpoint stay in the user's repository; empty if none do."""
        async with self._read_access() as shadow:
            return await maintenance.borrowed(shadow)

    async def size(self) -> int:
        """Return the bytes used by the store."""
        async with self._read_access() as shadow:
            return await maintenance.size(shadow)

    async def aclose(self) -> None:
        """Cancel maintenance and wait for the running call."""
        if self._upkeep_scope is not None:
            self._upkeep_scope.cancel()
        async with self._lock:
            return
