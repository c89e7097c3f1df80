"""Saving changes of the workspace as the newest checkpoint.

Invariant: an error or cancellation before the commit leaves the store unchanged.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.checkpoint import WorkspaceChanges
from tui_agent.workspace.checkpoints.commit_message import format_left_lines
from tui_agent.workspace.checkpoints.file_modes import Modes
from tui_agent.workspace.checkpoints.git_runner import join_paths
from tui_agent.workspace.checkpoints.maintenance import clear_drafts
from tui_agent.workspace.checkpoints.rooted_files import LINK, PLAIN, FileState
from tui_agent.workspace.checkpoints.skipped_files import format_commit_lines
from tui_agent.workspace.checkpoints.store_state import KEPT_PREFIX, MAIN_REF, CheckpointStore, Entry

MAX_MESSAGE_CHARS = 4_000
REVERTED = "reverted"
"""Author name of commits that revert a hunk for the user."""
# The paths that these commits change count neither as the session's changes nor as the user's.


@dataclass(frozen=True, slots=True)
class DraftCheckpoint:
    """A checkpoint before its commit.

    - `index`: path of the index file
    - `tree`: tree id
    - `changed`: maps each changed path to its new entry, or to None if the path was removed
    - `modes`: permission bits
    """

    index: Path
    tree: str
    changed: Mapping[str, Entry | None]
    modes: Modes


async def commit_changes(
    shadow: CheckpointStore, changes: WorkspaceChanges, *, message: str, author: str, part: int
) -> str:
    """Save the changed paths as the newest checkpoint; return its commit."""
    paths = changes.paths
    with shadow.draft() as draft:
        draft_checkpoint = await update_draft(shadow, draft, paths)
        doubtful = format_left_lines(changes.contested_paths, {})
        lines = [
            f"Part: {part}",
            *format_commit_lines(shadow, paths),
            *doubtful,
            *draft_checkpoint.modes.lines_since(shadow.modes),
        ]
        new_commit = await commit_tree(
            shadow, draft_checkpoint.tree, shadow.head, author=author, message=message, lines=lines
        )
        await move_head(shadow, new_commit, draft_checkpoint)
    return new_commit


async def update_draft(shadow: CheckpointStore, draft: Path, paths: Collection[str]) -> DraftCheckpoint:
    """Update the index file `draft`, a copy of the newest checkpoint's index, with the files at `paths`."""
    states = await run_sync(_read_states, shadow, sorted(paths))
    present = [path for path, state in states.items() if state.can_be_saved]
    missing = [path for path, state in states.items() if not state.can_be_saved]
    if missing:
        await shadow.git(
            "update-index", "--force-remove", "-z", "--stdin", stdin=join_paths(missing), index=draft
        )
    if present:
        await _add(shadow, draft, present, states)
    tree = await shadow.git.run_line("write-tree", "--missing-ok", index=draft)
    differing = await shadow.compare_trees(shadow.head, tree)
    changed = {path: after for path, (_, after) in differing.items()}
    bits_by_path = {}
    for path in present:
        entry = changed.get(path, shadow.tracked.get(path))
        if entry is not None:
            bits_by_path[path] = (entry.git_mode, states[path].bits)
    removed = [path for path, entry in changed.items() if entry is None]
    shadow.growth_bytes += sum(states[path].size for path in changed if path in states)
    return DraftCheckpoint(draft, tree, changed, shadow.modes.with_changes(bits_by_path, removed))


async def _add(
    shadow: CheckpointStore, draft: Path, paths: list[str], states: Mapping[str, FileState]
) -> None:
    """Add the files at `paths` to the draft index. Skip a file if another program has just replaced it."""
    options = ("--add", "--remove", "--replace", "-z", "--stdin")
    try:
        await shadow.git("update-index", *options, stdin=join_paths(paths), index=draft)
    except CheckpointError:
        # the unfinished objects would fill the rest of a full disk
        await run_sync(clear_drafts, shadow.git.folder)
        if len(paths) == 1:
            current = await run_sync(_read_states, shadow, paths)
            if _is_same_file(current[paths[0]], states[paths[0]]):
                raise
            return
        # One file makes git refuse the whole list. Halving the list finds it with few calls of git.
        half = len(paths) // 2
        await _add(shadow, draft, paths[:half], states)
        await _add(shadow, draft, paths[half:], states)


