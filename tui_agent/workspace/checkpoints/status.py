"""Changes since the newest checkpoint.

Git's index lists files that may have changed and new ones; each is then examined here. Permission bits that
git does not store are compared in a thread meanwhile.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.config.repository import find_repository, small_text
from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Changes, FileStand
from tui_agent.units import format_bytes
from tui_agent.workspace.checkpoints import unheld_files as strangers
from tui_agent.workspace.checkpoints.cancellation import while_wanted
from tui_agent.workspace.checkpoints.git import names_of
from tui_agent.workspace.checkpoints.rooted_files import EXECUTABLE, LINK, PLAIN, Stand
from tui_agent.workspace.checkpoints.state import STAGING, Entry, Shadow, disk_fault, folder_size, put

EXAMPLES = 3
"""Most paths named in a sentence about skipped files."""
SHOWN_TOTAL = 32
"""Most files of maximum size whose content one look returns, per side."""


@dataclass
class Skips:
    """Skipped paths by reason."""

    reasons: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, path: str) -> None:
        """Add a path with its reason."""
        self.reasons.setdefault(reason, []).append(path)

    def paths(self) -> list[str]:
        """Return all skipped paths."""
        return [path for paths in self.reasons.values() for path in paths]

    def words(self) -> tuple[str, ...]:
        """Return one sentence for each reason."""
        return tuple(f"{reason}: {some(paths)}" for reason, paths in sorted(self.reasons.items()))


def some(paths: Sequence[str]) -> str:
    """Return the first of these paths, and the number of the others."""
    listed = ", ".join(path.encode("utf-8", "backslashreplace").decode() for path in sorted(paths)[:EXAMPLES])
    return listed + (f" and {len(paths) - EXAMPLES} more" if len(paths) > EXAMPLES else "")


@dataclass(frozen=True, slots=True)
class Found:
    """One changed path: the checkpoint's entry and the current state."""

    path: str
    entry: Entry | None
    stand: Stand


async def look(shadow: Shadow, paths: Sequence[str] | None = None, also: Sequence[str] = ()) -> Changes:
    """Return the changes at `paths`, or anywhere and at the ignored paths in `also`."""
    skips = Skips()
    candidates = set(paths) if paths is not None else await anywhere(shadow) | set(also)
    if paths is None:
        candidates |= await _new_special_files(shadow, candidates)
    changes = await run_sync(examine, shadow, candidates, skips, paths is not None)
    shadow.require_workspace()  # it may have been deleted meanwhile
    if changes:
        changes = await within_quota(shadow, changes, skips)
    if paths is None:
        shadow.checked = frozenset(also)
    await _note_strangers(shadow, changes, skips, named=paths is not None)
    return Changes(
        paths=tuple(change.path for change in changes),
        files=await told(shadow, changes),
        skipped=skips.words(),
    )


async def _new_special_files(shadow: Shadow, candidates: Iterable[str]) -> set[str]:
    """Return the pipes, sockets and devices that are not ignored, which git's listings leave out.

    Only the folders of the checkpoint's files and of the candidates are listed, so nothing is read below an ignored
    folder, a nested repository or a link.
    """
    folders = {path.rpartition("/")[0] for path in (*shadow.tracked, *candidates) if not path.endswith("/")}
    paths = await run_sync(_special_files, shadow, folders | {""})
    return set(paths) - await strangers.ignored(shadow, paths, None) if paths else set()


def _special_files(shadow: Shadow, folders: Iterable[str]) -> list[str]:
    paths = []
    for folder in while_wanted(sorted(folders)):
        try:
            with shadow.files.folder(folder.split("/") if folder else []) as fd, os.scandir(fd) as entries:
                names = [entry.name for entry in entries if _is_special(entry)]
        except OSError:
            continue  # deleted, replaced or unreadable: the look at its files reports it
        paths += [f"{folder}/{name}" if folder else name for name in names]
    return paths


