"""What differs from the newest checkpoint.

Git's index says which files may have changed and which are new; each of them is then looked at here. The permission
bits that git does not keep are compared in a thread meanwhile.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Changes, FileStand
from tui_agent.workspace.checkpoints import unheld_files as strangers
from tui_agent.workspace.checkpoints.cancellation import while_wanted
from tui_agent.workspace.checkpoints.git import names_of
from tui_agent.workspace.checkpoints.git_excludes import patterns_from_above
from tui_agent.workspace.checkpoints.limits import size_in_words
from tui_agent.workspace.checkpoints.rooted_files import EXECUTABLE, LINK, PLAIN, Stand
from tui_agent.workspace.checkpoints.special_files import special
from tui_agent.workspace.checkpoints.state import STAGING, Entry, Shadow, disk_fault, folder_size, put

EXAMPLES = 3
"""Paths that a word about what was skipped names."""
SHOWN_TOTAL = 32
"""How many files of the largest size one look hands about at most, of each side."""


@dataclass
class Skips:
    """What was not taken, by reason."""

    reasons: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, path: str) -> None:
        """One path, for this reason."""
        self.reasons.setdefault(reason, []).append(path)

    def paths(self) -> list[str]:
        """All of them."""
        return [path for paths in self.reasons.values() for path in paths]

    def words(self) -> tuple[str, ...]:
        """One sentence a reason."""
        return tuple(f"{reason}: {some(paths)}" for reason, paths in sorted(self.reasons.items()))


def some(paths: Sequence[str]) -> str:
    """The first of these paths, and how many more there are."""
    named = ", ".join(path.encode("utf-8", "backslashreplace").decode() for path in sorted(paths)[:EXAMPLES])
    return named + (f" and {len(paths) - EXAMPLES} more" if len(paths) > EXAMPLES else "")


@dataclass(frozen=True, slots=True)
class Found:
    """One changed path: what the checkpoint holds and what stands there."""

    path: str
    entry: Entry | None
    stand: Stand


async def look(shadow: Shadow, paths: Sequence[str] | None = None, also: Sequence[str] = ()) -> Changes:
    """What differs now: at `paths`; or anywhere, and at the paths in `also` though they are ignored."""
    skips = Skips()
    candidates = set(paths) if paths is not None else await anywhere(shadow) | set(also)
    if paths is None:
        candidates |= await special(shadow, candidates)
    found = await run_sync(examine, shadow, candidates, skips, paths is not None)
    shadow.require_workspace()  # it may have gone meanwhile
    if found:
        found = await within_quota(shadow, found, skips)
    if paths is None:
        shadow.checked = frozenset(also)
    await _note_strangers(shadow, found, skips, named=paths is not None)
    return Changes(
        paths=tuple(each.path for each in found),
        files=await told(shadow, found),
        skipped=skips.words(),
    )


async def _note_strangers(shadow: Shadow, found: list[Found], skips: Skips, *, named: bool) -> None:
    new = [each.path for each in found if each.entry is None]
    if named:
        await strangers.note_ignored(shadow, new)
    else:
        await strangers.note_brought_to_light(shadow, new, [each.path for each in found])
        await strangers.note(shadow, [*skips.paths(), *shadow.checked.intersection(new)])


def changed_after(shadow: Shadow, paths: Iterable[str], at: float) -> frozenset[str]:
    """The paths at which something changed after this time: what stands there, or the folder that it is gone from. The time is
    the one that nobody can set back (of the inode, not of the content)."""
    with shadow.files.folder([]) as root:
        return frozenset(path for path in paths if _changed_at(root, path) > at)


def _changed_at(root: int, path: str) -> float:
    """Reached part by part, so that no link is followed."""
    found, place = os.stat(root), ""
    for part in path.split("/"):
        place = f"{place}/{part}" if place else part
        try:
            found = os.lstat(place, dir_fd=root)
        except OSError:
            break  # gone, or not to be looked at: the folder tells
        if not stat.S_ISDIR(found.st_mode):
            break
    return found.st_ctime


async def anywhere(shadow: Shadow, index: Path | None = None) -> set[str]:
    """Every path that may have changed."""
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
    """The paths that git's index finds changed, removed or new."""
    await run_sync(write_patterns, shadow)
    own = [f"--exclude=/{escaped(shadow.own_place)}"] if shadow.own_place else []
    out = await shadow.git(
        "ls-files",
        "-z",
        *what,
        "--exclude-standard",
        f"--exclude=/{STAGING}*",
        *own,
        index=index,
    )
    return names_of(out)


def escaped(path: str) -> str:
    """A path as a pattern that matches it alone."""
    return "".join(f"\\{char}" if char in "\\*?[] !#" else char for char in path)


def write_patterns(shadow: Shadow) -> None:
    """Tell the store what the folders above the workspace ignore."""
    wanted = patterns_from_above(shadow.workspace).encode("utf-8", "surrogateescape")
    path = shadow.git.folder / "info" / "exclude"
    if not path.exists() or path.read_bytes() != wanted:
        put(shadow.git.folder, path, wanted)


def other_bits(shadow: Shadow) -> list[str]:
    """The files whose permission bits are not those of the checkpoint."""
    modes, look_at = shadow.modes, os.stat
    plain, executable = modes.usual
    usual = {PLAIN: plain, EXECUTABLE: executable}
    unusual = modes.unusual
    changed = []
    with shadow.files.folder([]) as root:
        for path, (git_mode, _) in while_wanted(shadow.tracked.items()):
            if git_mode == LINK:
                continue
            try:
                found = look_at(path, dir_fd=root, follow_symlinks=False).st_mode
            except OSError:
                continue  # it is gone: git's listing tells that
            if found & 0o7777 != (unusual[path] if path in unusual else usual[git_mode]):
                changed.append(path)
    return changed


