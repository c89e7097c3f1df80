"""Repair of a checkpoint store after the loss of parts of its newest checkpoint.

Invariant: damaged files are moved aside, and nothing is deleted.
"""

import hashlib
import shutil
import zlib
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.git_runner import OBJECT_ID_CHARS
from tui_agent.workspace.checkpoints.store_state import MAIN_REF, CheckpointStore, write_file

DAMAGED_PREFIX = "damaged-"
"""Name prefix of the folder for damaged files, inside the checkpoint store."""


STAND_INS_FILE = "stand-ins"
"""Name of a file in the checkpoint store. Each line has a lost checkpoint and its replacement."""


def record_stand_in(store: Path, lost: str, commit: str) -> None:
    """Record that `commit` replaces the lost checkpoint `lost`. Raise `OSError` if this fails."""
    path = store / STAND_INS_FILE
    known = path.read_bytes() if path.exists() else b""
    write_file(store, path, known + f"{lost} {commit}\n".encode())


def resolve_stand_in(store: Path, commit: str) -> str:
    """Return the checkpoint that replaces `commit`, or `commit` itself if it was not lost.

    Raise `OSError` if the record cannot be read.
    """
    path = store / STAND_INS_FILE
    if path.exists():
        for line in path.read_text("ascii", "replace").splitlines():
            lost, _, replacement = line.partition(" ")
            commit = replacement if lost == commit else commit
    return commit


async def is_complete(shadow: CheckpointStore, commit: str) -> bool:
    """Return True if a commit, its ancestors, and its folders can be read."""
    for words in (
        ("cat-file", "-e", f"{commit}^{{commit}}"),
        ("rev-list", "--quiet", commit, "--"),
        ("ls-tree", "-r", "-t", "-z", "--name-only", commit),
    ):
        if (await shadow.git.run(*words)).code:
            return False
    return True


async def move_damaged_aside(shadow: CheckpointStore) -> None:
    """Move damaged files and the git refs of lost checkpoints into a folder inside the store."""
    packs = shadow.git.folder / "objects" / "pack"
    damaged = []
    for pack in await run_sync(lambda: sorted(packs.glob("*.pack"))):
        index = pack.with_suffix(".idx")
        if not index.exists() or (await shadow.git.run("verify-pack", str(index))).code:
            damaged.append(pack)
    await run_sync(_move, shadow.git.folder, damaged)


def _move(store: Path, packs: list[Path]) -> None:
    aside = _new_folder_name(store)
    aside.mkdir(mode=0o700)
    for pack in packs:
        for path in pack.parent.glob(f"{pack.stem}.*"):
            path.replace(aside / path.name)
    for index in (store / "objects" / "pack").glob("*.idx"):
        if not index.with_suffix(".pack").exists():
            index.replace(aside / index.name)
    for path in _find_damaged_objects(store / "objects"):
        path.replace(aside / f"{path.parent.name}{path.name}")
    for name in ("refs", "packed-refs", "index"):
        if (store / name).is_file() or any(path.is_file() for path in (store / name).rglob("*")):
            shutil.move(store / name, aside / name)
    (store / MAIN_REF).parent.mkdir(parents=True, exist_ok=True)
    if not any(aside.iterdir()):
        aside.rmdir()


def _new_folder_name(store: Path) -> Path:
    count = sum(1 for _ in store.glob(f"{DAMAGED_PREFIX}*"))
    return store / f"{DAMAGED_PREFIX}{count + 1}"


def _find_damaged_objects(objects: Path) -> list[Path]:
    damaged = []
    for folder in objects.iterdir():
        if len(folder.name) == 2 and folder.is_dir():
            damaged += [path for path in folder.iterdir() if not _is_sound(folder.name + path.name, path)]
    return damaged


def _is_sound(name: str, path: Path) -> bool:
    if len(name) != OBJECT_ID_CHARS:
        return True  # not a git object
    try:
        content = zlib.decompress(path.read_bytes())
    except (zlib.error, OSError):
        return False
    return hashlib.sha1(content, usedforsecurity=False).hexdigest() == name
