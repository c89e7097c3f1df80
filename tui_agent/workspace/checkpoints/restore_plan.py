"""Plan of a restore to a checkpoint, called the source.

A plan contains the paths that the session changed, and the paths that the user names.
"""

import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.line_diff import split_lines
from tui_agent.folds.text.plain_text import decode_text
from tui_agent.ports.checkpoint import CHANGED_BY_OTHERS, RestoreAction, RestorePlan
from tui_agent.workspace.checkpoints.change_detection import unsaveable_reason
from tui_agent.workspace.checkpoints.commit import REVERTED
from tui_agent.workspace.checkpoints.commit_message import parse_before_lines, parse_left_lines
from tui_agent.workspace.checkpoints.file_modes import Modes, changed_mode_paths
from tui_agent.workspace.checkpoints.git_runner import split_names
from tui_agent.workspace.checkpoints.rooted_files import LINK, FileState
from tui_agent.workspace.checkpoints.store_state import CheckpointStore, Entry

NOT_SAVED = "not saved before the session changed it"
HUMAN = "human"


@dataclass(frozen=True, slots=True)
class TouchedPaths:
    """Paths that the session (the agent and its commands) changed, and paths that people changed.

    - `session`, `humans`: paths by author. A path with several authors or an unknown author is in both sets.
    - `unsaved`: files that the session changed before any checkpoint contained them
    - `first_kept`: maps a file to the commit that first saved it, if this commit has a person's changes
    """

    session: set[str] = field(default_factory=set)
    humans: set[str] = field(default_factory=set)
    unsaved: set[str] = field(default_factory=set)
    first_kept: dict[str, str] = field(default_factory=dict)


async def find_touched(
    shadow: CheckpointStore, base: str, tip: str, kept_changes: Collection[tuple[str, str]] = ()
) -> TouchedPaths:
    """Return the paths changed by the commits after `base` up to `tip`.

    `kept_changes`: pairs of commits. The session's changes between the two commits of a pair count as the user's.
    """
    kept_commits, kept_paths = set[str](), set[str]()
    for before, after in kept_changes:
        out = await shadow.git("rev-list", f"{before}..{after}", "--")
        kept_commits.update(out.decode().split())
        kept_paths |= await _find_session_changes(shadow, before, after)
    result = await _find_touched(shadow, base, tip, kept_commits)
    result.humans.update(kept_paths)
    return result


async def _find_session_changes(shadow: CheckpointStore, before: str, after: str) -> set[str]:
    """Return the paths that the session changed between two commits, and that differ between them."""
    touched = (await _find_touched(shadow, before, after)).session
    touched |= (
        await _find_touched(shadow, after, before)
    ).session  # an undo can have made `after` the older one
    differing = (await shadow.compare_trees(before, after)).keys()
    modes = (await shadow.read_modes(after)).lines_since(await shadow.read_modes(before))
    return touched & (differing | changed_mode_paths("\n".join(modes)))


async def _find_touched(
    shadow: CheckpointStore, base: str, tip: str, kept_commits: Collection[str] = ()
) -> TouchedPaths:
    out = await shadow.git("log", "-z", "--format=%H%n%an%n%B", f"{base}..{tip}", "--")
    authors: dict[str, str] = {}
    new_paths: dict[str, set[str]] = {}
    left: set[str] = set()
    removed_by_human: set[str] = set()
    result = TouchedPaths()
    for item in split_names(out):
        commit, author, message = item.lstrip("\n").split("\n", 2)
        if author == REVERTED or (author != HUMAN and commit in kept_commits):
            continue
        authors[commit], new_paths[commit] = author, parse_before_lines(message)
        mode_changes, skipped = changed_mode_paths(message), parse_left_lines(message)
        left.update(skipped)
        if author == HUMAN:
            result.humans.update(mode_changes - new_paths[commit])
            result.first_kept.update({path: origin for path, origin in skipped.items() if origin})
            # the log lists new commits first, so the oldest one overwrites the others
            result.first_kept.update(dict.fromkeys(new_paths[commit], commit))
        else:
            result.session.update(mode_changes)
            result.unsaved.update(new_paths[commit])
    # The oldest commit first, because it matters what the session did after the user removed a file.
    stdin = "".join(f"{commit}\n" for commit in reversed(authors)).encode()
    out = await shadow.git(
        "diff-tree", "--stdin", "-r", "-z", "--root", "--name-status", "--no-renames", stdin=stdin
    )
    commit, words = "", iter(split_names(out))
    for word in words:
        if word in authors:
            commit = word
            continue
        path = next(words)
        if authors[commit] == HUMAN:
            if path not in new_paths[commit]:
                result.humans.add(path)
            if word == "D":
                removed_by_human.add(path)
            else:
                removed_by_human.discard(path)
            continue
        result.session.add(path)
        # The session created the file again after the user removed it, so nothing of the user's is left in it.
        if path in removed_by_human:
            removed_by_human.remove(path)
            result.humans.discard(path)
    result.session.update(left)
    result.humans.update(left)
    return result