async def commit_version(shadow: CheckpointStore, path: str, content: bytes | None) -> str:
    """Create a commit with the newest checkpoint's files, but with `content` at `path`; return the commit.

    If `content` is None, the commit has no file at `path`. The commit does not become the newest checkpoint.
    """
    entry, modes = await _newest_version(shadow, path)
    if entry.git_mode == LINK:
        raise CheckpointError(f"{path} is a link.", hint="Nothing was changed.")
    with shadow.draft() as draft:
        if content is None:
            await shadow.git(
                "update-index", "--force-remove", "-z", "--stdin", stdin=join_paths([path]), index=draft
            )
            modes = shadow.modes.with_changes({}, [path])
        else:
            oid = await shadow.git.run_line("hash-object", "-w", "--stdin", stdin=content)
            cached = f"{entry.git_mode:o},{oid},{path}"
            await shadow.git("update-index", "--add", "--cacheinfo", cached, index=draft)
            bits = modes.bits(path, entry.git_mode)
            modes = shadow.modes.with_changes({path: (entry.git_mode, bits)}, [])
            shadow.growth_bytes += len(content)
        tree = await shadow.git.run_line("write-tree", "--missing-ok", index=draft)
        lines = modes.lines_since(shadow.modes)
        return await commit_tree(
            shadow, tree, shadow.head, author=REVERTED, message="One change reverted", lines=lines
        )


async def _newest_version(shadow: CheckpointStore, path: str) -> tuple[Entry, Modes]:
    """Return the entry and the permission bits of a path's newest version, even if the path was removed later."""
    if path in shadow.tracked:
        return shadow.tracked[path], shadow.modes
    removal = await shadow.git.run_line("log", "-1", "--format=%H", shadow.head, "--", path)
    entry = await shadow.read_entry(f"{removal}^", path) if removal else None
    return (entry, await shadow.read_modes(f"{removal}^")) if entry else (Entry(PLAIN, ""), shadow.modes)


def _is_same_file(first: FileState, second: FileState) -> bool:
    if first.stat is None or second.stat is None:
        return False
    return (first.stat.st_ino, first.stat.st_ctime_ns) == (second.stat.st_ino, second.stat.st_ctime_ns)


def _read_states(shadow: CheckpointStore, paths: list[str]) -> dict[str, FileState]:
    with shadow.files.open_reader() as reader:
        return {path: reader.read_state(path, read=False) for path in paths}


async def commit_tree(
    shadow: CheckpointStore, tree: str, parent: str, *, author: str, message: str, lines: list[str]
) -> str:
    """Create a commit of the checkpoint store and return its id.

    `lines`: the last paragraph of the commit message.
    """
    subject = message.replace("\0", " ").strip()[:MAX_MESSAGE_CHARS] or "Files changed"
    text = f"{subject}\n\n" + "\n".join(lines) + "\n"
    parents = ("-p", parent) if parent else ()
    stdin = text.encode("utf-8", "replace")
    return await shadow.git.run_line("commit-tree", tree, *parents, "-F", "-", stdin=stdin, author=author)


async def move_head(shadow: CheckpointStore, commit: str, draft_checkpoint: DraftCheckpoint) -> None:
    """Make `commit` the newest checkpoint, with the index of the draft; cannot be cancelled once started."""
    with anyio.CancelScope(shield=True):  # ref, index and memory must change together
        await shadow.git("update-ref", MAIN_REF, commit)
        await run_sync(draft_checkpoint.index.replace, shadow.git.index)
    for path, entry in draft_checkpoint.changed.items():
        if entry is None:
            shadow.tracked.pop(path, None)
        else:
            shadow.tracked[path] = entry
    shadow.head, shadow.modes = commit, draft_checkpoint.modes


async def protect_commit(shadow: CheckpointStore, commit: str) -> None:
    """Protect a commit of the checkpoint store and its history from git's garbage collection."""
    await shadow.git("update-ref", f"{KEPT_PREFIX}{commit}", commit)
