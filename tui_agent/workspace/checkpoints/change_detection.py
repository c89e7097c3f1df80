"""Finds changes in the workspace since the newest checkpoint.

Git lists the new and possibly changed files. This module compares each one with the checkpoint.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.config.project.repository import find_repository, read_small_text
from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.checkpoint import FileDifference, WorkspaceChanges
from tui_agent.protocol.events.files import FolderChange
from tui_agent.protocol.unicode_text import list_first
from tui_agent.units import format_bytes
from tui_agent.workspace.checkpoints.cancellation import iterate_cancellable
from tui_agent.workspace.checkpoints.git_runner import split_names
from tui_agent.workspace.checkpoints.rooted_files import EXECUTABLE, LINK, PLAIN, FileState
from tui_agent.workspace.checkpoints.skipped_files import (
    find_ignored,
    record_ignored,
    record_unhidden,
    record_unsaved,
)
from tui_agent.workspace.checkpoints.store_state import (
    STAGING_PREFIX,
    CheckpointStore,
    Entry,
    disk_error,
    measure_folder,
    write_file,
)

MAX_EXAMPLES = 3
"""Maximum number of paths in a sentence about skipped files."""
SHOWN_BYTES_FACTOR = 32
"""Maximum total size of the file contents in one search for changes, as a multiple of `Limits.shown_bytes`."""


@dataclass
class SkippedPaths:
    """Paths that a checkpoint skips, grouped by the reason."""

    reasons: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, path: str) -> None:
        self.reasons.setdefault(reason, []).append(path)

    def paths(self) -> list[str]:
        return [path for paths in self.reasons.values() for path in paths]

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each reason, such as "Files above 10 MB are not saved: a.iso, b.iso"."""
        return tuple(f"{reason}: {list_examples(paths)}" for reason, paths in sorted(self.reasons.items()))


def list_examples(paths: Sequence[str]) -> str:
    """Return the first `MAX_EXAMPLES` paths and the number of further paths, such as "a, b and 3 more"."""
    names = [path.encode("utf-8", "backslashreplace").decode() for path in sorted(paths)]
    return list_first(names, MAX_EXAMPLES)


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """A changed path: its entry in the newest checkpoint and its current state on disk."""

    path: str
    entry: Entry | None
    state: FileState


async def find_changes(
    shadow: CheckpointStore, paths: Sequence[str] | None = None, also: Sequence[str] = ()
) -> WorkspaceChanges:
    """Return the changes at `paths`, or in the whole workspace if `paths` is None.

    `also`: paths to include even if git ignores them.
    """
    skips = SkippedPaths()
    candidates = set(paths) if paths is not None else await find_candidates(shadow) | set(also)
    if paths is None:
        candidates |= await _new_special_files(shadow, candidates)
    changes = await run_sync(examine_candidates, shadow, candidates, skips, paths is not None)
    shadow.require_workspace()  # it may have been deleted since the last call
    if changes:
        changes = await limit_to_quota(shadow, changes, skips)
    # A new file that the previous search looked for did not exist then. So it is like any other new file.
    seen_first = frozenset(also) - shadow.checked_ignored
    if paths is None:
        shadow.checked_ignored = frozenset(also)
    await _record_unsaved(shadow, changes, skips, None if paths is not None else seen_first)
    folders = await run_sync(_count_generated, shadow, changes) if paths is None else ()
    names = tuple(folder.path for folder in folders)
    own = [change for change in changes if not (names and change.path.startswith(names))]
    return WorkspaceChanges(
        paths=tuple(sorted(change.path for change in changes)),
        files=await describe_changes(shadow, own),
        skipped=skips.sentences(),
        saved_paths=frozenset(change.path for change in changes if change.entry is not None),
        folders=folders,
    )


def _count_generated(shadow: CheckpointStore, changes: Sequence[ChangedPath]) -> tuple[FolderChange, ...]:
    """Return the number of changed files in each generated folder."""
    generated = shadow.find_generated()
    changed = generated.count(change.path for change in changes)
    if not changed:
        return ()
    total = generated.count(shadow.tracked)
    new = generated.count(change.path for change in changes if change.entry is None)
    return tuple(
        FolderChange(path=path, files=changed[path], total=total[path] + new[path])
        for path in sorted(changed)
    )


