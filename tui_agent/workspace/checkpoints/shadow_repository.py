"""Checkpoints of a workspace in the session's own git store; implements `ports.checkpoint`.

Invariant: the user's repository is only read, and no program from its configuration ever runs.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import anyio
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Baseline, RestorePlan, RestoreResult, WorkspaceChanges
from tui_agent.protocol.events.files import Author
from tui_agent.workspace.checkpoints import baseline, maintenance, store_setup
from tui_agent.workspace.checkpoints import commit as commit_module
from tui_agent.workspace.checkpoints import restore as restore_module
from tui_agent.workspace.checkpoints import restore_plan as plan_module
from tui_agent.workspace.checkpoints.atomic_restore import FileOperations
from tui_agent.workspace.checkpoints.change_detection import changed_after, find_changes
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits, find_git, unavailable_reason
from tui_agent.workspace.checkpoints.file_modes import Modes
from tui_agent.workspace.checkpoints.git_runner import Git, RunProgram, join_paths, run_program, split_names
from tui_agent.workspace.checkpoints.maintenance import ContentRedactor, copy_redacted
from tui_agent.workspace.checkpoints.rooted_files import LINK
from tui_agent.workspace.checkpoints.store_state import CheckpointStore, disk_error

DEFAULT_LIMITS = Limits()


class CheckpointFile(NamedTuple):
    """A file in a checkpoint; `mode` includes the file type and the permission bits."""

    path: str
    size: int
    mode: int


class LineChange(NamedTuple):
    """A path that differs between two checkpoints.

    The numbers of added and removed lines are 0 for binary files.
    """

    path: str
    added: int
    removed: int


class GitCheckpoints:
    """Checkpoints of the folder `workspace` in the git store `store`.

    The caller must hold the session's lock. Calls run one at a time.

    - `git`: the git program; by default, the one in `PATH`
    - `sessions`: the folder of all sessions, which must not be in the workspace
    """

    def __init__(
        self,
        workspace: Path,
        store: Path,
        *,
        git: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        run: RunProgram = run_program,
        operations: FileOperations | None = None,
        sessions: Path | None = None,
    ) -> None:
        workspace = workspace.resolve()
        program = git or find_git(workspace)
        self.unavailable_reason = unavailable_reason(workspace, program, sessions)
        """The reason why the workspace has no checkpoints, as a sentence; empty if it can have them."""
        self._shadow = CheckpointStore(
            Git(program or "git", store.absolute(), workspace, run), workspace, limits
        )
        self._operations = operations or FileOperations()
        self._lock = anyio.Lock()
        self._upkeep_scope: anyio.CancelScope | None = None

    @property
    def head(self) -> str:
        """The commit of the newest checkpoint; empty before the first checkpoint."""
        return self._shadow.head

    @asynccontextmanager
    async def _open_exclusively(
        self, *, begun: bool = True, upkeep: bool = False
    ) -> AsyncIterator[CheckpointStore]:
        """Open the store for one call at a time. Cancel a running maintenance.

        - `begun`: True to require a first checkpoint. Raise `CheckpointError` if there is none.
        - `upkeep`: True for maintenance itself, which needs no workspace.
        """
        if self.unavailable_reason:
            raise CheckpointError(self.unavailable_reason)
        # Maintenance can take minutes, and can stop at any point without harm.
        if self._upkeep_scope is not None and not upkeep:
            self._upkeep_scope.cancel()
        async with self._lock:
            if begun and not self._shadow.head:
                raise CheckpointError(
                    "There is no checkpoint yet.", hint="Wait until the first checkpoint is saved."
                )
            if begun and not upkeep:
                self._shadow.require_workspace()
            try:
                yield self._shadow
            except OSError as fault:
                raise disk_error(self._shadow.git.folder, fault) from fault

    @asynccontextmanager
    async def _read_access(self) -> AsyncIterator[CheckpointStore]:
        """Open the store for reading objects, and recreate missing git refs."""
        async with self._open_exclusively(begun=False) as shadow:
            await run_sync(store_setup.recreate_missing_parts, shadow.git.folder)
            yield shadow

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """Continue from the checkpoint `known`. If `known` is empty or lost, take a first checkpoint and return it.

        `unchanged`: True if the session changed nothing after `known`. If `known` is lost, a new first checkpoint then
        replaces it.
        """
        if self.unavailable_reason:
            return None
        async with self._open_exclusively(begun=False) as shadow:
            shadow.require_workspace()
            await store_setup.open_store(shadow)
            # First, because a half-finished restore would look like changes by the user.
            await run_sync(restore_module.undo_interrupted, shadow, self._operations)
            if known and await store_setup.resume_checkpoint(shadow, known):
                return None
            first = await baseline.take_baseline(shadow)
            if known and unchanged:
                await run_sync(store_setup.record_stand_in, shadow.git.folder, known, first.commit)
            return first

    async def load_read_only(self, known: str) -> bool:
        """Load the checkpoint `known` to plan a restore. Return False if the checkpoint is lost.

        The workspace is never changed.
        """
        async with self._open_exclusively(begun=False) as shadow:
            shadow.require_workspace()
            await store_setup.open_store(shadow)
            return await store_setup.resume_checkpoint(shadow, known)

    def take_notices(self) -> tuple[str, ...]:
        """Return and forget the messages about repairs and undone restores."""
        sentences = tuple(self._shadow.notices)
        self._shadow.notices.clear()
        return sentences

    async def find_changes(
        self, paths: Sequence[str] | None = None, *, extra_paths: Sequence[str] = ()
    ) -> WorkspaceChanges:
        """Return the changes at `paths` since the newest checkpoint, or in the whole workspace if `paths` is None.

        `extra_paths`: paths to include in a search of the whole workspace even if git ignores them.
        """
        async with self._open_exclusively() as shadow:
            return await find_changes(shadow, paths, extra_paths)

    async def changed_after(self, paths: Sequence[str], since: float) -> frozenset[str]:
        """Return the `paths` that changed after `since` (seconds since 1970)."""
        async with self._open_exclusively() as shadow:
            return await run_sync(changed_after, shadow, paths, since)

    async def commit(self, changes: WorkspaceChanges, *, part: int, author: Author, message: str) -> str:
        """Save the changes as the newest checkpoint, and return its commit."""
        async with self._open_exclusively() as shadow:
            if not changes:
                return shadow.head
            return await commit_module.commit_changes(
                shadow, changes, message=message, author=author, part=part
            )

    async def save_version(self, path: str, content: bytes | None) -> str:
        """Create a commit with the newest checkpoint's files, but with `content` at `path`; return the commit.

        If `content` is None, the commit has no file at `path`. The commit does not become the newest checkpoint.
        """
        async with self._open_exclusively() as shadow:
            return await commit_module.commit_version(shadow, path, content)

    async def plan_restore(
        self, source: str, named_paths: Sequence[str] = (), kept_changes: Sequence[tuple[str, str]] = ()
    ) -> RestorePlan:
        """Plan a restore to the checkpoint `source`.

        - `named_paths`: paths that are always in the plan
        - `kept_changes`: pairs of commits. The session's changes between the two commits of a pair count as the
          user's.
        """
        async with self._open_exclusively() as shadow:
            find_commit = partial(store_setup.resolve_stand_in, shadow.git.folder)
            source = await run_sync(find_commit, source)
            pairs = [
                (await run_sync(find_commit, a), await run_sync(find_commit, b)) for a, b in kept_changes
            ]
            prepared = await plan_module.prepare_restore(shadow, source, named_paths, pairs)
            plan = await run_sync(plan_module.to_restore_plan, shadow, prepared, tuple(named_paths))
            return replace(plan, kept_changes=tuple(pairs))

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> RestoreResult:
        """Run a restore plan; skip each action with a conflict, unless its path is in `overwrite`."""
        async with self._open_exclusively() as shadow:
            return await restore_module.restore(shadow, plan, overwrite, self._operations)

    async def run_maintenance(self) -> bool:
        """Run maintenance until another call to this object cancels it; return True if anything was done."""
        has_worked = False
        if self._upkeep_scope is None:
            with anyio.CancelScope() as self._upkeep_scope:
                try:
                    async with self._open_exclusively(upkeep=True) as shadow:
                        has_worked = await maintenance.maintain(shadow)
                finally:
                    self._upkeep_scope = None
        return has_worked

    async def list_files(self, commit: str) -> list[CheckpointFile]:
        """Return every file of a checkpoint, sorted by path."""
        async with self._read_access() as shadow:
            await shadow.find_tree(commit)
            modes = await shadow.read_modes(commit)
            out = await shadow.git("ls-tree", "-r", "-z", "-l", commit)
            files = []
            for item in split_names(out):
                info, path = item.split("\t", 1)
                mode, _, oid, size = info.split()
                if not size.isdigit():  # git has no size for a missing object
                    raise shadow.git.missing_error(oid)
                git_mode = int(mode, 8)
                bits = 0o777 if git_mode == LINK else modes.bits(path, git_mode)
                files.append(CheckpointFile(path, int(size), (git_mode & 0o170000) | bits))
            return sorted(files)

    async def read_file(self, commit: str, path: str) -> bytes:
        """Return a file's bytes (or a link's target) in a checkpoint; raise `CheckpointError` if it is missing."""
        async with self._read_access() as shadow:
            await shadow.find_tree(commit)
            out = await shadow.git("ls-tree", "-z", commit, "--", path)
            for item in split_names(out):
                info, name = item.split("\t", 1)
                if name == path and " blob " in info:
                    return await shadow.git("cat-file", "blob", info.split(" ")[2])
            raise CheckpointError(
                f"{path} is not in the checkpoint {commit[:12]}.",
                hint="List the files of the checkpoint first.",
            )

    async def diff(self, before: str, after: str) -> list[LineChange]:
        """Return the paths that differ between two checkpoints, with the numbers of added and removed lines."""
        async with self._read_access() as shadow:
            for commit in (before, after):
                await shadow.find_tree(commit)
            # The last two options prevent git from starting programs that the files' attributes name.
            options = ("-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
            out = await shadow.git("diff-tree", *options, before, after, "--")
            changes = {}
            for item in split_names(out):
                added, removed, path = item.split("\t", 2)
                changes[path] = LineChange(
                    path, *(int(count) if count.isdigit() else 0 for count in (added, removed))
                )
            # Git compares only the executable bit. Other permissions are stored apart.
            first, second = await shadow.read_modes(before), await shadow.read_modes(after)
            for path in first.unusual.keys() ^ second.unusual.keys():
                changes.setdefault(path, LineChange(path, 0, 0))
            return sorted(changes.values())

    async def checkout(self, commit: str, dest: Path, left_out: Sequence[str] = ()) -> None:
        """Write a checkpoint's files into an empty or new folder.

        `left_out`: folders of the checkpoint that are not written. Their paths end with `/`.
        """
        async with self._read_access() as shadow:
            await shadow.find_tree(commit)
            modes = await shadow.read_modes(commit)
            await run_sync(_empty_folder, dest)
            with shadow.draft(empty=True) as draft:
                await shadow.git("read-tree", commit, index=draft)
                tracked = await shadow.load_entries(draft)
                tracked = {
                    path: entry for path, entry in tracked.items() if not path.startswith(tuple(left_out))
                }
                stdin = join_paths(list(tracked))
                await shadow.git(
                    "checkout-index", "--quiet", "-z", "--stdin", stdin=stdin, index=draft, tree=dest
                )
                files = {path: entry.git_mode for path, entry in tracked.items() if entry.git_mode != LINK}
                await run_sync(_set_bits, dest, files, modes)

    async def remove_folders(self, known: str, folders: Sequence[str]) -> None:
        """Replace the newest checkpoint `known` by one without the files in `folders`, whose paths end with `/`.

        The workspace must not contain the folders. Their removal counts as the user's change.
        """
        async with self._open_exclusively(begun=False) as shadow:
            await store_setup.open_store(shadow)
            await store_setup.load_checkpoint(shadow, known)
            paths = tuple(path for path in shadow.tracked if path.startswith(tuple(folders)))
            commit = await commit_module.commit_changes(
                shadow,
                WorkspaceChanges(paths, ()),
                message=store_setup.LEFT_OUT_MESSAGE,
                author=plan_module.HUMAN,
                part=-1,
            )
            await run_sync(store_setup.record_stand_in, shadow.git.folder, known, commit)

    async def export_bundle(self, dest: Path, redactor: ContentRedactor | None = None) -> dict[str, str]:
        """Write all checkpoints into one file for `git clone`.

        `redactor`: removes secrets from files, names and messages (None: write everything unchanged).

        Return a map from the id of each commit that redaction changed to the commit's new id.
        """
        async with self._read_access() as shadow:
            if redactor is None:
                await maintenance.export_bundle(shadow, dest)
                return {}
            with TemporaryDirectory(prefix="tui-agent-redacted-") as folder:
                copy = GitCheckpoints(Path(folder), Path(folder) / "copy.git")
                async with copy._open_exclusively(begun=False) as redacted:
                    await store_setup.open_store(redacted)
                    renamed = await copy_redacted(shadow, redacted, redactor)
                    await maintenance.export_bundle(redacted, dest)
            return renamed

    async def import_bundle(self, bundle: Path, last_commit: str = "") -> None:
        """Create the store from a bundle, and check the whole bundle. The store must not exist yet.

        `last_commit`: the checkpoint to keep with its ancestors; by default, all are kept.
        """
        async with self._open_exclusively(begun=False) as shadow:
            await store_setup.import_bundle(shadow, bundle)
            if last_commit:
                await maintenance.drop_after(shadow, last_commit)

    async def verify(self) -> list[str]:
        """Return the problems of the store, one sentence each; missing files are recreated if possible."""
        async with self._open_exclusively(begun=False) as shadow:
            recreated = await run_sync(store_setup.recreate_missing_parts, shadow.git.folder)
            return await maintenance.verify_store(shadow, recreated)

    async def find_lost(self, commits: Sequence[str]) -> list[str]:
        """Return the commits that are missing or unreadable and have no usable replacement."""
        async with self._read_access() as shadow:
            actual = {
                commit: await run_sync(store_setup.resolve_stand_in, shadow.git.folder, commit)
                for commit in dict.fromkeys(commits)
            }
            if not actual:
                return []
            stdin = "".join(f"{target}^{{tree}}\n" for target in actual.values()).encode()
            result = await shadow.git.run("cat-file", "--batch-check", stdin=stdin)
            lines = result.out.splitlines()
            if result.code:  # git stops at the first damaged object
                return [commit for commit, target in actual.items() if await _is_lost(shadow, target)]
            return [commit for commit, line in zip(actual, lines, strict=True) if line.endswith(b" missing")]

    async def describe_borrowed(self) -> str:
        """Return a warning if some objects of the first checkpoint are only in the user's repository.

        Otherwise, return an empty string.
        """
        async with self._read_access() as shadow:
            return await maintenance.describe_borrowed(shadow)

    async def aclose(self) -> None:
        """Cancel maintenance, and wait for the call that is running."""
        if self._upkeep_scope is not None:
            self._upkeep_scope.cancel()
        async with self._lock:
            return


async def _is_lost(shadow: CheckpointStore, commit: str) -> bool:
    return (await shadow.git.run("cat-file", "-e", f"{commit}^{{tree}}")).code != 0


def _empty_folder(dest: Path) -> None:
    try:
        dest.mkdir(parents=True, exist_ok=True)
        if any(dest.iterdir()):
            raise CheckpointError(f"{dest} is not empty.", hint="Choose a new or empty folder.")
    except OSError as fault:
        raise disk_error(dest, fault) from fault


def _set_bits(dest: Path, files: dict[str, int], modes: Modes) -> None:
    for path, git_mode in files.items():
        (dest / path).chmod(modes.bits(path, git_mode))