@dataclass(frozen=True, slots=True)
class RestoreOperation:
    """One change of a path by a restore.

    - `entry`: version in the source checkpoint, or None to remove the path
    - `state`: the current file
    - `bits`: permission bits to set
    - `conflict`: reason to ask the user first
    - `blocked`: reason why the change is impossible even if the user agrees
    """

    path: str
    kind: Literal["write", "create", "remove", "mode"]
    state: FileState
    entry: Entry | None
    bits: int
    conflict: str = ""
    blocked: str = ""

    @property
    def new_oid(self) -> str:
        """Git's id of the content to write, or an empty string if no content is written."""
        return "" if self.entry is None or self.kind == "mode" else self.entry.oid


@dataclass(frozen=True, slots=True)
class PreparedRestore:
    """A restore plan with its operations and the permission bits of the source checkpoint."""

    source: str
    operations: tuple[RestoreOperation, ...]
    modes: Modes
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Small contents for the operations, by git's object id."""
    first_kept: Mapping[str, str] = field(default_factory=dict)
    """For each path that the session changed and the source checkpoint lacks: the commit that first saved the path."""
    as_found: frozenset[str] = frozenset()
    """Files that the source checkpoint lacks, and that nobody has changed since a checkpoint first saved them."""


async def prepare_restore(
    shadow: CheckpointStore,
    source: str,
    named: Collection[str] = (),
    kept_changes: Collection[tuple[str, str]] = (),
) -> PreparedRestore:
    """Plan a restore to the checkpoint `source`, without changing anything.

    - `named`: paths to restore in addition to the changed paths
    - `kept_changes`: see `find_touched`
    """
    await shadow.find_tree(source)
    result = await shadow.git.run("merge-base", source, shadow.head)
    if result.code:
        raise CheckpointError(
            f"The checkpoint {source[:12]} and the newest one have no common ancestor: the checkpoints in between are lost.",
            hint="Nothing was changed. You can still undo the conversation without the files.",
        )
    # After an undo, the source is not always an ancestor of the newest checkpoint. What the session changed on either
    # side of their common base is restored.
    base = result.out.decode().strip()
    theirs = (await find_touched(shadow, base, source)).session
    ours = await find_touched(shadow, base, shadow.head, kept_changes)
    modes = await shadow.read_modes(source)
    differing = await shadow.compare_trees(shadow.head, source)
    first_kept = await _read_first_versions(shadow, ours, differing)
    as_found = frozenset(
        path
        for path in ours.first_kept.keys() - ours.session - ours.humans
        if path in differing and differing[path][1] is None
    )
    differing.update({path: (shadow.tracked.get(path), entry) for path, (entry, _) in first_kept.items()})
    modes_with_first_kept = modes.with_changes(
        {path: (entry.git_mode, bits) for path, (entry, bits) in first_kept.items()}, ()
    )
    owned = sorted(theirs | ours.session | _known_paths(shadow, named, differing))
    # A redo of a file that an earlier undo kept: the version to restore contains the user's change already.
    contained = await _find_older_versions(shadow, base, source, ours.humans.intersection(differing))
    ours = replace(ours, humans=ours.humans - contained)
    operations = await run_sync(_plan_operations, shadow, owned, ours, differing, modes_with_first_kept)
    sizes = await shadow.git.read_sizes([operation.new_oid for operation in operations if operation.new_oid])
    small = {oid: size for oid, size in sizes.items() if size <= shadow.limits.shown_bytes}
    contents = await shadow.git.read_contents(small)
    first_commits = {path: ours.first_kept[path] for path in first_kept}
    return PreparedRestore(source, tuple(operations), modes, contents, first_commits, as_found)


