"""Restoring files of the workspace to a checkpoint.

Invariant: after a restore, the newest checkpoint equals the workspace; after an error, both are unchanged.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from uuid import uuid4

from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError, os_errors_as
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
from tui_agent.workspace.checkpoints.commit_message import format_before_lines, format_left_lines
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


async def restore(
    shadow: CheckpointStore, plan: RestorePlan, overwrite: Sequence[str], operations: FileOperations
) -> RestoreResult:
    """Run a restore plan; skip each operation with a conflict, unless its path is in `overwrite`.

    Raise `CheckpointError` if a file changed in the meantime or the restore failed. The workspace is then unchanged.
    """
    if plan.head != shadow.head:
        raise CheckpointError(
            "A new checkpoint was taken after this restore was planned.",
            hint="Nothing was changed. Try again.",
        )
    # Prepared again, because files may have changed since the user saw the plan. What has a conflict only now is
    # skipped.
    prepared = await prepare_restore(shadow, plan.source, {*plan.named, *overwrite}, plan.kept_changes)
    planned = {operation.path for operation in plan.actions}
    requested = {operation.path for operation in plan.actions if not operation.conflict} | set(overwrite)
    conflict_free = {operation.path for operation in prepared.operations if not operation.conflict}
    chosen = requested & planned & (conflict_free | set(overwrite))
    selected, _ = await run_sync(_select_possible, shadow, prepared, chosen)
    restored = {operation.path for operation in selected}
    prepared_paths = {operation.path for operation in prepared.operations}
    skipped = tuple(sorted((planned - restored) & prepared_paths))
    reasons: dict[str, str] = {}
    if skipped:
        _, reasons = await run_sync(_select_possible, shadow, prepared, prepared_paths)
    await save_overwritten(shadow, [operation for operation in selected if operation.conflict])
    staging = StagingFolder(shadow.files, f"{STAGING_PREFIX}{uuid4().hex[:12]}", operations)

    async def undo() -> None:
        await run_sync(_undo, shadow, staging)

    async with undo_on_error(undo):
        files = await apply_operations(shadow, prepared, selected, staging)
        commit = await commit_restore(shadow, prepared, restored, skipped)
    await run_sync(_clear, staging)
    blocked = {path: reasons[path] for path in skipped if path in reasons}
    return RestoreResult(commit, tuple(sorted(restored)), skipped, files, blocked)


def _select_possible(
    shadow: CheckpointStore, prepared: PreparedRestore, chosen: set[str]
) -> tuple[list[RestoreOperation], dict[str, str]]:
    """Return (the chosen operations that are possible, the reason for each blocked path).

    `chosen`: paths of the operations to run.
    """
    while True:  # leaving out one operation can block others
        operations = [
            replace(operation, blocked="")
            if operation.blocked and operation.state.can_be_saved
            else operation
            for operation in prepared.operations
        ]
        checked = mark_blocked(shadow, operations, chosen)
        possible = {
            operation.path for operation in checked if operation.path in chosen and not operation.blocked
        }
        if possible == chosen:
            blocked = {operation.path: operation.blocked for operation in checked if operation.blocked}
            return [operation for operation in checked if operation.path in chosen], blocked
        chosen = possible


async def save_overwritten(shadow: CheckpointStore, operations: list[RestoreOperation]) -> None:
    """Save the current content of the files that a restore is about to overwrite."""
    paths = [operation.path for operation in operations if operation.state.can_be_saved]
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


async def apply_operations(
    shadow: CheckpointStore,
    prepared: PreparedRestore,
    operations: list[RestoreOperation],
    staging: StagingFolder,
) -> tuple[FileDifference, ...]:
    """Write the new content to the staging folder, then move all files into place.

    Return a description of at most `max_paths` changes.
    """
    oids = [operation.new_oid for operation in operations if operation.new_oid]
    sizes = await shadow.git.read_sizes([oid for oid in oids if oid not in prepared.contents])
    try:
        await run_sync(staging.open)
        await run_sync(_lay_out, staging, list(enumerate(operations)), prepared.contents)
        for number, operation in enumerate(operations):
            if operation.new_oid in sizes:
                content = await shadow.git.read_contents({operation.new_oid: sizes[operation.new_oid]})
                await run_sync(_lay_out, staging, [(number, operation)], content)
        await run_sync(_checked_moves, shadow, operations, staging)
    except OSError as fault:
        raise _restore_error(fault) from fault
    detailed = (await run_sync(_sort_generated_last, shadow, operations))[: shadow.limits.max_paths]
    return tuple(_file_stand(operation, prepared, sizes) for operation in detailed)


def _sort_generated_last(
    shadow: CheckpointStore, operations: list[RestoreOperation]
) -> list[RestoreOperation]:
    """Sort the operations. Operations on generated folders come last."""
    folder_of = shadow.find_generated().folder_of
    return sorted(operations, key=lambda operation: bool(folder_of(operation.path)))


def _lay_out(
    staging: StagingFolder, operations: list[tuple[int, RestoreOperation]], contents: Mapping[str, bytes]
) -> None:
    for number, operation in operations:
        if operation.entry is not None and operation.new_oid in contents:
            link = operation.entry.git_mode == LINK
            staging.stage(number, contents[operation.new_oid], operation.bits, link=link)


def _checked_moves(
    shadow: CheckpointStore, operations: list[RestoreOperation], staging: StagingFolder
) -> None:
    with shadow.files.open_reader() as reader:
        for operation in operations:
            current = reader.read_state(operation.path)
            if (current.kind, current.oid, current.bits) != (
                operation.state.kind,
                operation.state.oid,
                operation.state.bits,
            ):
                raise CheckpointError(
                    f"{operation.path} changed during the restore.",
                    hint="Nothing was changed. Try again.",
                )
    staging.apply(plan_moves(shadow, operations))


def plan_moves(shadow: CheckpointStore, operations: list[RestoreOperation]) -> list[Move]:
    """Return the moves of files and folders, in an order in which each target is free before its move."""
    moves: dict[str, list[Move]] = {"remove": [], "create": [], "write": [], "mode": []}
    for number, operation in enumerate(operations):
        move = Move(operation.kind, operation.path, number, operation.bits, operation.state.bits)
        moves[operation.kind].append(move)
    created = [move.path for move in moves["create"]]
    emptied_folders = find_emptied_folders(shadow, {move.path for move in moves["remove"]}, created)
    removed_folders = [
        Move("rmdir", path, -1, 0, read_folder_bits(shadow.workspace, path)) for path in emptied_folders
    ]
    new_folders = [
        Move("mkdir", path, -1) for path in find_missing_folders(shadow, created, set(emptied_folders))
    ]
    return [
        *moves["remove"],
        *removed_folders,
        *new_folders,
        *moves["create"],
        *moves["write"],
        *moves["mode"],
    ]


def find_emptied_folders(shadow: CheckpointStore, removed: set[str], created: list[str]) -> list[str]:
    """Return the folders that become empty without the files `removed`, deepest first.

    Leave out folders that get a new file, and folders that were empty at the session's start.
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
        # Subfolders come first, so that a folder with only emptied folders is empty too.
        if folder not in needed and names <= removed_paths:
            emptied_folders.append(folder)
            removed_paths.add(folder)
    return emptied_folders


