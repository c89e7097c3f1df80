"""A store that lost what its newest checkpoint is made of: what is damaged is moved aside, nothing is deleted.

Invariant: what stays in the store is whole by itself; the next checkpoint stores its contents anew.
"""

import hashlib
import shutil
import zlib
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.workspace.checkpoints.git import OBJECT_ID
from tui_agent.workspace.checkpoints.state import MAIN, Shadow, put

ASIDE = "damaged-"
"""How the folder's name begins, in the store, into which what is damaged is moved."""


STAND_INS = "stand-ins"
"""A file of the store: each lost checkpoint that a later one equals, and that one."""


def stand_in(store: Path, lost: str, commit: str) -> None:
    """From now on `commit` is meant where the lost checkpoint is named: no one but people changed files in between.

    Raises OSError.
    """
    path = store / STAND_INS
    known = path.read_bytes() if path.exists() else b""
    put(store, path, known + f"{lost} {commit}\n".encode())


def meant(store: Path, commit: str) -> str:
    """The checkpoint that stands in for this one; itself where it was not lost. Raises OSError."""
    path = store / STAND_INS
    if path.exists():
        for line in path.read_text("ascii", "replace").splitlines():
            lost, _, other = line.partition(" ")
            commit = other if lost == commit else commit
    return commit


async def is_whole(shadow: Shadow, commit: str) -> bool:
    """Whether the commits up to this one and every folder of it can be read."""
    for words in (
        ("cat-file", "-e", f"{commit}^{{commit}}"),
        ("rev-list", "--quiet", commit, "--"),
        ("ls-tree", "-r", "-t", "-z", "--name-only", commit),
    ):
        if (await shadow.git.end(*words)).code:
            return False
    return True


async def set_aside(shadow: Shadow) -> None:
    """Move what is damaged, and what names the checkpoints that are lost, into a folder of the store."""
    packs = shadow.git.folder / "objects" / "pack"
    bad = []
    for pack in await run_sync(lambda: sorted(packs.glob("*.pack"))):
        index = pack.with_suffix(".idx")
        if not index.exists() or (await shadow.git.end("verify-pack", str(index))).code:
            bad.append(pack)
    await run_sync(_move, shadow.git.folder, bad)


def _move(store: Path, packs: list[Path]) -> None:
    aside = _free(store)
    aside.mkdir(mode=0o700)
    for pack in packs:
        for path in pack.parent.glob(f"{pack.stem}.*"):
            path.replace(aside / path.name)
    for index in (store / "objects" / "pack").glob("*.idx"):
        if not index.with_suffix(".pack").exists():
            index.replace(aside / index.name)
    for path in _unreadable(store / "objects"):
        path.replace(aside / f"{path.parent.name}{path.name}")
    for name in ("refs", "packed-refs", "index"):
        if (store / name).is_file() or any(path.is_file() for path in (store / name).rglob("*")):
            shutil.move(store / name, aside / name)
    (store / MAIN).parent.mkdir(parents=True, exist_ok=True)
    if not any(aside.iterdir()):
        aside.rmdir()


def _free(store: Path) -> Path:
    taken = sum(1 for _ in store.glob(f"{ASIDE}*"))
    return store / f"{ASIDE}{taken + 1}"


def _unreadable(objects: Path) -> list[Path]:
    """The loose objects whose bytes are not what their name says."""
    found = []
    for place in objects.iterdir():
        if len(place.name) == 2 and place.is_dir():
            found += [path for path in place.iterdir() if not _sound(place.name + path.name, path)]
    return found


def _sound(name: str, path: Path) -> bool:
    if len(name) != OBJECT_ID:
        return True  # none of git's objects
    try:
        content = zlib.decompress(path.read_bytes())
    except (zlib.error, OSError):
        return False
    return hashlib.sha1(content, usedforsecurity=False).hexdigest() == name
