"""Putting files back to a checkpoint.

Invariant: afterwards the newest checkpoint's tree is the workspace, or, where a fault came, both are as they were.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from uuid import uuid4

from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import FileStand, Restored, RestorePlan
from tui_agent.workspace.checkpoints.atomic_restore import FileActs, Move, Staging, folder_bits
from tui_agent.workspace.checkpoints.commit import commit_tree, keep, move_head, take
from tui_agent.workspace.checkpoints.git import names_of
from tui_agent.workspace.checkpoints.restore_plan import Prepared, Putting, blocked_by_places, prepare
from tui_agent.workspace.checkpoints.rooted_files import LINK, Stand
from tui_agent.workspace.checkpoints.state import EMPTY_FOLDERS, STAGING, Shadow, shielded_on_fault
from tui_agent.workspace.checkpoints.status import Skips, anywhere, examine, some
from tui_agent.workspace.checkpoints.touched_paths import HUMAN
from tui_agent.workspace.checkpoints.unheld_files import before_lines, left_lines


async def restore(shadow: Shadow, plan: RestorePlan, overwrite: Sequence[str], acts: FileActs) -> Restored:
    """Carry out a plan: the free acts, and those in conflict that `overwrite` names."""
    if plan.head != shadow.head:
        raise CheckpointError(
            "The files were checkpointed again after this restore was planned.",
            hint="Plan it once more; nothing was changed.",
        )
    prepared = await prepare(shadow, plan.source, overwrite)
    planned = {act.path for act in plan.acts}
    wanted = {act.path for act in plan.acts if not act.conflict} | set(overwrite)
    free = {act.path for act in prepared.acts if not act.conflict}
    chosen = wanted & planned & (free | set(overwrite))
    doing, _ = await run_sync(_possible, shadow, prepared, chosen)
    done = {act.path for act in doing}
    kept = tuple(sorted((planned - done) & {act.path for act in prepared.acts}))
    _, never = (
        await run_sync(_possible, shadow, prepared, {act.path for act in prepared.acts}) if kept else ([], {})
    )
    await keep_overwritten(shadow, [act for act in doing if act.conflict])
    staging = Staging(shadow.files, f"{STAGING}{uuid4().hex[:12]}", acts)

    async def undo() -> None:
        await run_sync(_undo, shadow, staging)

    async with shielded_on_fault(undo):
        files = await put(shadow, prepared, doing, staging)
        commit = await settle_head(shadow, prepared, done, kept)
    await run_sync(_clear, staging)
    blocked = {path: never[path] for path in kept if path in never}
    return Restored(commit, tuple(sorted(done)), kept, files, blocked)


def _possible(shadow: Shadow, prepared: Prepared, chosen: set[str]) -> tuple[list[Putting], dict[str, str]]:
    """The chosen acts for which there is a place; leaving one out can take another's place away. And why there is none for
    the others that cannot be done."""
    while True:
        acts = [replace(act, blocked="") if act.blocked and act.stand.kept else act for act in prepared.acts]
        checked = blocked_by_places(shadow, acts, chosen)
        fit = {act.path for act in checked if act.path in chosen and not act.blocked}
        if fit == chosen:
            blocked = {act.path: act.blocked for act in checked if act.blocked}
            return [act for act in checked if act.path in chosen], blocked
        chosen = fit


async def keep_overwritten(shadow: Shadow, acts: list[Putting]) -> None:
    """Store what is about to be overwritten though no checkpoint holds it."""
    paths = [act.path for act in acts if act.stand.kept]
    if not paths:
        return
    with shadow.draft() as draft:
        taken = await take(shadow, draft, paths)
        if taken.changed:
            lines = taken.modes.since(shadow.modes)
            message = "What a restore overwrote"
            made = await commit_tree(
                shadow, taken.tree, shadow.head, author=HUMAN, message=message, lines=lines
            )
            await keep(shadow, made)


async def put(
    shadow: Shadow, prepared: Prepared, doing: list[Putting], staging: Staging
) -> tuple[FileStand, ...]:
    """Lay everything out, then move it into place; what was changed, in detail."""
    large = [act.entry.oid for act in doing if act.entry is not None and act.kind != "mode"]
    sizes = await shadow.git.sizes([oid for oid in large if oid not in prepared.contents])
    try:
        await run_sync(staging.open)
        await run_sync(_lay_out, staging, list(enumerate(doing)), prepared.contents)
        for number, act in enumerate(doing):
            if act.entry is not None and act.kind != "mode" and act.entry.oid in sizes:
                content = await shadow.git.contents({act.entry.oid: sizes[act.entry.oid]})
                await run_sync(_lay_out, staging, [(number, act)], content)
        await run_sync(_checked_moves, shadow, doing, staging)
    except OSError as fault:
        raise _fault(fault) from fault
    first = doing[: shadow.limits.named]
    return tuple(_told(act, prepared, sizes) for act in first)


def _lay_out(staging: Staging, acts: list[tuple[int, Putting]], contents: Mapping[str, bytes]) -> None:
    for number, act in acts:
        if act.entry is not None and act.kind != "mode" and act.entry.oid in contents:
            link = act.entry.git_mode == LINK
            staging.lay_out(number, contents[act.entry.oid], act.bits, link=link)


def _checked_moves(shadow: Shadow, doing: list[Putting], staging: Staging) -> None:
    with shadow.files.near() as near:
        for act in doing:
            now = near.stand(act.path)
            if (now.kind, now.oid, now.bits) != (act.stand.kind, act.stand.oid, act.stand.bits):
                raise CheckpointError(
                    f"{act.path} changed while it was about to be put back.",
                    hint="Nothing was changed; plan the restore once more.",
                )
    staging.carry_out(moves(shadow, doing))


def moves(shadow: Shadow, doing: list[Putting]) -> list[Move]:
    """The acts in an order in which each finds its place free, with the folders that go or come."""
    numbered = list(enumerate(doing))
    removed = [Move("remove", act.path, number) for number, act in numbered if act.kind == "remove"]
    created = [Move("create", act.path, number, act.bits) for number, act in numbered if act.kind == "create"]
    written = [Move("write", act.path, number, act.bits) for number, act in numbered if act.kind == "write"]
    bits = [
        Move("mode", act.path, number, act.bits, act.stand.bits)
        for number, act in numbered
        if act.kind == "mode"
    ]
    gone = emptied(
        shadow, {act.path for act in doing if act.kind == "remove"}, [move.path for move in created]
    )
    going = [Move("rmdir", path, -1, 0, folder_bits(shadow.workspace, path)) for path in gone]
    coming = [Move("mkdir", path, -1) for path in missing(shadow, [move.path for move in created], set(gone))]
    return [*removed, *going, *coming, *created, *written, *bits]


def emptied(shadow: Shadow, removed: set[str], created: list[str]) -> list[str]:
    """The folders that hold nothing once the removed files are gone, the deepest first.

    Not those into which a file comes, nor those that were empty when the session began.
    """
    needed = {parent.as_posix() for path in created for parent in PurePosixPath(path).parents}
    places = {parent.as_posix() for path in removed for parent in PurePosixPath(path).parents} | {
        path
        for path in created
        if (shadow.workspace / path).is_dir() and not (shadow.workspace / path).is_symlink()
    }
    for path in list(places):
        if path in created:
            places |= {
                Path(place).relative_to(shadow.workspace).as_posix()
                for place, _, _ in os.walk(shadow.workspace / path)
            }
    noted = shadow.git.folder / EMPTY_FOLDERS
    found = set(names_of(noted.read_bytes())) if noted.exists() else set()
    gone: list[str] = []
    going = set(removed)
    for place in sorted(places - found - {"."}, key=lambda path: path.count("/"), reverse=True):
        names = {f"{place}/{here.name}" for here in (shadow.workspace / place).iterdir()}
        if place not in needed and names <= going:
            gone.append(place)
            going.add(place)
    return gone


def missing(shadow: Shadow, created: list[str], gone: set[str]) -> list[str]:
    """The folders that must be made, the highest first."""
    needed = {parent.as_posix() for path in created for parent in PurePosixPath(path).parents} - {"."}
    return sorted(
        path for path in needed if path in gone or shadow.files.stand(path, read=False).kind != "folder"
    )


async def settle_head(shadow: Shadow, prepared: Prepared, done: set[str], kept: Sequence[str]) -> str:
    """Make a checkpoint of the workspace as it now is: the source itself, or a commit on top of it, which names what was
    left alone."""
    with shadow.draft() as draft:
        candidates = await anywhere(shadow) | done
        found = await run_sync(examine, shadow, candidates, Skips(), False)
        taken = await take(shadow, draft, {each.path for each in found} | done)
        as_found = prepared.as_found - taken.changed.keys()
        lines = [
            *before_lines(as_found | (prepared.first_kept.keys() & done)),
            *left_lines(kept, prepared.first_kept),
            *taken.modes.since(prepared.modes),
        ]
        commit = prepared.source
        if taken.tree != await shadow.tree(prepared.source) or lines:
            message = "The files after a restore"
            commit = await commit_tree(
                shadow,
                taken.tree,
                prepared.source,
                author=HUMAN,
                message=message,
                lines=[f"Restored: {prepared.source}", *lines],
            )
        await keep(shadow, shadow.head)
        await move_head(shadow, commit, taken)
    return commit


def _told(act: Putting, prepared: Prepared, sizes: dict[str, int]) -> FileStand:
    stand = act.stand if act.stand.kept else Stand("absent")
    oid = "" if act.entry is None else act.entry.oid
    after = stand.content if act.kind == "mode" else prepared.contents.get(oid)
    size = stand.size if act.kind == "mode" else sizes.get(oid, len(after or b""))
    return FileStand(
        act.path, stand.content, after, stand.size, size, None if act.entry is None else act.bits
    )


def _fault(fault: OSError) -> CheckpointError:
    place = f" ({os.fsdecode(fault.filename)})" if fault.filename else ""
    return CheckpointError(
        f"The files could not be put back: {fault.strerror or fault}{place}.",
        hint="Everything was undone again; the workspace is as it was.",
    )


def _undo(shadow: Shadow, staging: Staging) -> None:
    try:
        left = staging.undo()
    except OSError as fault:
        raise CheckpointError(
            f"A restore failed and could not be undone whole: {fault.strerror or fault}.",
            hint=f"What it moved away lies in {shadow.workspace}/{STAGING}*; it is put back when the session opens again.",
        ) from fault
    if left:
        saved = shadow.workspace / staging.saved
        shadow.notices.append(
            f"A restore was cut off and is undone, but for what was changed since: {some(left)}."
            + (f" What stood there before lies in {saved}." if saved.is_dir() else "")
        )


def _clear(staging: Staging) -> None:
    with contextlib.suppress(
        OSError
    ):  # the files are in place; what is left goes when the session opens again
        staging.clear()


def recover(shadow: Shadow, acts: FileActs) -> None:
    """Undo a restore that a program did not live to end; one that is at work is let alone."""
    for left in sorted(shadow.workspace.glob(f"{STAGING}*")):
        if left.is_dir() and not left.is_symlink():
            staging = Staging(shadow.files, left.name, acts)
            if staging.hold():
                _undo(shadow, staging)
