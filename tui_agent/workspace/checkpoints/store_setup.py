"""Opening the store: creating and repairing it, and continuing from a checkpoint that the log knows."""

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
from tui_agent.workspace.checkpoints.state import KEPT, MAIN, Shadow, disk_fault, put
from tui_agent.workspace.checkpoints.status import grown, write_patterns

FOLDER_MODE = 0o700
_PATH_CHECKS = ("hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName", "nullSha1")
_STRICT = tuple(word for name in _PATH_CHECKS for word in ("-c", f"fsck.{name}=error"))


async def open_store(shadow: Shadow) -> None:
    """Create the store if missing; ensure our own settings and remove leftover locks."""
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
    """Recreate the files that make an object folder a git store; return those that were missing.

    Settings are not reported: a fork's store gets them when first opened. Nothing saved is lost. Raises
    OSError.
    """
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
    """If borrowed objects are missing, borrow from the repository that now contains the workspace."""
    if await run_sync(gone, shadow.git.folder):
        repository = await run_sync(find_repository, shadow.workspace)
        if repository is not None:
            await run_sync(borrow, shadow.git.folder, repository.common / "objects")


def _remove_broken_ref(path: Path) -> None:
    """Remove a broken ref, which git would not replace."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


async def take_up(shadow: Shadow, known: str) -> bool:
    """Continue from the checkpoint `known`; return False if it is lost.

    Then damaged files are moved aside and a new first checkpoint is needed. Raises `CheckpointError` if it
    exists but cannot be used now.
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
            f"The checkpoints in {shadow.git.folder} are damaged: earlier versions of the files cannot be restored. "
            "A new first checkpoint saves the files as they are now."
        )
        return False
    return True


async def go_on(shadow: Shadow, known: str) -> None:
    """Load the checkpoint `known`. A broken or foreign index is read again from it."""
    tree = await shadow.tree(known)
    if not await is_whole(shadow, known):  # an intact index hides that its trees are missing
        raise shadow.git.missing(tree)
    newest = await shadow.git.end("rev-parse", "--verify", "--quiet", f"{MAIN}^{{commit}}")
    main = newest.out.decode().strip() if newest.code == 0 else ""
    if main and main != known:
        await keep(shadow, main)
    if not main:
        await run_sync(_remove_broken_ref, shadow.git.folder / MAIN)
    with shadow.draft(empty=not shadow.git.index.exists()) as draft:
        written = await shadow.git.end("write-tree", index=draft)
        if written.code or written.out.decode().strip() != tree:
            read_result = await shadow.git.end("read-tree", "-m", known, index=draft)
            if read_result.code:
                await run_sync(draft.unlink, True)
                await shadow.git("read-tree", known, index=draft)
        await shadow.git.end("update-index", "-q", "--refresh", index=draft)
        tracked = await shadow.load(draft)
        modes = await shadow.modes_at(known)
        shadow.tracked = {}
        await move_head(shadow, known, Taken(draft, tree, tracked, modes))
    shadow.grown = await run_sync(grown, shadow)


async def import_bundle(shadow: Shadow, bundle: Path) -> None:
    """Create the store from a bundle, checking every object. Raises `CheckpointError` and then leaves no store."""
    try:
        await open_store(shadow)
        await shadow.git("bundle", "verify", "--quiet", str(bundle))
        heads = await shadow.git("bundle", "unbundle", str(bundle))
        for line in heads.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition(" ")
            if name == MAIN or name.startswith(KEPT):
                await shadow.git("update-ref", name, f"{commit}^{{commit}}")
        checked = await shadow.git.end(*_STRICT, "fsck", "--full", "--no-dangling", "--no-progress")
        if checked.code:
            raise shadow.git.fault("fsck", checked)
    except CheckpointError:
        await run_sync(lambda: shutil.rmtree(shadow.git.folder, ignore_errors=True))
        raise
