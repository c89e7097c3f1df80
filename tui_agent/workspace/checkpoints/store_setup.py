"""Opening the store: making it, mending it, and going on from a checkpoint that the log knows."""

import shutil
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.config.repository import find_repository
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.alternates import gone
from tui_agent.workspace.checkpoints.borrowed_objects import borrow
from tui_agent.workspace.checkpoints.commit import Taken, keep, move_head
from tui_agent.workspace.checkpoints.git import ATTRIBUTES, CONFIG
from tui_agent.workspace.checkpoints.maintenance import clear_locks
from tui_agent.workspace.checkpoints.repair import is_whole, set_aside
from tui_agent.workspace.checkpoints.state import MAIN, Shadow, disk_fault, put
from tui_agent.workspace.checkpoints.status import grown, write_patterns

FOLDER_MODE = 0o700


async def open_store(shadow: Shadow) -> None:
    """Make the store where there is none; see that its settings are ours and that no lock is left."""
    try:
        await run_sync(_lay_out, shadow.git.folder)
        await run_sync(write_patterns, shadow)
        await borrow_anew(shadow)
    except OSError as fault:
        raise disk_fault(shadow.git.folder, fault) from fault


def _lay_out(store: Path) -> None:
    for folder in ("objects/info", "objects/pack", "refs/heads", "info"):
        (store / folder).mkdir(parents=True, exist_ok=True)
    store.chmod(FOLDER_MODE)
    clear_locks(store)
    for name, text in (("HEAD", f"ref: {MAIN}\n"), ("config", CONFIG), ("info/attributes", ATTRIBUTES)):
        path = store / name
        if not path.is_file() or path.read_bytes() != text.encode():
            put(store, path, text.encode())


def names_anew(store: Path) -> list[str]:
    """Write anew what makes a folder of objects a store of git; what was missing, but for the settings, which a fork's store
    gets when it is first opened. Nothing that was kept is lost by that. Raises OSError."""
    if not (store / "objects").is_dir():
        return []
    missing = [name for name in ("HEAD",) if not (store / name).is_file()]
    for name, text in (("HEAD", f"ref: {MAIN}\n"), ("config", CONFIG)):
        if not (store / name).is_file():
            put(store, store / name, text.encode())
    if not (store / "refs").is_dir():
        missing.append("refs")
    (store / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    return missing


async def borrow_anew(shadow: Shadow) -> None:
    """Where what it borrows is gone, reach the objects of the repository in which the workspace is now."""
    if await run_sync(gone, shadow.git.folder):
        repository = await run_sync(find_repository, shadow.workspace)
        if repository is not None:
            await run_sync(borrow, shadow.git.folder, repository.common / "objects")


def _clear_name(path: Path) -> None:
    """Remove a name that leads nowhere: git would not replace it."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


async def take_up(shadow: Shadow, known: str) -> bool:
    """Go on from the checkpoint `known`. False where the store has lost it: then a first one must be taken anew, and
    what is damaged lies aside.

    Raises `CheckpointError` where it is there but cannot be used now.
    """
    try:
        await go_on(shadow, known)
    except CheckpointError:
        if await is_whole(shadow, known):
            raise
        try:
            await set_aside(shadow)
        except OSError as fault:
            raise disk_fault(shadow.git.folder, fault) from fault
        shadow.head, shadow.settled = "", ""
        shadow.notices.append(
            f"The checkpoints in {shadow.git.folder} are damaged: the files up to here cannot be put back any more. "
            "A new first checkpoint holds them as they are now."
        )
        return False
    return True


async def go_on(shadow: Shadow, known: str) -> None:
    """Take up the checkpoint `known`. An index that is broken or belongs to another is read from it again."""
    tree = await shadow.tree(known)
    if not await is_whole(shadow, known):  # an index that is whole hides that its folders are gone
        raise shadow.git.missing(tree)
    newest = await shadow.git.end("rev-parse", "--verify", "--quiet", f"{MAIN}^{{commit}}")
    main = newest.out.decode().strip() if newest.code == 0 else ""
    if main and main != known:
        await keep(shadow, main)
    if not main:
        await run_sync(_clear_name, shadow.git.folder / MAIN)
    with shadow.draft(empty=not shadow.git.index.exists()) as draft:
        held = await shadow.git.end("write-tree", index=draft)
        if held.code or held.out.decode().strip() != tree:
            merged = await shadow.git.end("read-tree", "-m", known, index=draft)
            if merged.code:
                await run_sync(draft.unlink, True)
                await shadow.git("read-tree", known, index=draft)
        await shadow.git.end("update-index", "-q", "--refresh", index=draft)
        tracked = await shadow.load(draft)
        modes = await shadow.modes_at(known)
        shadow.tracked = {}
        await move_head(shadow, known, Taken(draft, tree, tracked, modes))
    shadow.grown = await run_sync(grown, shadow)
