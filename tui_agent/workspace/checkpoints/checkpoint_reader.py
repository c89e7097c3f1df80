"""Reader of checkpoints that does not touch the workspace."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.git import names_of
from tui_agent.workspace.checkpoints.modes import Modes
from tui_agent.workspace.checkpoints.repair import meant
from tui_agent.workspace.checkpoints.rooted_files import LINK
from tui_agent.workspace.checkpoints.state import Shadow, disk_fault


class KeptFile(NamedTuple):
    """A file of a checkpoint. `mode` is the full mode: type and permission bits."""

    path: str
    size: int
    mode: int


class LineChange(NamedTuple):
    """A path that differs between two checkpoints, with added and removed lines; 0 for binary files."""

    path: str
    added: int
    removed: int


async def files_at(shadow: Shadow, commit: str) -> list[KeptFile]:
    """Return every file of a checkpoint, sorted by path."""
    await shadow.tree(commit)
    modes = await shadow.modes_at(commit)
    out = await shadow.git("ls-tree", "-r", "-z", "-l", commit)
    files = []
    for item in names_of(out):
        info, path = item.split("\t", 1)
        mode, _, oid, size = info.split()
        if not size.isdigit():
            raise shadow.git.missing(oid)
        git_mode = int(mode, 8)
        full_mode = (
            git_mode | 0o777 if git_mode == LINK else (git_mode & 0o170000) | modes.bits(path, git_mode)
        )
        files.append(KeptFile(path, int(size), full_mode))
    return sorted(files)


async def lost(shadow: Shadow, commits: Sequence[str]) -> list[str]:
    """Return the commits that are missing or unreadable in the store and have no stand-in."""
    actual = {commit: await run_sync(meant, shadow.git.folder, commit) for commit in dict.fromkeys(commits)}
    if not actual:
        return []
    stdin = "".join(f"{target}^{{tree}}\n" for target in actual.values()).encode()
    ended = await shadow.git.end("cat-file", "--batch-check", stdin=stdin)
    lines = ended.out.splitlines()
    if ended.code:  # git stops at the first damaged one
        return [commit for commit, target in actual.items() if await _is_lost(shadow, target)]
    return [commit for commit, line in zip(actual, lines, strict=True) if line.endswith(b" missing")]


async def _is_lost(shadow: Shadow, commit: str) -> bool:
    return (await shadow.git.end("cat-file", "-e", f"{commit}^{{tree}}")).code != 0


async def read_at(shadow: Shadow, commit: str, path: str) -> bytes:
    """Return a file's bytes in a checkpoint, or a link's target. Raises `CheckpointError` if it is not in it."""
    await shadow.tree(commit)
    out = await shadow.git("ls-tree", "-z", commit, "--", path)
    for item in names_of(out):
        info, name = item.split("\t", 1)
        if name == path and " blob " in info:
            return await shadow.git("cat-file", "blob", info.split(" ")[2])
    raise CheckpointError(
        f"{path} is not in the checkpoint {commit[:12]}.", hint="List the files of the checkpoint first."
    )


async def difference(shadow: Shadow, before: str, after: str) -> list[LineChange]:
    """Return the paths that differ between two checkpoints."""
    for commit in (before, after):
        await shadow.tree(commit)
    options = ("-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
    out = await shadow.git("diff-tree", *options, before, after, "--")
    changes = {}
    for item in names_of(out):
        added, removed, path = item.split("\t", 2)
        changes[path] = LineChange(
            path, *(int(count) if count.isdigit() else 0 for count in (added, removed))
        )
    first, second = await shadow.modes_at(before), await shadow.modes_at(after)
    for path in first.unusual.keys() ^ second.unusual.keys():
        changes.setdefault(path, LineChange(path, 0, 0))
    return sorted(changes.values())


async def checkout(shadow: Shadow, commit: str, dest: Path) -> None:
    """Write the files of a checkpoint into an empty folder, which is created if missing."""
    await shadow.tree(commit)
    modes = await shadow.modes_at(commit)
    await run_sync(_empty_folder, dest)
    with shadow.draft(empty=True) as draft:
        await shadow.git("read-tree", commit, index=draft)
        await shadow.git("checkout-index", "--all", "--quiet", index=draft, tree=dest)
        tracked = await shadow.load(draft)
        files = {path: entry.git_mode for path, entry in tracked.items() if entry.git_mode != LINK}
        await run_sync(_set_bits, dest, files, modes)


def _empty_folder(dest: Path) -> None:
    try:
        dest.mkdir(parents=True, exist_ok=True)
        if any(dest.iterdir()):
            raise CheckpointError(f"{dest} is not empty.", hint="Choose a new or empty folder.")
    except OSError as fault:
        raise disk_fault(dest, fault) from fault


def _set_bits(dest: Path, files: dict[str, int], modes: Modes) -> None:
    for path, git_mode in files.items():
        (dest / path).chmod(modes.bits(path, git_mode))
