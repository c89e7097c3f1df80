"""L3: the upkeep of the store: packing, making it independent of the user's repository, checking, taking it along."""

import shutil
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.checkpoints.looking import grown
from tui_agent.checkpoints.state import Shadow, disk_fault, folder_size

LOOSE = 100
"""Loose objects from which on packing pays."""
PACKS = 8
DURABLE = ("-c", "core.fsync=pack,pack-metadata,loose-object,reference")


async def settle(shadow: Shadow) -> bool:
    """Copy what is borrowed, where that is not too much, and pack what is loose. True if anything was done.

    Cancelled at any moment it leaves a whole store.
    """
    alternates = shadow.git.folder / "objects" / "info" / "alternates"
    borrowing = await run_sync(alternates.exists)
    own = False
    if borrowing:
        words = await shadow.git.one("rev-list", "--objects", "--disk-usage", "--all")
        own = int(words) <= shadow.limits.baseline_bytes + shadow.grown
    loose, packs = await run_sync(_counted, shadow.git.folder)
    if not own and loose < LOOSE and packs < PACKS:
        return False
    options = ("-a", "-d", "-k", "-q", "--window=20", "--depth=50")
    local = () if own or not borrowing else ("-l",)
    await shadow.git(*DURABLE, "repack", *options, *local)
    if own:
        await run_sync(alternates.unlink)
        first = int(await shadow.git.one("rev-list", "--objects", "--disk-usage", "--max-parents=0", "--all"))
        await run_sync((shadow.git.folder / "first-size").write_text, str(first))
    shadow.grown = await run_sync(grown, shadow)
    return True


def _counted(store: Path) -> tuple[int, int]:
    """Loose objects and packs."""
    objects = store / "objects"
    loose = sum(len(list(place.iterdir())) for place in objects.iterdir() if len(place.name) == 2)
    return loose, len(list((objects / "pack").glob("*.pack"))) if (objects / "pack").is_dir() else 0


async def verify(shadow: Shadow) -> list[str]:
    """What is wrong with the store, in words; empty where nothing is."""
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


def clear_locks(store: Path) -> None:
    """Remove what a killed git left: its locks and half-written files. The session's own lock must be held."""
    for left in (*store.glob("*.lock"), *store.glob("draft-*"), *store.glob("refs/**/*.lock")):
        left.unlink(missing_ok=True)
    for left in (*store.glob("objects/**/tmp_*"), *store.glob("objects/pack/.tmp-*")):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)
