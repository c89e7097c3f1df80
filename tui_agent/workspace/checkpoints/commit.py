"""Keeping changes as the newest checkpoint.

Invariant: the index of the newest checkpoint is worked on as a copy, which takes its place after the commit is there;
a fault or cancellation before that leaves the store at the checkpoint before.
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
    """A draft that holds the workspace's changes: its tree, what it tracks, and the permission bits."""

    index: Path
    tree: str
    changed: Mapping[str, Entry | None]
    modes: Modes


async def commit(shadow: Shadow, changes: Changes, *, message: str, author: str, part: int) -> str:
    """Keep what stands at the changed paths as the newest checkpoint; its commit."""
    paths = changes.paths
    with shadow.draft() as draft:
        taken = await take(shadow, draft, paths)
        doubtful = left_lines(changes.doubtful, {})
        lines = [f"Part: {part}", *lines_of(shadow, paths), *doubtful, *taken.modes.since(shadow.modes)]
        made = await commit_tree(shadow, taken.tree, shadow.head, author=author, message=message, lines=lines)
        await move_head(shadow, made, taken)
    return made


async def take(shadow: Shadow, draft: Path, paths: Collection[str]) -> Taken:
    """Bring a copy of the newest checkpoint's index up to what stands at `paths`."""
    stands = await run_sync(_stands, shadow, sorted(paths))
    present = [path for path, stand in stands.items() if stand.kept]
    gone = [path for path, stand in stands.items() if not stand.kept]
    if gone:
        await shadow.git("update-index", "--force-remove", "-z", "--stdin", stdin=listing(gone), index=draft)
    if present:
        await _add(shadow, draft, present, stands)
    tree = await shadow.git.one("write-tree", "--missing-ok", index=draft)
    differing = await shadow.between(shadow.head, tree)
    changed = {path: after for path, (_, after) in differing.items()}
    found = {}
    for path in present:
        entry = changed.get(path, shadow.tracked.get(path))
        if entry is not None:
            found[path] = (entry.git_mode, stands[path].bits)
    removed = [path for path, entry in changed.items() if entry is None]
    shadow.grown += sum(stands[path].size for path in changed if path in stands)
    return Taken(draft, tree, changed, shadow.modes.changed(found, removed))


async def _add(shadow: Shadow, draft: Path, paths: list[str], stands: Mapping[str, Stand]) -> None:
    """Bring these paths up to date; one that changed its kind meanwhile stays as it is, for the next look."""
    options = ("--add", "--remove", "--replace", "-z", "--stdin")
    try:
        await shadow.git("update-index", *options, stdin=listing(paths), index=draft)
    except CheckpointError:
        if len(paths) == 1:
            now = await run_sync(_stands, shadow, paths)
            if _same(now[paths[0]], stands[paths[0]]):
                raise
            return
        half = len(paths) // 2
        await _add(shadow, draft, paths[:half], stands)
        await _add(shadow, draft, paths[half:], stands)


def _same(one: Stand, other: Stand) -> bool:
    if one.stat is None or other.stat is None:
        return False
    return (one.stat.st_ino, one.stat.st_ctime_ns) == (other.stat.st_ino, other.stat.st_ctime_ns)


def _stands(shadow: Shadow, paths: list[str]) -> dict[str, Stand]:
    with shadow.files.near() as near:
        return {path: near.stand(path, read=False) for path in paths}


async def commit_tree(
    shadow: Shadow, tree: str, parent: str, *, author: str, message: str, lines: list[str]
) -> str:
    """Make a commit; `lines` are its last paragraph."""
    said = message.replace("\0", " ").strip()[:MESSAGE_LENGTH] or "Files changed"
    text = f"{said}\n\n" + "\n".join(lines) + "\n"
    parents = ("-p", parent) if parent else ()
    stdin = text.encode("utf-8", "replace")
    return await shadow.git.one("commit-tree", tree, *parents, "-F", "-", stdin=stdin, author=author)


async def move_head(shadow: Shadow, commit: str, taken: Taken) -> None:
    """Make a commit the newest checkpoint, and the draft its index. Not to be interrupted once begun."""
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
    """See that nothing that leads to a commit is ever dropped."""
    await shadow.git("update-ref", f"{KEPT}{commit}", commit)