def under_links(shadow: Shadow, candidates: Iterable[str]) -> set[str]:
    """The checkpoint's files below a folder in whose place something else stands now."""
    new = {path for path in candidates if path not in shadow.tracked and not path.endswith("/")}
    replaced = {f"{path}/" for path in new if (shadow.workspace / path).is_symlink()}
    if not replaced:
        return set()
    below = tuple(replaced)
    return {path for path in shadow.tracked if path.startswith(below)}


def examine(shadow: Shadow, candidates: Iterable[str], skips: Skips, named: bool) -> list[Found]:
    """The candidates that really differ, in order. Paths that were named are taken though they are ignored."""
    nested: dict[str, bool] = {}
    found: list[Found] = []
    room = SHOWN_TOTAL * shadow.limits.shown_bytes
    with shadow.files.near() as near:
        for path in while_wanted(sorted(candidates)):
            entry = shadow.tracked.get(path)
            reason = unfit(shadow, path, nested, tracked=entry is not None)
            if reason:
                skips.add(reason, path)
                continue
            detailed = named or len(found) < shadow.limits.named
            stand = near.stand(path, read=detailed, most=min(room, shadow.limits.shown_bytes))
            room -= len(stand.content or b"")
            if differs(shadow, path, entry, stand, skips):
                found.append(Found(path, entry, stand))
    return found


def unfit(shadow: Shadow, path: str, nested: dict[str, bool], *, tracked: bool) -> str:
    """Why a path is never kept; empty for one that may be."""
    parts = path.split("/")
    if path.endswith("/"):
        return "Repositories in the workspace are not kept"
    if "" in parts or "." in parts or ".." in parts or "\0" in path:
        return "Paths outside the workspace are not kept"
    if any(part.lower() == ".git" for part in parts):
        return "Git's own files are not kept"
    if path.startswith(STAGING) or (shadow.own_place and f"{path}/".startswith(f"{shadow.own_place}/")):
        return "The session's own files are not kept"
    if any("\ud800" <= char <= "\udfff" for char in path):
        return "Names that are not UTF-8 are not kept"
    if not tracked and any(_nested(shadow, "/".join(parts[:end]), nested) for end in range(1, len(parts))):
        return "Repositories in the workspace are not kept"
    return ""


def _nested(shadow: Shadow, folder: str, known: dict[str, bool]) -> bool:
    if folder not in known:
        known[folder] = os.path.lexists(shadow.workspace / folder / ".git")
    return known[folder]


def differs(shadow: Shadow, path: str, entry: Entry | None, stand: Stand, skips: Skips) -> bool:
    """Whether what stands there is to be kept as a change."""
    if stand.kind == "unreadable":
        skips.add("Files that cannot be read are not kept", path)
        return False
    if stand.kind == "special":
        skips.add("Pipes, sockets and devices are not kept", path)
    if not stand.kept:
        return entry is not None
    if stand.kind == "link" and path.rsplit("/", 1)[-1].lower() == ".gitmodules":
        skips.add("Git's own files are not kept", path)
        return False
    if entry is None:
        if stand.size > shadow.limits.file_bytes:
            skips.add(f"Files above {size_in_words(shadow.limits.file_bytes)} are not kept", path)
        return stand.size <= shadow.limits.file_bytes
    if entry.git_mode != stand.git_mode or shadow.modes.differ(path, entry.git_mode, stand.bits):
        return True
    return not stand.oid or stand.oid != entry.oid


async def within_quota(shadow: Shadow, found: list[Found], skips: Skips) -> list[Found]:
    """Those changes for which the store has room."""
    new = sum(each.stand.size for each in found)
    if shadow.grown + new > shadow.limits.total_bytes:
        shadow.grown = await run_sync(grown, shadow)
    room = shadow.limits.total_bytes - shadow.grown
    taken = []
    for each in found:
        cost = each.stand.size if each.entry is None or each.stand.oid != each.entry.oid else 0
        if cost <= room or not each.stand.kept:
            room -= cost
            taken.append(each)
        else:
            words = size_in_words(shadow.limits.total_bytes)
            skips.add(f"The checkpoints' {words} are used up, so these are not kept", each.path)
    return taken


def grown(shadow: Shadow) -> int:
    """What the store has grown by since its first checkpoint, measured."""
    path = shadow.git.folder / "first-size"
    noted = path.read_text() if path.exists() else ""
    first = int(noted) if noted.isdigit() else 0
    return max(0, folder_size(shadow.git.folder / "objects") - first)


async def told(shadow: Shadow, found: list[Found]) -> tuple[FileStand, ...]:
    """The first changes in detail."""
    first = found[: shadow.limits.named]
    ids = [each.entry.oid for each in first if each.entry is not None]
    sizes = await shadow.git.sizes(ids, missing=True)
    room = SHOWN_TOTAL * shadow.limits.shown_bytes
    small = []
    for oid, size in sizes.items():
        if size <= min(room, shadow.limits.shown_bytes):
            small.append(oid)
            room -= size
    contents = await shadow.git.contents({oid: sizes[oid] for oid in small})
    return tuple(_file_stand(each, sizes, contents) for each in first)


def _file_stand(each: Found, sizes: dict[str, int], contents: dict[str, bytes]) -> FileStand:
    oid = each.entry.oid if each.entry is not None else ""
    stand = each.stand
    return FileStand(
        path=each.path,
        before=contents.get(oid),
        after=stand.content,
        before_size=sizes.get(oid, 0),
        after_size=stand.size if stand.kept else 0,
        mode=stand.bits if stand.kept else None,
    )