def find_missing_folders(shadow: CheckpointStore, created: list[str], gone: set[str]) -> list[str]:
    """Return the folders that must be created for the paths `created`, parents first."""
    needed = {parent.as_posix() for path in created for parent in PurePosixPath(path).parents} - {"."}
    return sorted(
        path for path in needed if path in gone or shadow.files.read_state(path, read=False).kind != "folder"
    )


async def commit_restore(
    shadow: CheckpointStore, prepared: PreparedRestore, done: set[str], kept_paths: Sequence[str]
) -> str:
    """Make the restored files the newest checkpoint, and return its commit."""
    # If the files equal the restored checkpoint, it is the newest checkpoint again, without a new commit.
    with shadow.draft() as draft:
        candidates = await find_candidates(shadow) | done
        changes = await run_sync(examine_candidates, shadow, candidates, SkippedPaths(), False)
        draft_checkpoint = await update_draft(shadow, draft, {change.path for change in changes} | done)
        as_found = prepared.as_found - draft_checkpoint.changed.keys()
        lines = [
            *format_before_lines(as_found | (prepared.first_kept.keys() & done)),
            *format_left_lines(kept_paths, prepared.first_kept),
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
        await protect_commit(shadow, shadow.head)  # a redo needs the checkpoint that is no longer the newest
        await move_head(shadow, commit, draft_checkpoint)
    return commit


def _file_stand(
    operation: RestoreOperation, prepared: PreparedRestore, sizes: dict[str, int]
) -> FileDifference:
    state = operation.state if operation.state.can_be_saved else FileState("absent")
    is_mode = operation.kind == "mode"
    after = state.content if is_mode else prepared.contents.get(operation.new_oid)
    size = state.size if is_mode else sizes.get(operation.new_oid, len(after or b""))
    return FileDifference(
        operation.path,
        state.content,
        after,
        state.size,
        size,
        None if operation.entry is None else operation.bits,
    )


def _restore_error(fault: OSError) -> CheckpointError:
    path_note = f" ({os.fsdecode(fault.filename)})" if fault.filename else ""
    return CheckpointError(
        f"The files could not be restored: {fault.strerror or fault}{path_note}.",
        hint="All changes were undone; the workspace is unchanged.",
    )


def _undo(shadow: CheckpointStore, staging: StagingFolder) -> None:
    with os_errors_as(
        CheckpointError,
        "A restore failed and could not be undone completely",
        hint=f"The moved files are in {shadow.workspace}/{STAGING_PREFIX}*; they are restored when the session is opened again.",
    ):
        skipped = staging.undo()
    if skipped:
        saved = shadow.workspace / staging.saved_folder
        shadow.notices.append(
            f"An interrupted restore was undone, except for files changed since: {list_examples(skipped)}."
            + (f" Their previous versions are in {saved}." if saved.is_dir() else "")
        )


def _clear(staging: StagingFolder) -> None:
    # The files are in place. Leftovers are removed when the session is opened again.
    with contextlib.suppress(OSError):
        staging.clear()


def undo_interrupted(shadow: CheckpointStore, operations: FileOperations) -> None:
    """Undo the unfinished restore of a killed program. A running restore is left alone."""
    for leftover in sorted(shadow.workspace.glob(f"{STAGING_PREFIX}*")):
        if leftover.is_dir() and not leftover.is_symlink():
            staging = StagingFolder(shadow.files, leftover.name, operations)
            if staging.lock():
                _undo(shadow, staging)