def _is_special(entry: "os.DirEntry[str]") -> bool:
    kinds = (entry.is_symlink(), entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
    return not any(kinds)


async def _note_strangers(shadow: Shadow, changes: list[Found], skips: Skips, *, named: bool) -> None:
    new = [change.path for change in changes if change.entry is None]
    if named:
        await strangers.note_ignored(shadow, new)
    else:
        await strangers.note_brought_to_light(shadow, new, [change.path for change in changes])
        await strangers.note(shadow, [*skips.paths(), *shadow.checked.intersection(new)])


def changed_after(shadow: Shadow, paths: Iterable[str], at: float) -> frozenset[str]:
    """Return the paths where something changed after this time (seconds since 1970).

    That is the file itself, or the folder of a deleted one. Uses the inode's change time, which nobody can
    set back.
    """
    with shadow.files.folder([]) as root:
        return frozenset(path for path in paths if _change_time(root, path) > at)


def _change_time(root: int, path: str) -> float:
    """Return the change time of a path, reached component by component so that no link is followed."""
    status, current = os.stat(root), ""
    for part in path.split("/"):
        current = f"{current}/{part}" if current else part
        try:
            status = os.lstat(current, dir_fd=root)
        except OSError:
            break  # deleted or unreadable: use the folder's time
        if not stat.S_ISDIR(status.st_mode):
            break
    return status.st_ctime


async def anywhere(shadow: Shadow, index: Path | None = None) -> set[str]:
    """Return every path that may have changed."""
    candidates: set[str] = set()
    faults: list[CheckpointError] = []
    async with anyio.create_task_group() as group:

        async def scan() -> None:
            try:
                candidates.update(await run_sync(other_bits, shadow))
            except OSError as fault:
                faults.append(disk_fault(shadow.workspace, fault))

        group.start_soon(scan)
        try:
            candidates.update(await listed(shadow, index))
        except CheckpointError as fault:
            faults.append(fault)
        except OSError as fault:
            faults.append(disk_fault(shadow.git.folder, fault))
    if faults:
        raise faults[0]
    return candidates | await run_sync(under_links, shadow, candidates)


async def listed(
    shadow: Shadow, index: Path | None = None, what: tuple[str, ...] = ("-m", "-d", "-o")
) -> list[str]:
    """Return the paths that git's index reports as changed, removed or new."""
    await run_sync(write_patterns, shadow)
    own_excludes = [f"--exclude=/{escaped(shadow.own_place)}"] if shadow.own_place else []
    out = await shadow.git(
        "ls-files",
        "-z",
        *what,
        "--exclude-standard",
        f"--exclude=/{STAGING}*",
        *own_excludes,
        index=index,
    )
    return names_of(out)


def escaped(path: str) -> str:
    """Return a pattern that matches only this path."""
    return "".join(f"\\{char}" if char in "\\*?[] !#" else char for char in path)


def write_patterns(shadow: Shadow) -> None:
    """Write the ignore patterns from above the workspace into the store."""
    patterns = patterns_from_above(shadow.workspace).encode("utf-8", "surrogateescape")
    path = shadow.git.folder / "info" / "exclude"
    if not path.exists() or path.read_bytes() != patterns:
        put(shadow.git.folder, path, patterns)


def other_bits(shadow: Shadow) -> list[str]:
    """Return the files whose permission bits differ from the checkpoint's."""
    modes, stat_file = shadow.modes, os.stat
    plain, executable = modes.usual
    usual = {PLAIN: plain, EXECUTABLE: executable}
    unusual = modes.unusual
    changed = []
    with shadow.files.folder([]) as root:
        for path, (git_mode, _) in while_wanted(shadow.tracked.items()):
            if git_mode == LINK:
                continue
            try:
                mode = stat_file(path, dir_fd=root, follow_symlinks=False).st_mode
            except OSError:
                continue  # deleted: git's listing reports it
            if mode & 0o7777 != (unusual[path] if path in unusual else usual[git_mode]):
                changed.append(path)
    return changed


def under_links(shadow: Shadow, candidates: Iterable[str]) -> set[str]:
    """Return the checkpoint's files below a folder that was replaced by a link."""
    new = {path for path in candidates if path not in shadow.tracked and not path.endswith("/")}
    replaced = {f"{path}/" for path in new if (shadow.workspace / path).is_symlink()}
    if not replaced:
        return set()
    prefixes = tuple(replaced)
    return {path for path in shadow.tracked if path.startswith(prefixes)}


def examine(shadow: Shadow, candidates: Iterable[str], skips: Skips, named: bool) -> list[Found]:
    """Return the candidates that really differ, sorted. Named paths are examined even if ignored."""
    nested: dict[str, bool] = {}
    changes: list[Found] = []
    room = SHOWN_TOTAL * shadow.limits.shown_bytes
    with shadow.files.near() as near:
        for path in while_wanted(sorted(candidates)):
            entry = shadow.tracked.get(path)
            reason = unfit(shadow, path, nested, tracked=entry is not None)
            if reason:
                skips.add(reason, path)
                continue
            detailed = named or len(changes) < shadow.limits.named
            stand = near.stand(path, read=detailed, most=min(room, shadow.limits.shown_bytes))
            room -= len(stand.content or b"")
            if differs(shadow, path, entry, stand, skips):
                changes.append(Found(path, entry, stand))
    return changes


def unfit(shadow: Shadow, path: str, nested: dict[str, bool], *, tracked: bool) -> str:
    """Return why a path is never saved; empty if it may be."""
    parts = path.split("/")
    if path.endswith("/"):
        return "Repositories in the workspace are not saved"
    if "" in parts or "." in parts or ".." in parts or "\0" in path:
        return "Paths outside the workspace are not saved"
    if any(part.lower() == ".git" for part in parts):
        return "Git's own files are not saved"
    if path.startswith(STAGING) or (shadow.own_place and f"{path}/".startswith(f"{shadow.own_place}/")):
        return "The session's own files are not saved"
    if any("\ud800" <= char <= "\udfff" for char in path):
        return "Names that are not UTF-8 are not saved"
    if not tracked and any(
        _is_repository(shadow, "/".join(parts[:end]), nested) for end in range(1, len(parts))
    ):
        return "Repositories in the workspace are not saved"
    return ""


def _is_repository(shadow: Shadow, folder: str, known: dict[str, bool]) -> bool:
    if folder not in known:
        known[folder] = os.path.lexists(shadow.workspace / folder / ".git")
    return known[folder]


def differs(shadow: Shadow, path: str, entry: Entry | None, stand: Stand, skips: Skips) -> bool:
    """Return True if the current state is a change to save."""
    if stand.kind == "unreadable":
        skips.add("Files that cannot be read are not saved", path)
        return False
    if stand.kind == "special":
        skips.add("Pipes, sockets and devices are not saved", path)
    if not stand.kept:
        return entry is not None
    if stand.kind == "link" and path.rsplit("/", 1)[-1].lower() == ".gitmodules":
        skips.add("Git's own files are not saved", path)
        return False
    if entry is None:
        if stand.size > shadow.limits.file_bytes:
            skips.add(f"Files above {format_bytes(shadow.limits.file_bytes)} are not saved", path)
        return stand.size <= shadow.limits.file_bytes
    if entry.git_mode != stand.git_mode or shadow.modes.differ(path, entry.git_mode, stand.bits):
        return True
    return not stand.oid or stand.oid != entry.oid


async def within_quota(shadow: Shadow, changes: list[Found], skips: Skips) -> list[Found]:
    """Return the changes that fit into the store."""
    new_bytes = sum(change.stand.size for change in changes)
    if shadow.grown + new_bytes > shadow.limits.total_bytes:
        shadow.grown = await run_sync(grown, shadow)
    room = shadow.limits.total_bytes - shadow.grown
    accepted = []
    for change in changes:
        cost = change.stand.size if change.entry is None or change.stand.oid != change.entry.oid else 0
        if cost <= room or not change.stand.kept:
            room -= cost
            accepted.append(change)
        else:
            words = format_bytes(shadow.limits.total_bytes)
            skips.add(f"The checkpoint limit of {words} is reached, so these are not saved", change.path)
    return accepted


def grown(shadow: Shadow) -> int:
    """Measure how much the store has grown since its first checkpoint, in bytes."""
    path = shadow.git.folder / "first-size"
    recorded = path.read_text() if path.exists() else ""
    initial = int(recorded) if recorded.isdigit() else 0
    return max(0, folder_size(shadow.git.folder / "objects") - initial)


async def told(shadow: Shadow, changes: list[Found]) -> tuple[FileStand, ...]:
    """Return the first changes in detail."""
    detailed = changes[: shadow.limits.named]
    ids = [change.entry.oid for change in detailed if change.entry is not None]
    sizes = await shadow.git.sizes(ids, missing=True)
    room = SHOWN_TOTAL * shadow.limits.shown_bytes
    small = []
    for oid, size in sizes.items():
        if size <= min(room, shadow.limits.shown_bytes):
            small.append(oid)
            room -= size
    contents = await shadow.git.contents({oid: sizes[oid] for oid in small})
    return tuple(_file_stand(change, sizes, contents) for change in detailed)


def _file_stand(change: Found, sizes: dict[str, int], contents: dict[str, bytes]) -> FileStand:
    oid = change.entry.oid if change.entry is not None else ""
    stand = change.stand
    return FileStand(
        path=change.path,
        before=contents.get(oid),
        after=stand.content,
        before_size=sizes.get(oid, 0),
        after_size=stand.size if stand.kept else 0,
        mode=stand.bits if stand.kept else None,
    )


def patterns_from_above(workspace: Path) -> str:
    """Return the patterns that apply in the workspace, except those of its own `.gitignore` files."""
    repository = find_repository(workspace)
    if repository is None:
        return ""
    names = workspace.relative_to(repository.top).parts
    lines = _rewrite_lines(small_text(repository.common / "info" / "exclude"), names)
    for depth in range(len(names)):
        folder = repository.top.joinpath(*names[:depth])
        lines += _rewrite_lines(small_text(folder / ".gitignore"), names[depth:])
    return "".join(f"{line}\n" for line in lines)


def _rewrite_lines(text: str, below: tuple[str, ...]) -> list[str]:
    lines = (line.rstrip("\r") for line in text.split("\n"))
    patterns = (rewritten(line, below) for line in lines if line.strip() and not line.startswith("#"))
    return [line for line in patterns if line is not None]


def rewritten(pattern: str, below: tuple[str, ...]) -> str | None:
    """Rewrite a folder's pattern for the folder `below` it; None if it matches nothing there."""
    negated = pattern.startswith("!")
    body = pattern.removeprefix("!")
    path_pattern = body.rstrip("/")
    if "/" not in path_pattern or not below:
        return pattern
    parts = path_pattern.lstrip("/").split("/")
    for name in below:
        if parts and parts[0] == "**":
            break
        if not parts or not fnmatchcase(name, parts[0]):
            return None
        parts = parts[1:]
    if not parts:
        return None
    suffix = "/" if body.endswith("/") else ""
    return ("!" if negated else "") + "/" + "/".join(parts) + suffix
