"""Files that were there before a call and that no checkpoint held: too large, over the quota, ignored, in a repository
of their own.

When such a path is kept for the first time, its commit says so (`Before: "path"` in the last paragraph). Where that is a
person's commit, taken before a call, it holds what was there, and going back puts that back; otherwise nobody knows what
was there, and going back never removes the path unasked.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import uuid4

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.git import listing, names_of
from tui_agent.workspace.checkpoints.modes import trailer
from tui_agent.workspace.checkpoints.state import Shadow

RULES = ".gitignore"
WORD = "Before"
LEFT = "Left"


def lines_of(shadow: Shadow, paths: Iterable[str]) -> list[str]:
    """The lines of a commit that keeps these paths."""
    return before_lines(path for path in paths if path not in shadow.tracked and shadow.is_stranger(path))


def before_lines(paths: Iterable[str]) -> list[str]:
    """The lines that say so of these paths."""
    return [f"{WORD}: {json.dumps(path)}" for path in sorted(paths)]


def named_in(message: str) -> set[str]:
    """The paths of which a commit says that something was there before."""
    lines = (line.partition(": ") for line in trailer(message))
    return {str(json.loads(rest)) for word, _, rest in lines if word == WORD}


def left_lines(paths: Iterable[str], first_kept: Mapping[str, str]) -> list[str]:
    """The lines that say that these paths are the session's and a person's: a restore left them alone, each with the commit
    that kept it first, if that counts; or nobody knows who changed them."""
    return [f"{LEFT}: {json.dumps([path, first_kept.get(path, '')])}" for path in sorted(paths)]


def left_in(message: str) -> dict[str, str]:
    """The paths that a commit says are the session's and a person's, and the commit that kept each first."""
    lines = (line.partition(": ") for line in trailer(message))
    pairs = (json.loads(rest) for word, _, rest in lines if word == LEFT)
    return {str(path): str(commit) for path, commit in pairs}


async def note(shadow: Shadow, skipped: Iterable[str]) -> None:
    """A look at everything has skipped these; what is gone is forgotten."""
    known = shadow.strangers | {path for path in skipped if path not in shadow.tracked}
    shadow.strangers = await run_sync(_there, shadow.workspace, known)


def _there(workspace: Path, paths: set[str]) -> set[str]:
    return {path for path in paths if "\0" not in path and os.path.lexists(workspace / path)}


async def note_brought_to_light(shadow: Shadow, new: list[str], changed: Iterable[str]) -> None:
    """Where the rules of what is ignored changed, what they hid until now may have been there before."""
    if new and any(path.rsplit("/", 1)[-1] == RULES for path in changed):
        shadow.strangers |= await _ignored_before(shadow, new)


async def note_ignored(shadow: Shadow, new: list[str]) -> None:
    """Of ignored paths nobody knows what was there, but for those that were looked at before."""
    unknown = [path for path in new if path not in shadow.checked]
    if unknown:
        shadow.strangers |= await ignored(shadow, unknown, None)


async def _ignored_before(shadow: Shadow, paths: list[str]) -> set[str]:
    """Those that the rules in the newest checkpoint hide."""
    rules = {path: entry.oid for path, entry in shadow.tracked.items() if path.rsplit("/", 1)[-1] == RULES}
    sizes = await shadow.git.sizes(list(rules.values()), missing=True)
    texts = await shadow.git.contents(sizes)
    folder = shadow.git.folder / f"draft-{uuid4().hex}"
    try:
        await run_sync(_write, folder, {path: texts[oid] for path, oid in rules.items() if oid in texts})
        return await ignored(shadow, paths, folder)
    finally:
        await run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))


def _write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


async def ignored(shadow: Shadow, paths: list[str], tree: Path | None) -> set[str]:
    """Those of the paths that the rules hide: the rules in the workspace, or in `tree`."""
    stdin = listing([f"./{path}" for path in paths])  # so that no name is taken for a pattern
    words = ("--no-literal-pathspecs", "check-ignore", "--no-index", "-z", "--stdin")
    ended = await shadow.git.end(*words, stdin=stdin, tree=tree)
    if ended.code not in (0, 1):
        return set(paths)  # nobody knows: it is asked
    return {path.removeprefix("./") for path in names_of(ended.out)}