async def _find_older_versions(
    shadow: CheckpointStore, base: str, source: str, paths: Collection[str]
) -> set[str]:
    """Return those of `paths` whose newest version was saved in a commit after `base` up to `source` too.

    Files with unusual permission bits are left out, because only contents are compared.
    """
    entries = {
        path: shadow.tracked[path]
        for path in paths
        if path in shadow.tracked and path not in shadow.modes.unusual
    }
    if not entries:
        return set()
    commits = await shadow.git("rev-list", f"{base}..{source}", "--")
    out = await shadow.git(
        "diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--raw", stdin=commits
    )
    older, words = set[str](), iter(split_names(out))
    for word in words:
        if word.startswith(":"):  # else it is a commit
            _, git_mode, _, oid, _ = word.split(" ")
            path = next(words)
            if path in entries and entries[path] == (int(git_mode, 8), oid):
                older.add(path)
    return older


def _known_paths(
    shadow: CheckpointStore,
    named: Collection[str],
    differing: Mapping[str, tuple[Entry | None, Entry | None]],
) -> set[str]:
    known = {path for path in named if path in shadow.tracked or path in differing}
    for path in named:
        reason = unsaveable_reason(shadow, path, {}, tracked=path in known)
        if reason:
            raise CheckpointError(
                f"{path} cannot be restored: {reason[0].lower()}{reason[1:]}.", hint="Nothing was changed."
            )
    return known


def to_restore_plan(
    shadow: CheckpointStore, prepared: PreparedRestore, named: tuple[str, ...]
) -> RestorePlan:
    """Convert a prepared restore to the `RestorePlan` of `ports.checkpoint`, for display."""
    folder_of = shadow.find_generated().folder_of
    operations = tuple(
        _describe_operation(operation, prepared.contents, folder_of(operation.path))
        for operation in prepared.operations
    )
    return RestorePlan(prepared.source, shadow.head, operations, named)


def _describe_operation(
    operation: RestoreOperation, contents: Mapping[str, bytes], folder: str
) -> RestoreAction:
    before = (operation.state.content or b"") if operation.state.can_be_saved else b""
    after = before if operation.kind == "mode" else contents.get(operation.new_oid, b"")
    added, removed = count_changed_lines(before, after)
    return RestoreAction(
        operation.path, operation.kind, added, removed, operation.blocked or operation.conflict, folder
    )


