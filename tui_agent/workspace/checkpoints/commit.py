"""Saving changes as the newest checkpoint.

Invariant: work happens on a copy of the newest checkpoint's index, which replaces it once the commit exists;
an error or cancellation before that leaves the store unchanged.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Changes
from tui_agent.workspace.checkpoints.git import listing
from tui_agent.workspace.checkpoints.modes import Modes
from tui_agent.workspace.checkpoints.rooted_files import Stand
from tui_agent.workspace.checkpoints.state import KEPT, MAIN, Entry, Shadow
from tui_agent.workspace.checkpoints.unheld_files import left_lines, lines_of

MESSAGE_LENGTH = 4_000


@dataclass(frozen=True, slots=True)
class Taken:
    """A draft with the workspace's changes: index, tree, changed entries and permission bits."""

    index: Path
    tree: str
    changed: Mapping[str, Entry | None]
    modes: Modes


async def commit(shadow: Shadow, changes: Changes, *, message: str, author: str, part: int) -> str:
    """Save the changed paths as the newest checkpoint; return its commit."""
    paths = changes.paths
    with shadow.draft() as draft:
        draft_checkpoint = await take(shadow, draft, paths)
        doubtful = left_lines(changes.doubtful, {})
        lines = [
            f"Part: {part}",
            *lines_of(shadow, paths),
            *doubtful,
            *draft_checkpoint.modes.since(shadow.modes),
        ]
        new_commit = await commit_tree(
            shadow, draft_checkpoint.tree, shadow.head, author=author, message=message, lines=lines
        )
        await move_head(shadow, new_commit, draft_checkpoint)
    return new_commit


async def take(shadow: Shadow, draft: Path, paths: Collection[str]) -> Taken:
    """Update a copy of the newest checkpoint's index with the files at `paths`."""
    stands = await run_sync(_read_stands, shadow, sorted(paths))
    present = [path for path, stand in stands.items() if stand.kept]
    missing = [path for path, stand in stands.items() if not stand.kept]
    if missing:
        await shadow.git(
            "update-index", "--force-remove", "-z", "--stdin", stdin=listing(missing), index=draft
        )
    if present:
        await _add(shadow, draft, present, stands)
    tree = await shadow.git.one("write-tree", "--missing-ok", index=draft)
    differing = await shadow.between(shadow.head, tree)
    changed = {path: after for path, (_, after) in differing.items()}
    bits_by_path = {}
    for path in present:
        entry = changed.get(path, shadow.tracked.get(path))
        if entry is not None:
            bits_by_path[path] = (entry.git_mode, stands[path].bits)
    removed = [path for path, entry in changed.items() if entry is None]
    shadow.grown += sum(stands[path].size for path in changed if path in stands)
    return Taken(draft, tree, changed, shadow.modes.changed(bits_by_path, removed))


async def _add(shadow: Shadow, draft: Path, paths: list[str], stands: Mapping[str, Stand]) -> None:
    """Update these paths; one that changed its type meanwhile is left for the next look."""
    options = ("--add", "--remove", "--replace", "-z", "--stdin")
    try:
        await shadow.git("update-index", *options, stdin=listing(paths), index=draft)
    except CheckpointError:
        if len(paths) == 1:
            current = await run_sync(_read_stands, shadow, paths)
            if _is_same_file(current[paths[0]], stands[paths[0]]):
                raise
            return
        half = len(paths) // 2
        await _add(shadow, draft, paths[:half], stands)
        await _add(shadow, draft, paths[half:], stands)


def _is_same_file(first: Stand, second: Stand) -> bool:
    if first.stat is None or second.stat is None:
        return False
    return (first.stat.st_ino, first.stat.st_ctime_ns) == (second.stat.st_ino, second.stat.st_ctime_ns)


def _read_stands(shadow: Shadow, paths: list[str]) -> dict[str, Stand]:
    with shadow.files.near() as near:
        return {path: near.stand(path, read=False) for path in paths}


async def commit_tree(
    shadow: Shadow, tree: str, parent: str, *, author: str, message: str, lines: list[str]
) -> str:
    """Create a commit; `lines` are its last paragraph."""
    subject = message.replace("\0", " ").strip()[:MESSAGE_LENGTH] or "Files changed"
    text = f"{subject}\n\n" + "\n".join(lines) + "\n"
    parents = ("-p", parent) if parent else ()
    stdin = text.encode("utf-8", "replace")
    return await shadow.git.one("commit-tree", tree, *parents, "-F", "-", stdin=stdin, author=author)


async def move_head(shadow: Shadow, commit: str, taken: Taken) -> None:
    """Make a commit the newest checkpoint and the draft its index. Not interruptible once started."""
    with anyio.CancelScope(shield=True):
        await shadow.git("update-ref", MAIN, commit)
        await run_sync(taken.index.replace, shadow.git.index)
    for path, entry in taken.changed.items():
        if entry is None:
            shadow.tracked.pop(path, None)
        else:
            shadow.tracked[path] = entry
    shadow.head, shadow.modes = commit, taken.modes


async def keep(shadow: Shadow, commit: str) -> None:
    """Protect a commit and its history from being dropped."""
    await shadow.git("update-ref", f"{KEPT}{commit}", commit)
