"""Restoring files to a checkpoint.

Invariant: afterwards the newest checkpoint's tree equals the workspace; after an error both are unchanged.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from uuid import uuid4

from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import FileDifference, RestorePlan, RestoreResult
from tui_agent.workspace.checkpoints.atomic_restore import (
    FileOperations,
    Move,
    StagingFolder,
    read_folder_bits,
)
from tui_agent.workspace.checkpoints.change_detection import (
    SkippedPaths,
    examine_candidates,
    find_candidates,
    list_examples,
)
from tui_agent.workspace.checkpoints.commit import commit_tree, move_head, protect_commit, update_draft
from tui_agent.workspace.checkpoints.git_runner import split_names
from tui_agent.workspace.checkpoints.restore_plan import (
    HUMAN,
    PreparedRestore,
    RestoreOperation,
    mark_blocked,
    prepare_restore,
)
from tui_agent.workspace.checkpoints.rooted_files import LINK, FileState
from tui_agent.workspace.checkpoints.store_state import (
    EMPTY_FOLDERS_FILE,
    STAGING_PREFIX,
    CheckpointStore,
    undo_on_error,
)
from tui_agent.workspace.checkpoints.unsaved_files import format_before_lines, format_left_lines


async def restore(
    shadow: CheckpointStore, plan: RestorePlan, overwrite: Sequence[str], acts: FileOperations
) -> RestoreResult:
    """Carry out a plan: the conflict-free acts, and those in conflict that `overwrite` names."""
    if plan.head != shadow.head:
        raise CheckpointError(
            "The files were checkpointed again after this restore was planned.",
            hint="Plan it again; nothing was changed.",
        )
    prepared = await prepare_restore(shadow, plan.source, overwrite)
    planned = {act.path for act in plan.actions}
    requested = {act.path for act in plan.actions if not act.conflict} | set(overwrite)
    conflict_free = {act.path for act in prepared.acts if not act.conflict}
    chosen = requested & planned & (conflict_free | set(overwrite))
    selected, _ = await run_sync(_select_possible, shadow, prepared, chosen)
    restored = {act.path for act in selected}
    skipped = tuple(sorted((planned - restored) & {act.path for act in prepared.acts}))
    _, reasons = (
        await run_sync(_select_possible, shadow, prepared, {act.path for act in prepared.acts})
        if skipped
        else ([], {})
    )
    await save_overwritten(shadow, [act for act in selected if act.conflict])
    staging = StagingFolder(shadow.files, f"{STAGING_PREFIX}{uuid4().hex[:12]}", acts)

    async def undo() -> None:
        await run_sync(_undo, shadow, staging)

    async with undo_on_error(undo):
        files = await apply_acts(shadow, prepared, selected, staging)
        commit = await commit_restore(shadow, prepared, restored, skipped)
    await run_sync(_clear, staging)
    blocked = {path: reasons[path] for path in skipped if path in reasons}
    return RestoreResult(commit, tuple(sorted(restored)), skipped, files, blocked)


def _select_possible(
    shadow: CheckpointStore, prepared: PreparedRestore, chosen: set[str]
) -> tuple[list[RestoreOperation], dict[str, str]]:
    """Return the chosen acts that are possible, and why the others are not.

    Leaving one act out can block another, so this repeats until it is stable.
    """
    while True:
        acts = [
            replace(act, blocked="") if act.blocked and act.state.can_be_saved else act
            for act in prepared.acts
        ]
        checked = mark_blocked(shadow, acts, chosen)
        possible = {act.path for act in checked if act.path in chosen and not act.blocked}
        if possible == chosen:
            blocked = {act.path: act.blocked for act in checked if act.blocked}
            return [act for act in checked if act.path in chosen], blocked
        chosen = possible


async def save_overwritten(shadow: CheckpointStore, acts: list[RestoreOperation]) -> None:
    """Save files that are about to be overwritten and are in no checkpoint."""
    paths = [act.path for act in acts if act.state.can_be_saved]
    if not paths:
        return
    with shadow.draft() as draft:
        draft_checkpoint = await update_draft(shadow, draft, paths)
        if draft_checkpoint.changed:
            lines = draft_checkpoint.modes.lines_since(shadow.modes)
            message = "Files overwritten by a restore"
            commit = await commit_tree(
                shadow, draft_checkpoint.tree, shadow.head, author=HUMAN, message=message, lines=lines
            )
            await protect_commit(shadow, commit)


async def apply_acts(
    shadow: CheckpointStore, prepared: PreparedRestore, acts: list[RestoreOperation], staging: StagingFolder
) -> tuple[FileDifference, ...]:
    """Stage everything, then move it into place; return the changes in detail."""
    oids = [act.entry.oid for act in acts if act.entry is not None and act.kind != "mode"]
    sizes = await shadow.git.read_sizes([oid for oid in oids if oid not in prepared.contents])
    try:
        await run_sync(staging.open)
        await run_sync(_lay_out, staging, list(enumerate(acts)), prepared.contents)
        for number, act in enumerate(acts):
            if act.entry is not None and act.kind != "mode" and act.entry.oid in sizes:
                content = await shadow.git.read_contents({act.entry.oid: sizes[act.entry.oid]})
                await run_sync(_lay_out, staging, [(number, act)], content)
        await run_sync(_checked_moves, shadow, acts, staging)
    except OSError as fault:
        raise _restore_error(fault) from fault
    detailed = acts[: shadow.limits.max_paths]
    return tuple(_file_stand(act, prepared, sizes) for act in detailed)


def _lay_out(
    staging: StagingFolder, acts: list[tuple[int, RestoreOperation]], contents: Mapping[str, bytes]
) -> None:
    for number, act in acts:
        if act.entry is not None and act.kind != "mode" and act.entry.oid in contents:
            link = act.entry.git_mode == LINK
            staging.stage(number, contents[act.entry.oid], act.bits, link=link)


def _checked_moves(shadow: CheckpointStore, acts: list[RestoreOperation], staging: StagingFolder) -> None:
    with shadow.files.open_reader() as near:
        for act in acts:
            current = near.read_state(act.path)
            if (current.kind, current.oid, current.bits) != (act.state.kind, act.state.oid, act.state.bits):
                raise CheckpointError(
                    f"{act.path} changed during the restore.",
                    hint="Nothing was changed. Plan the restore again.",
                )
    staging.apply(plan_moves(shadow, acts))


def plan_moves(shadow: CheckpointStore, acts: list[RestoreOperation]) -> list[Move]:
    """Return the moves in an order in which each target is free, including folders to create or remove."""
    numbered = list(enumerate(acts))
    removed = [Move("remove", act.path, number) for number, act in numbered if act.kind == "remove"]
    created = [Move("create", act.path, number, act.bits) for number, act in numbered if act.kind == "create"]
    written = [Move("write", act.path, number, act.bits) for number, act in numbered if act.kind == "write"]
    bits = [
        Move("mode", act.path, number, act.bits, act.state.bits)
        for number, act in numbered
        if act.kind == "mode"
    ]
    emptied_folders = find_emptied_folders(
        shadow, {act.path for act in acts if act.kind == "remove"}, [move.path for move in created]
    )
    removed_folders = [
        Move("rmdir", path, -1, 0, read_folder_bits(shadow.workspace, path)) for path in emptied_folders
    ]
    new_folders = [
        Move("mkdir", path, -1)
        for path in find_missing_folders(shadow, [move.path for move in created], set(emptied_folders))
    ]
    return [*removed, *removed_folders, *new_folders, *created, *written, *bits]


def find_emptied_folders(shadow: CheckpointStore, removed: set[str], created: list[str]) -> list[str]:
    """Return the folders left empty by the removed files, deepest first.

    Excludes folders that receive a file, and those that were empty when the session began.
    """
    needed = {parent.as_posix() for path in created for parent in PurePosixPath(path).parents}
    folders = {parent.as_posix() for path in removed for parent in PurePosixPath(path).parents} | {
        path
        for path in created
        if (shadow.workspace / path).is_dir() and not (shadow.workspace / path).is_symlink()
    }
    for path in list(folders):
        if path in created:
            folders |= {
                Path(folder).relative_to(shadow.workspace).as_posix()
                for folder, _, _ in os.walk(shadow.workspace / path)
            }
    record = shadow.git.folder / EMPTY_FOLDERS_FILE
    initially_empty = set(split_names(record.read_bytes())) if record.exists() else set()
    emptied_folders: list[str] = []
    removed_paths = set(removed)
    for folder in sorted(folders - initially_empty - {"."}, key=lambda path: path.count("/"), reverse=True):
        names = {f"{folder}/{child.name}" for child in (shadow.workspace / folder).iterdir()}
        if folder not in needed and names <= removed_paths:
            emptied_folders.append(folder)
            removed_paths.add(folder)
    return emptied_folders


def find_missing_folders(shadow: CheckpointStore, created: list[str], gone: set[str]) -> list[str]:
    """Return the folders that must be created, highest first."""
    needed = {parent.as_posix() for path in created for parent in PurePosixPath(path).parents} - {"."}
    return sorted(
        path for path in needed if path in gone or shadow.files.read_state(path, read=False).kind != "folder"
    )


async def commit_restore(
    shadow: CheckpointStore, prepared: PreparedRestore, done: set[str], kept: Sequence[str]
) -> str:
    """Make a checkpoint of the restored workspace: the source itself, or a commit on top that names skipped
    paths.
    """
    with shadow.draft() as draft:
        candidates = await find_candidates(shadow) | done
        changes = await run_sync(examine_candidates, shadow, candidates, SkippedPaths(), False)
        draft_checkpoint = await update_draft(shadow, draft, {change.path for change in changes} | done)
        as_found = prepared.as_found - draft_checkpoint.changed.keys()
        lines = [
            *format_before_lines(as_found | (prepared.first_kept.keys() & done)),
            *format_left_lines(kept, prepared.first_kept),
            *draft_checkpoint.modes.lines_since(prepared.modes),
        ]
        commit = prepared.source
        if draft_checkpoint.tree != await shadow.find_tree(prepared.source) or lines:
            message = "The files after a restore"
            commit = await commit_tree(
                shadow,
                draft_checkpoint.tree,
                prepared.source,
                author=HUMAN,
                message=message,
                lines=[f"Restored: {prepared.source}", *lines],
            )
        await protect_commit(shadow, shadow.head)
        await move_head(shadow, commit, draft_checkpoint)
    return commit


def _file_stand(act: RestoreOperation, prepared: PreparedRestore, sizes: dict[str, int]) -> FileDifference:
    stand = act.state if act.state.can_be_saved else FileState("absent")
    oid = "" if act.entry is None else act.entry.oid
    after = stand.content if act.kind == "mode" else prepared.contents.get(oid)
    size = stand.size if act.kind == "mode" else sizes.get(oid, len(after or b""))
    return FileDifference(
        act.path, stand.content, after, stand.size, size, None if act.entry is None else act.bits
    )


def _restore_error(fault: OSError) -> CheckpointError:
    """Return the error for a failed file operation."""
    path_note = f" ({os.fsdecode(fault.filename)})" if fault.filename else ""
    return CheckpointError(
        f"The files could not be restored: {fault.strerror or fault}{path_note}.",
        hint="All changes were undone; the workspace is unchanged.",
    )


def _undo(shadow: CheckpointStore, staging: StagingFolder) -> None:
    try:
        skipped = staging.undo()
    except OSError as fault:
        raise CheckpointError(
            f"A restore failed and could not be undone completely: {fault.strerror or fault}.",
            hint=f"The moved files are in {shadow.workspace}/{STAGING_PREFIX}*; they are put back when the session is opened again.",
        ) from fault
    if skipped:
        saved = shadow.workspace / staging.saved_folder
        shadow.notices.append(
            f"An interrupted restore was undone, except for files changed since: {list_examples(skipped)}."
            + (f" Their previous versions are in {saved}." if saved.is_dir() else "")
        )


def _clear(staging: StagingFolder) -> None:
    with contextlib.suppress(
        OSError
    ):  # the files are in place; leftovers are removed when the session is opened again
        staging.clear()


def undo_interrupted(shadow: CheckpointStore, acts: FileOperations) -> None:
    """Undo a restore that a killed program did not finish; a running one is left alone."""
    for leftover in sorted(shadow.workspace.glob(f"{STAGING_PREFIX}*")):
        if leftover.is_dir() and not leftover.is_symlink():
            staging = StagingFolder(shadow.files, leftover.name, acts)
            if staging.lock():
                _undo(shadow, staging)
