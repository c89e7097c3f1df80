"""The upkeep of the store: packing, making it independent of the user's repository, checking, taking it along."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.alternates import alternates_of, where_gone
from tui_agent.workspace.checkpoints.borrowed_objects import (
    DURABLE,
    copy_needed,
    needed_bytes,
    over_quota,
    release_copies,
)
from tui_agent.workspace.checkpoints.state import Shadow, disk_fault, folder_size, put, shielded_on_fault
from tui_agent.workspace.checkpoints.status import grown

LOOSE = 100
"""Loose objects from which on packing pays."""
PACKS = 8


async def settle(shadow: Shadow) -> bool:
    """Copy what is borrowed, as far as the quota goes, and pack what is loose. True if anything was done.

    Ended at any moment it leaves a whole store, and nothing half done in it.
    """

    async def clear() -> None:
        await run_sync(clear_drafts, shadow.git.folder)

    async with shielded_on_fault(clear):
        return await _settle(shadow)


async def _settle(shadow: Shadow) -> bool:
    borrowing = await run_sync(alternates_of(shadow.git.folder).exists)
    own = copied = False
    if borrowing and shadow.settled != shadow.head:
        own = not over_quota(shadow, await needed_bytes(shadow))
        copied = not own and await copy_needed(shadow)
    loose, packs = await run_sync(_counted, shadow.git.folder)
    if own or loose >= LOOSE or packs >= PACKS:
        await _repack(shadow, own=own, borrowing=borrowing)
        copied = True
    if copied:
        shadow.grown = await run_sync(grown, shadow)
    shadow.settled = shadow.head
    return copied


async def _repack(shadow: Shadow, *, own: bool, borrowing: bool) -> None:
    """One pack of everything, with what is borrowed (`own`) or without it."""
    if own:
        await run_sync(release_copies, shadow.git.folder)
    local = () if own or not borrowing else ("-l",)
    options = ("-a", "-d", "-k", "-q", "--window=20", "--depth=50")
    await shadow.git(*DURABLE, "repack", *options, *local)
    if own:
        await run_sync(alternates_of(shadow.git.folder).unlink)
        words = ("--objects", "--disk-usage", "--max-parents=0", "--all")
        first = await shadow.git.one("rev-list", *words)
        await run_sync(put, shadow.git.folder, shadow.git.folder / "first-size", first.encode())


def _counted(store: Path) -> tuple[int, int]:
    """Loose objects and packs, those of copies apart."""
    objects = store / "objects"
    loose = sum(len(list(place.iterdir())) for place in objects.iterdir() if len(place.name) == 2)
    packs = {path.stem for path in (objects / "pack").glob("*.pack")}
    return loose, len(packs - {path.stem for path in (objects / "pack").glob("*.keep")})


async def verify(shadow: Shadow, anew: Sequence[str] = ()) -> list[str]:
    """What is wrong with the store, in words; empty where nothing is. `anew` was missing and has just been written."""
    problems: list[str] = []
    for what in (("--connectivity-only",), ("--no-full", "--no-reflogs")):
        ended = await shadow.git.end("fsck", *what, "--no-dangling", "--no-progress")
        if ended.code:
            problems += (ended.out + b"\n" + ended.err).decode("utf-8", "replace").splitlines()
    for pack in await run_sync(_packs, shadow.git.folder):
        ended = await shadow.git.end("verify-pack", str(pack))
        if ended.code:
            problems.append(f"{pack.name}: {ended.err.decode('utf-8', 'replace').strip()}")
    if shadow.head and (await shadow.git.end("cat-file", "-e", f"{shadow.head}^{{tree}}")).code:
        problems.append(f"the newest checkpoint {shadow.head[:12]} is missing")
    missed = await run_sync(where_gone, shadow.git.folder)
    if problems and missed:  # git names every object
        return [f"{missed}; put it back there and all is whole"]
    if anew:
        were = "was" if len(anew) == 1 else "were"
        problems.append(f"{' and '.join(anew)} {were} missing and {were} written anew; that lost nothing")
    return list(dict.fromkeys(line.strip() for line in problems if line.strip()))


def _packs(store: Path) -> list[Path]:
    return sorted((store / "objects" / "pack").glob("*.idx"))


async def export_bundle(shadow: Shadow, dest: Path) -> None:
    """One file of all checkpoints that `git clone` takes, with what is borrowed."""
    draft = dest.with_name(f".{dest.name}.part")
    try:
        await shadow.git("bundle", "create", "--quiet", str(draft.absolute()), "HEAD", "--all")
        await run_sync(draft.replace, dest)
    except OSError as fault:
        raise disk_fault(dest, fault) from fault
    finally:
        draft.unlink(missing_ok=True)


async def size(shadow: Shadow) -> int:
    """Bytes that the store takes."""
    return await run_sync(folder_size, shadow.git.folder)


async def borrowed(shadow: Shadow) -> str:
    """What of the first checkpoint is not the store's own, as a sentence; empty where all is, or soon will
    be; also where what it borrows is gone, which `verify` says."""
    if not await run_sync(alternates_of(shadow.git.folder).exists):
        return ""
    if await run_sync(where_gone, shadow.git.folder):
        return ""
    return over_quota(shadow, await needed_bytes(shadow))


def clear_locks(store: Path) -> None:
    """Remove what a killed git left: its locks and half-written files. The session's own lock must be held."""
    for left in (*store.glob("*.lock"), *store.glob("draft-*"), *store.glob("refs/**/*.lock")):
        left.unlink(missing_ok=True)
    clear_drafts(store)


def clear_drafts(store: Path) -> None:
    """Remove half-written objects and packs."""
    for left in (*store.glob("objects/**/tmp_*"), *store.glob("objects/pack/.tmp-*")):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)
