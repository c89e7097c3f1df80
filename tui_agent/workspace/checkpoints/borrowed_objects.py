"""What the store borrows from the user's objects, and making it the store's own.

Invariant: a borrowed object is copied before the store can do without it; what is copied is never dropped again.
"""

import os
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.alternates import alternates_of, lines_of
from tui_agent.workspace.checkpoints.git import OBJECT_ID, names_of
from tui_agent.workspace.checkpoints.limits import size_in_words
from tui_agent.workspace.checkpoints.state import Shadow, put

DURABLE = ("-c", "core.fsync=pack,pack-metadata,loose-object,reference", "-c", "pack.threads=1")
COPIES = 8
"""Packs of copies from which on they are made one."""


def borrow(store: Path, objects: Path) -> None:
    """Let a store reach the objects in a folder, beside those that it reaches already."""
    name = os.fsencode(objects)
    if name.startswith((b'"', b"#")) or b"\n" in name:
        escaped = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        name = b'"' + escaped + b'"'
    known = lines_of(store / "objects")
    if name not in known:
        path = alternates_of(store)
        path.parent.mkdir(parents=True, exist_ok=True)
        put(store, path, b"".join(line + b"\n" for line in (*known, name)))


async def needed_bytes(shadow: Shadow) -> int:
    """How much everything takes on the disk that a checkpoint leads to, borrowed or not."""
    return int(await shadow.git.one("rev-list", "--objects", "--disk-usage", "--all"))


def over_quota(shadow: Shadow, needed: int) -> str:
    """A sentence that says why not all is copied; empty where all is."""
    limit = shadow.limits.baseline_bytes
    if needed <= limit + shadow.grown:
        return ""
    return (
        f"The first checkpoint borrows {size_in_words(needed)} from the repository of the workspace, more than the "
        f"{size_in_words(limit)} that are copied (checkpoints.borrowed_mb). What this session changed is copied; "
        "a history that is rewritten and pruned there can take the rest away."
    )


async def copy_needed(shadow: Shadow) -> bool:
    """Copy of what is borrowed what putting files back needs: every folder's listing, and the contents of each path
    that a checkpoint changed, as far as the quota goes. True if anything was copied."""
    wanted = await _listings(shadow)
    wanted += [oid for oid in await _contents(shadow) if oid not in set(wanted)]
    own = await run_sync(_loose, shadow.git.folder)
    for index in await run_sync(_indexes, shadow.git.folder):
        own |= {line.split()[1] for line in (await _shown(shadow, index)).splitlines()}
    missing = [oid for oid in wanted if oid not in own]
    sizes = await shadow.git.sizes(missing, missing=True)
    taken, room = [], shadow.limits.baseline_bytes
    for oid in (oid for oid in missing if oid in sizes):
        if sizes[oid] <= room:
            room -= sizes[oid]
            taken.append(oid)
    if not taken:
        return False
    await _packed(shadow, taken)
    await _one_copy(shadow)
    return True


async def _listings(shadow: Shadow) -> list[str]:
    """Commits and trees."""
    out = await shadow.git("rev-list", "--objects", "--filter=blob:none", "--no-object-names", "--all")
    return out.decode().split()


async def _contents(shadow: Shadow) -> list[str]:
    """What stood, before and after, at every path that a checkpoint changed; the first one apart."""
    commits = await shadow.git("rev-list", "--all", "--min-parents=1")
    options = ("--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-commit-id")
    words = names_of(await shadow.git("diff-tree", *options, stdin=commits))
    found: dict[str, None] = {}
    for info in words[::2]:
        for oid in info.split(" ")[2:4]:
            if oid.strip("0"):
                found[oid] = None
    return list(found)


async def _shown(shadow: Shadow, index: Path) -> str:
    content = await run_sync(index.read_bytes)
    return (await shadow.git("show-index", stdin=content)).decode()


async def _packed(shadow: Shadow, oids: list[str]) -> str:
    """A pack of these objects that no later packing touches; its name."""
    base = shadow.git.folder / "objects" / "pack" / "pack"
    stdin = "".join(f"{oid}\n" for oid in oids).encode()
    name = await shadow.git.one(*DURABLE, "pack-objects", "--quiet", "--window=0", str(base), stdin=stdin)
    await run_sync(put, shadow.git.folder, Path(f"{base}-{name}.keep"), b"")
    return name


async def _one_copy(shadow: Shadow) -> None:
    """Make the packs of copies one, where they are many."""
    kept = [
        index for index in await run_sync(_indexes, shadow.git.folder) if index.with_suffix(".keep").exists()
    ]
    if len(kept) < COPIES:
        return
    oids: dict[str, None] = {}
    for index in kept:
        oids.update(dict.fromkeys(line.split()[1] for line in (await _shown(shadow, index)).splitlines()))
    name = await _packed(shadow, list(oids))
    await run_sync(_drop, [index for index in kept if index.stem != f"pack-{name}"])


def _drop(indexes: list[Path]) -> None:
    for index in indexes:
        for path in (
            index,
            index.with_suffix(".pack"),
            index.with_suffix(".rev"),
            index.with_suffix(".keep"),
        ):
            path.unlink(missing_ok=True)


def release_copies(store: Path) -> None:
    """Let the next packing take the copies up."""
    for path in (store / "objects" / "pack").glob("*.keep"):
        path.unlink(missing_ok=True)


def _indexes(store: Path) -> list[Path]:
    return sorted((store / "objects" / "pack").glob("*.idx"))


def _loose(store: Path) -> set[str]:
    """The names of the loose objects."""
    places = (place for place in (store / "objects").iterdir() if len(place.name) == 2)
    names = {place.name + path.name for place in places for path in place.iterdir()}
    return {name for name in names if len(name) == OBJECT_ID}
