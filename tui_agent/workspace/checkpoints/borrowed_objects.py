"""Git objects borrowed from the user's repository.

Invariant: a borrowed object is copied before the store stops borrowing.
"""

import os
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.units import format_bytes
from tui_agent.workspace.checkpoints.alternates import alternates_file, read_alternates
from tui_agent.workspace.checkpoints.git_runner import OBJECT_ID_CHARS, split_names
from tui_agent.workspace.checkpoints.store_state import CheckpointStore, write_file

DURABLE_OPTIONS = ("-c", "core.fsync=pack,pack-metadata,loose-object,reference", "-c", "pack.threads=1")
MAX_COPY_PACKS = 8
"""As soon as there are this many packs with copied objects, they are merged into one pack."""


def borrow_objects(store: Path, objects: Path) -> None:
    """Let the checkpoint store `store` use the git objects in the folder `objects` without copying them."""
    name = os.fsencode(objects)
    if name.startswith((b'"', b"#")) or b"\n" in name:
        escaped = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        name = b'"' + escaped + b'"'
    known = read_alternates(store / "objects")
    if name not in known:
        path = alternates_file(store)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(store, str(path.relative_to(store)), b"".join(line + b"\n" for line in (*known, name)))


async def measure_needed(shadow: CheckpointStore) -> int:
    """Return the disk size of all objects in checkpoints, borrowed or not, in bytes."""
    return int(await shadow.git.run_line("rev-list", "--objects", "--disk-usage", "--all"))


def describe_quota(shadow: CheckpointStore, needed: int) -> str:
    """Return a warning if the borrowed objects exceed the quota, so that not all are copied; otherwise an empty string."""
    limit = shadow.limits.baseline_bytes
    if needed <= limit + shadow.growth_bytes:
        return ""
    return (
        f"The checkpoints use git objects of the workspace's own repository ({format_bytes(needed)}). Not all of them are "
        f"copied, because of the copy limit of {format_bytes(limit)} (checkpoints.borrowed_mb). Files changed in this "
        "session are copied. If the history of that repository is rewritten and pruned, /undo cannot restore the other files."
    )


async def copy_needed_objects(shadow: CheckpointStore) -> bool:
    """Copy the borrowed objects that a restore needs, up to the quota. Return True if any were copied."""
    needed = await _commits_and_trees(shadow)
    needed += [oid for oid in await _list_changed_contents(shadow) if oid not in set(needed)]
    own = await run_sync(_loose_objects, shadow.git.folder)
    for index in await run_sync(pack_indexes, shadow.git.folder):
        own.update(await _list_pack(shadow, index))
    missing = [oid for oid in needed if oid not in own]
    sizes = await shadow.git.read_sizes(missing, missing=True)
    selected, room = [], shadow.limits.baseline_bytes
    for oid in (oid for oid in missing if oid in sizes):
        if sizes[oid] <= room:
            room -= sizes[oid]
            selected.append(oid)
    if not selected:
        return False
    await _write_kept_pack(shadow, selected)
    await _merge_copies(shadow)
    return True


async def _commits_and_trees(shadow: CheckpointStore) -> list[str]:
    out = await shadow.git("rev-list", "--objects", "--filter=blob:none", "--no-object-names", "--all")
    return out.decode().split()


async def _list_changed_contents(shadow: CheckpointStore) -> list[str]:
    commits = await shadow.git("rev-list", "--all", "--min-parents=1")
    options = ("--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-commit-id")
    words = split_names(await shadow.git("diff-tree", *options, stdin=commits))
    oids: dict[str, None] = {}
    for info in words[::2]:
        for oid in info.split(" ")[2:4]:
            if oid.strip("0"):
                oids[oid] = None
    return list(oids)


async def _list_pack(shadow: CheckpointStore, index: Path) -> list[str]:
    content = await run_sync(index.read_bytes)
    lines = (await shadow.git("show-index", stdin=content)).decode().splitlines()
    return [line.split()[1] for line in lines]


async def _write_kept_pack(shadow: CheckpointStore, oids: list[str]) -> str:
    """Write the objects to a pack file, and return its name. `git repack` does not change this file."""
    base = shadow.git.folder / "objects" / "pack" / "pack"
    stdin = "".join(f"{oid}\n" for oid in oids).encode()
    name = await shadow.git.run_line(
        *DURABLE_OPTIONS, "pack-objects", "--quiet", "--window=0", str(base), stdin=stdin
    )
    await run_sync(write_file, shadow.git.folder, f"objects/pack/pack-{name}.keep", b"")
    return name


async def _merge_copies(shadow: CheckpointStore) -> None:
    copies = [
        index
        for index in await run_sync(pack_indexes, shadow.git.folder)
        if index.with_suffix(".keep").exists()
    ]
    if len(copies) < MAX_COPY_PACKS:
        return
    oids: dict[str, None] = {}
    for index in copies:
        oids.update(dict.fromkeys(await _list_pack(shadow, index)))
    name = await _write_kept_pack(shadow, list(oids))
    await run_sync(_remove_packs, [index for index in copies if index.stem != f"pack-{name}"])


def _remove_packs(indexes: list[Path]) -> None:
    for index in indexes:
        for suffix in (".idx", ".pack", ".rev", ".keep"):
            index.with_suffix(suffix).unlink(missing_ok=True)


def release_copies(store: Path) -> None:
    """Let the next `git repack` also repack the packs of copied objects."""
    for path in (store / "objects" / "pack").glob("*.keep"):
        path.unlink(missing_ok=True)


def pack_indexes(store: Path) -> list[Path]:
    """Return the index files of a store's packs."""
    return sorted((store / "objects" / "pack").glob("*.idx"))


def _loose_objects(store: Path) -> set[str]:
    folders = (folder for folder in (store / "objects").iterdir() if len(folder.name) == 2)
    names = {folder.name + path.name for folder in folders for path in folder.iterdir()}
    return {name for name in names if len(name) == OBJECT_ID_CHARS}