async def _new_special_files(shadow: CheckpointStore, candidates: Iterable[str]) -> set[str]:
    """Return the new pipes, sockets and devices that git does not ignore.

    `candidates`: the changed paths. Only their folders and the folders of saved files are searched.
    """
    # Git never lists special files. Only these folders are searched, so that nothing is read below an ignored folder.
    folders = {path.rpartition("/")[0] for path in (*shadow.tracked, *candidates) if not path.endswith("/")}
    paths = await run_sync(_special_files, shadow, folders | {""})
    return set(paths) - await find_ignored(shadow, paths, None) if paths else set()


def _special_files(shadow: CheckpointStore, folders: Iterable[str]) -> list[str]:
    paths = []
    for folder in iterate_cancellable(sorted(folders)):
        try:
            with shadow.files.folder(folder.split("/") if folder else []) as fd, os.scandir(fd) as entries:
                names = [entry.name for entry in entries if _is_special(entry)]
        except OSError:
            continue  # deleted, replaced or unreadable; examining its files reports that
        paths += [f"{folder}/{name}" if folder else name for name in names]
    return paths


def _is_special(entry: "os.DirEntry[str]") -> bool:
    kinds = (entry.is_symlink(), entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
    return not any(kinds)


async def _record_unsaved(
    shadow: CheckpointStore, changes: list[ChangedPath], skips: SkippedPaths, ignored: frozenset[str] | None
) -> None:
    """Update `unsaved_paths` after a search.

    `ignored`: ignored paths that this search included for the first time. None if all paths were named.
    """
    new = [change.path for change in changes if change.entry is None]
    if ignored is None:
        await record_ignored(shadow, new)
    else:
        await record_unhidden(shadow, new, [change.path for change in changes])
        await record_unsaved(shadow, [*skips.paths(), *ignored.intersection(new)])


def changed_after(shadow: CheckpointStore, paths: Iterable[str], time: float) -> frozenset[str]:
    """Return the `paths` that changed after `time` (seconds since 1970)."""
    # The time is the inode's change time, which programs cannot set. For a deleted file, the time of its folder is
    # used.
    with shadow.files.folder([]) as root:
        return frozenset(path for path in paths if _change_time(root, path) > time)


def _change_time(root: int, path: str) -> float:
    """Return the change time of a path or, for a missing path, of the nearest existing folder above it."""
    status, current = os.stat(root), ""
    for part in path.split("/"):
        current = f"{current}/{part}" if current else part
        try:
            status = os.lstat(current, dir_fd=root)
        except OSError:
            break  # deleted or unreadable; use the folder's time
        if not stat.S_ISDIR(status.st_mode):
            break
    return status.st_ctime


async def find_candidates(shadow: CheckpointStore, index: Path | None = None) -> set[str]:
    """Return every path that could have changed since the newest checkpoint."""
    candidates: set[str] = set()
    # The errors are collected, because the task group would wrap them in an exception group.
    faults: list[CheckpointError] = []
    async with anyio.create_task_group() as group:

        async def scan() -> None:
            try:
                candidates.update(await run_sync(find_changed_bits, shadow))
            except OSError as fault:
                faults.append(disk_error(shadow.workspace, fault))

        group.start_soon(scan)
        try:
            candidates.update(await list_candidates(shadow, index))
        except CheckpointError as fault:
            faults.append(fault)
        except OSError as fault:
            faults.append(disk_error(shadow.git.folder, fault))
    if faults:
        raise faults[0]
    return candidates | await run_sync(find_replaced, shadow, candidates)


async def list_candidates(
    shadow: CheckpointStore, index: Path | None = None, selection: tuple[str, ...] = ("-m", "-d", "-o")
) -> list[str]:
    """Return the changed, removed or new paths, according to git's index.

    `selection`: options of `git ls-files` that select these paths.
    """
    await run_sync(write_patterns, shadow)
    own_excludes = [f"--exclude=/{escape_pattern(shadow.session_folder)}"] if shadow.session_folder else []
    out = await shadow.git(
        "ls-files",
        "-z",
        *selection,
        "--exclude-standard",
        f"--exclude=/{STAGING_PREFIX}*",
        *own_excludes,
        index=index,
    )
    return split_names(out)


def escape_pattern(path: str) -> str:
    """Return a git ignore pattern that matches only `path`."""
    return "".join(f"\\{char}" if char in "\\*?[] !#" else char for char in path)


def write_patterns(shadow: CheckpointStore) -> None:
    """Copy the ignore patterns of the folders above the workspace into the checkpoint store."""
    patterns = read_outer_patterns(shadow.workspace).encode("utf-8", "surrogateescape")
    path = shadow.git.folder / "info" / "exclude"
    if not path.exists() or path.read_bytes() != patterns:
        write_file(shadow.git.folder, "info/exclude", patterns)


def find_changed_bits(shadow: CheckpointStore) -> list[str]:
    """Return the files with other permission bits than in the newest checkpoint."""
    modes, stat_file = shadow.modes, os.stat
    plain, executable = modes.usual
    usual = {PLAIN: plain, EXECUTABLE: executable}
    unusual = modes.unusual
    changed = []
    with shadow.files.folder([]) as root:
        for path, (git_mode, _) in iterate_cancellable(shadow.tracked.items()):
            if git_mode == LINK:
                continue
            try:
                mode = stat_file(path, dir_fd=root, follow_symlinks=False).st_mode
            except OSError:
                continue  # deleted; git's listing reports it
            if mode & 0o7777 != (unusual[path] if path in unusual else usual[git_mode]):
                changed.append(path)
    return changed


def find_replaced(shadow: CheckpointStore, candidates: Iterable[str]) -> set[str]:
    """Return the files of the newest checkpoint whose folder was replaced by a link."""
    new = {path for path in candidates if path not in shadow.tracked and not path.endswith("/")}
    replaced = {f"{path}/" for path in new if (shadow.workspace / path).is_symlink()}
    if not replaced:
        return set()
    prefixes = tuple(replaced)
    return {path for path in shadow.tracked if path.startswith(prefixes)}


def examine_candidates(
    shadow: CheckpointStore, candidates: Iterable[str], skips: SkippedPaths, named: bool
) -> list[ChangedPath]:
    """Return the candidates that differ from the newest checkpoint, sorted by path.

    - `skips`: gets the paths that cannot be saved.
    - `named`: True to read all candidates in detail, because the caller named them. If False, only the first
      `max_paths` changed files are read in detail.
    """
    folder_of = shadow.find_generated().folder_of
    nested: dict[str, bool] = {}
    changes: list[ChangedPath] = []
    room = SHOWN_BYTES_FACTOR * shadow.limits.shown_bytes
    with shadow.files.open_reader() as reader:
        # Generated folders come last, so that the detailed files are those that the user wrote.
        for path in iterate_cancellable(sorted(candidates, key=lambda path: (bool(folder_of(path)), path))):
            entry = shadow.tracked.get(path)
            reason = unsaveable_reason(shadow, path, nested, tracked=entry is not None)
            if reason:
                skips.add(reason, path)
                continue
            detailed = named or len(changes) < shadow.limits.max_paths
            state = reader.read_state(path, read=detailed, max_bytes=min(room, shadow.limits.shown_bytes))
            room -= len(state.content or b"")
            if is_change(shadow, path, entry, state, skips):
                changes.append(ChangedPath(path, entry, state))
    return changes


def unsaveable_reason(shadow: CheckpointStore, path: str, nested: dict[str, bool], *, tracked: bool) -> str:
    """Return the reason why a path must not be in a checkpoint, or an empty string."""
    parts = path.split("/")
    if path.endswith("/"):  # git lists a repository in the work tree in this way, without its files
        return "Repositories in the workspace are not saved"
    if "" in parts or "." in parts or ".." in parts or "\0" in path:
        return "Paths outside the workspace are not saved"
    if any(part.lower() == ".git" for part in parts):  # some file systems ignore upper and lower case
        return "Git's own files are not saved"
    if path.startswith(STAGING_PREFIX) or (
        shadow.session_folder and f"{path}/".startswith(f"{shadow.session_folder}/")
    ):
        return "The session's own files are not saved"
    if any("\ud800" <= char <= "\udfff" for char in path):
        return "Files with names that are not UTF-8 are not saved"
    if not tracked and any(
        _is_repository(shadow, "/".join(parts[:end]), nested) for end in range(1, len(parts))
    ):
        return "Repositories in the workspace are not saved"
    return ""


def _is_repository(shadow: CheckpointStore, folder: str, known: dict[str, bool]) -> bool:
    if folder not in known:
        known[folder] = os.path.lexists(shadow.workspace / folder / ".git")
    return known[folder]


def is_change(
    shadow: CheckpointStore, path: str, entry: Entry | None, state: FileState, skips: SkippedPaths
) -> bool:
    """Return True if the path has a change for the next checkpoint to save."""
    if state.kind == "unreadable":
        skips.add("Files that cannot be read are not saved", path)
        return False
    if state.kind == "special":
        skips.add("Pipes, sockets and devices are not saved", path)
    if not state.can_be_saved:
        return entry is not None
    # Git refuses a `.gitmodules` that is a link.
    if state.kind == "link" and path.rsplit("/", 1)[-1].lower() == ".gitmodules":
        skips.add("Git's own files are not saved", path)
        return False
    if entry is None:
        if state.size > shadow.limits.file_bytes:
            skips.add(f"Files above {format_bytes(shadow.limits.file_bytes)} are not saved", path)
        return state.size <= shadow.limits.file_bytes
    if entry.git_mode != state.git_mode or shadow.modes.has_other_bits(path, entry.git_mode, state.bits):
        return True
    return (
        not state.oid or state.oid != entry.oid
    )  # without an id, the file was not read: git reported the change


async def limit_to_quota(
    shadow: CheckpointStore, changes: list[ChangedPath], skips: SkippedPaths
) -> list[ChangedPath]:
    """Return the changes that fit in the store's size quota. Add the paths of further changes to `skips`."""
    new_bytes = sum(change.state.size for change in changes)
    # The known growth can be too high (git compresses and packs), so it is measured before anything is refused.
    if shadow.growth_bytes + new_bytes > shadow.limits.total_bytes:
        shadow.growth_bytes = await run_sync(measure_growth, shadow)
    room = shadow.limits.total_bytes - shadow.growth_bytes
    accepted = []
    for change in changes:
        cost = change.state.size if change.entry is None or change.state.oid != change.entry.oid else 0
        if cost <= room or not change.state.can_be_saved:
            room -= cost
            accepted.append(change)
        else:
            words = format_bytes(shadow.limits.total_bytes)
            skips.add(f"The checkpoint limit of {words} is reached, so these are not saved", change.path)
    return accepted


def measure_growth(shadow: CheckpointStore) -> int:
    """Return the growth of the checkpoint store since the first checkpoint, in bytes."""
    path = shadow.git.folder / "first-size"
    recorded = path.read_text() if path.exists() else ""
    initial = int(recorded) if recorded.isdigit() else 0
    return max(0, measure_folder(shadow.git.folder / "objects") - initial)


async def describe_changes(shadow: CheckpointStore, changes: list[ChangedPath]) -> tuple[FileDifference, ...]:
    """Return the contents, sizes and modes of the first `max_paths` changed paths. Large contents are left out."""
    detailed = changes[: shadow.limits.max_paths]
    ids = [change.entry.oid for change in detailed if change.entry is not None]
    sizes = await shadow.git.read_sizes(ids, missing=True)
    room = SHOWN_BYTES_FACTOR * shadow.limits.shown_bytes
    small = []
    for oid, size in sizes.items():
        if size <= min(room, shadow.limits.shown_bytes):
            small.append(oid)
            room -= size
    contents = await shadow.git.read_contents({oid: sizes[oid] for oid in small})
    return tuple(_file_stand(change, sizes, contents) for change in detailed)


def _file_stand(change: ChangedPath, sizes: dict[str, int], contents: dict[str, bytes]) -> FileDifference:
    oid = change.entry.oid if change.entry is not None else ""
    state = change.state
    return FileDifference(
        path=change.path,
        before=contents.get(oid),
        after=state.content,
        before_size=sizes.get(oid, 0),
        after_size=state.size if state.can_be_saved else 0,
        mode=state.bits if state.can_be_saved else None,
    )


def read_outer_patterns(workspace: Path) -> str:
    """Return the ignore patterns for the workspace from files outside it."""
    repository = find_repository(workspace)
    if repository is None:
        return ""
    names = workspace.relative_to(repository.top).parts
    lines = _rewrite_lines(read_small_text(repository.common_folder / "info" / "exclude"), names)
    for depth in range(len(names)):
        folder = repository.top.joinpath(*names[:depth])
        lines += _rewrite_lines(read_small_text(folder / ".gitignore"), names[depth:])
    return "".join(f"{line}\n" for line in lines)


def _rewrite_lines(text: str, below: tuple[str, ...]) -> list[str]:
    lines = (line.rstrip("\r") for line in text.split("\n"))
    patterns = (rewrite_pattern(line, below) for line in lines if line.strip() and not line.startswith("#"))
    return [line for line in patterns if line is not None]


def rewrite_pattern(pattern: str, below: tuple[str, ...]) -> str | None:
    """Convert an ignore pattern of a folder to a pattern of its subfolder, such as `/src/*.o` to `/*.o` for `src`.

    Return None if the pattern can match nothing in the subfolder.

    `below`: the components of the subfolder's path.
    """
    negated = pattern.startswith("!")
    body = pattern.removeprefix("!")
    path_pattern = body.rstrip("/")
    if "/" not in path_pattern or not below:
        return pattern  # a pattern without a slash matches at any depth
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
