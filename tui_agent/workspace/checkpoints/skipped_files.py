"""Existing files that no checkpoint contains: too large, over the quota, ignored, or in another repository.

When a checkpoint first saves such a file, the commit message gets the line `Before: "path"` (see `commit_message`). The
user is asked before a restore removes the file.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.commit_message import format_before_lines
from tui_agent.workspace.checkpoints.git_runner import join_paths, split_names
from tui_agent.workspace.checkpoints.store_state import CheckpointStore

IGNORE_FILE = ".gitignore"


async def record_unsaved(shadow: CheckpointStore, skipped: Iterable[str]) -> None:
    """Update `unsaved_paths` after a search for changes: add `skipped` paths, and remove paths that no longer exist."""
    known = shadow.unsaved_paths | {path for path in skipped if path not in shadow.tracked}
    shadow.unsaved_paths = await run_sync(_keep_existing, shadow.workspace, known)


def _keep_existing(workspace: Path, paths: set[str]) -> set[str]:
    return {path for path in paths if "\0" not in path and os.path.lexists(workspace / path)}


async def record_unhidden(shadow: CheckpointStore, new: list[str], changed: Iterable[str]) -> None:
    """If an ignore file changed, add to `unsaved_paths` the paths in `new` that were ignored before the change.

    `changed`: all changed paths.
    """
    if new and any(path.rsplit("/", 1)[-1] == IGNORE_FILE for path in changed):
        shadow.unsaved_paths |= await _find_previously_ignored(shadow, new)


async def record_ignored(shadow: CheckpointStore, new: list[str]) -> None:
    """Add the ignored paths in `new` to `unsaved_paths`. Skip paths that were examined earlier."""
    unknown = [path for path in new if path not in shadow.checked_ignored]
    if unknown:
        shadow.unsaved_paths |= await find_ignored(shadow, unknown, None)


async def _find_previously_ignored(shadow: CheckpointStore, paths: list[str]) -> set[str]:
    rules = {
        path: entry.oid for path, entry in shadow.tracked.items() if path.rsplit("/", 1)[-1] == IGNORE_FILE
    }
    sizes = await shadow.git.read_sizes(list(rules.values()), missing=True)
    texts = await shadow.git.read_contents(sizes)
    folder = shadow.git.folder / f"draft-{uuid4().hex}"
    try:
        await run_sync(_write, folder, {path: texts[oid] for path, oid in rules.items() if oid in texts})
        return await find_ignored(shadow, paths, folder)
    finally:
        await run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))


def _write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


async def find_ignored(shadow: CheckpointStore, paths: list[str], tree: Path | None) -> set[str]:
    """Return the `paths` that git ignores in the work tree `tree` (None: the workspace)."""
    # The prefix prevents git from reading names as patterns.
    stdin = join_paths([f"./{path}" for path in paths])
    words = ("--no-literal-pathspecs", "check-ignore", "--no-index", "-z", "--stdin")
    result = await shadow.git.run(*words, stdin=stdin, tree=tree)
    if result.code not in (0, 1):
        return set(paths)  # git failed, so treat all of them as ignored; a restore then asks the user
    return {path.removeprefix("./") for path in split_names(result.out)}


def format_commit_lines(shadow: CheckpointStore, paths: Iterable[str]) -> list[str]:
    """Return the `Before` lines for the message of a commit that saves `paths`."""
    return format_before_lines(
        path for path in paths if path not in shadow.tracked and shadow.was_unsaved(path)
    )