def count_changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the numbers of added and removed lines, ignoring the order of lines; (0, 0) for binary files."""
    decoded_before, decoded_after = decode_text(before), decode_text(after)
    if decoded_before is None or decoded_after is None:
        return 0, 0
    old, new = Counter(split_lines(decoded_before.text)), Counter(split_lines(decoded_after.text))
    return (new - old).total(), (old - new).total()


async def _read_first_versions(
    shadow: CheckpointStore, ours: TouchedPaths, differing: Mapping[str, tuple[Entry | None, Entry | None]]
) -> dict[str, tuple[Entry, int]]:
    """Return the first saved version, as (entry, mode bits), of files that the source checkpoint lacks.

    These files existed before the session changed them, so the restore writes their first version instead of removing
    them.

    - `ours`: the paths changed since the common base of the source and the newest checkpoint.
    - `differing`: maps a path to its versions in (newest checkpoint, source).
    """
    versions = {}
    modes: dict[str, Modes] = {}
    for path, commit in ours.first_kept.items():
        source_entry = differing[path][1] if path in differing else shadow.tracked.get(path)
        is_lacking = path in ours.session and source_entry is None
        entry = await shadow.read_entry(commit, path) if is_lacking else None
        if entry is not None:
            if commit not in modes:
                modes[commit] = await shadow.read_modes(commit)
            versions[path] = entry, modes[commit].bits(path, entry.git_mode)
    return versions


def _plan_operations(
    shadow: CheckpointStore,
    owned: list[str],
    ours: TouchedPaths,
    differing: Mapping[str, tuple[Entry | None, Entry | None]],
    modes: Modes,
) -> list[RestoreOperation]:
    operations = []
    with shadow.files.open_reader() as reader:
        for path in owned:
            head = shadow.tracked.get(path)
            source = differing[path][1] if path in differing else head
            state = reader.read_state(path, max_bytes=shadow.limits.shown_bytes)
            bits = 0 if source is None else modes.bits(path, source.git_mode)
            kind = _operation_kind(state, source, bits)
            if kind is not None:
                head_bits = 0 if head is None else shadow.modes.bits(path, head.git_mode)
                is_changed = path in ours.humans or not matches_entry(state, head, head_bits)
                conflict = CHANGED_BY_OTHERS if is_changed else ""
                if kind == "remove" and path in ours.unsaved:
                    conflict = conflict or NOT_SAVED
                operations.append(
                    RestoreOperation(path, kind, state, source, bits, conflict, _blocking_reason(state))
                )
    return mark_blocked(
        shadow,
        operations,
        {operation.path for operation in operations if not operation.conflict and not operation.blocked},
    )


def matches_entry(state: FileState, entry: Entry | None, bits: int) -> bool:
    """Return True if the file at a path equals the version `entry` of a checkpoint (None: no file)."""
    if entry is None:
        return state.kind in ("absent", "behind", "folder")
    bits_match = entry.git_mode == LINK or state.bits == bits
    return state.can_be_saved and state.git_mode == entry.git_mode and state.oid == entry.oid and bits_match


def _operation_kind(
    state: FileState, source: Entry | None, bits: int
) -> Literal["write", "create", "remove", "mode"] | None:
    if matches_entry(state, source, bits):
        return None
    if source is None:
        return "remove"
    if state.kind in ("absent", "behind", "folder"):
        return "create"
    if state.kind == "file" and source.git_mode != LINK and state.oid == source.oid:
        return "mode"
    return "write"


def _blocking_reason(state: FileState) -> str:
    if state.kind == "unreadable":
        return "it cannot be read"
    return "a pipe, socket or device is in its place" if state.kind == "special" else ""


def mark_blocked(
    shadow: CheckpointStore, operations: list[RestoreOperation], chosen: set[str]
) -> list[RestoreOperation]:
    """Return all operations, with the reason in `blocked` if an operation is impossible.

    An operation is impossible if something else would be at its path even after the operations on the `chosen` paths.
    """
    removed = {
        operation.path
        for operation in operations
        if operation.path in chosen and operation.kind in ("remove", "write")
    }
    written = {
        operation.path for operation in operations if operation.path in chosen and operation.entry is not None
    }
    freed, usable = removed - written, {"."}
    checked = []
    for operation in operations:
        reason = operation.blocked
        if not reason and operation.kind in ("create", "write"):
            reason = _place_problem(shadow, operation, freed, usable)
        checked.append(replace(operation, blocked=reason) if reason else operation)
    return checked


def _place_problem(
    shadow: CheckpointStore, operation: RestoreOperation, removed: set[str], usable: set[str]
) -> str:
    """Return the reason why a path cannot be written, or an empty string.

    - `removed`: paths that the restore removes or replaces before it writes this path.
    - `usable`: caches the parent paths that are folders or missing.
    """
    for parent in reversed(PurePosixPath(operation.path).parents):
        name = parent.as_posix()
        if name not in usable and name not in removed:
            if shadow.files.read_state(name, read=False).kind not in ("folder", "absent", "behind"):
                return f"{name} is not a folder any more"
            usable.add(name)
    if operation.state.kind == "folder" and _has_other_files(shadow, operation.path, removed):
        return "a folder with other files is in its place"
    return ""


def _has_other_files(shadow: CheckpointStore, folder: str, removed: set[str]) -> bool:
    for parent, folders, names in os.walk(shadow.workspace / folder):
        parent_path = Path(parent)
        files = [parent_path / name for name in names]
        links = [parent_path / name for name in folders if (parent_path / name).is_symlink()]
        if any(file.relative_to(shadow.workspace).as_posix() not in removed for file in (*files, *links)):
            return True
    return False
