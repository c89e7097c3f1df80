"""Opening of a session's checkpoint store: create or repair it, and continue from the newest checkpoint in the log.

Invariant: a repair moves damaged files aside, and deletes nothing.
"""

import hashlib
import shutil
import zlib
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.config.project.repository import find_repository
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.alternates import find_missing_folders
from tui_agent.workspace.checkpoints.borrowed_objects import borrow_objects
from tui_agent.workspace.checkpoints.change_detection import measure_growth, write_patterns
from tui_agent.workspace.checkpoints.commit import DraftCheckpoint, move_head, protect_commit
from tui_agent.workspace.checkpoints.git_runner import ATTRIBUTES, CONFIG, OBJECT_ID_CHARS
from tui_agent.workspace.checkpoints.maintenance import clear_locks
from tui_agent.workspace.checkpoints.store_state import (
    KEPT_PREFIX,
    MAIN_REF,
    CheckpointStore,
    disk_error,
    write_file,
)

DAMAGED_PREFIX = "damaged-"
"""Name prefix of the folder for damaged files, inside the checkpoint store."""


STAND_INS_FILE = "stand-ins"
"""Name of a file in the checkpoint store. Each line has a replaced checkpoint and its replacement.

A checkpoint is replaced if it is lost, or if a fork's folder does not have all of its files.
"""
LEFT_OUT_MESSAGE = "Folders left out"
"""Message of a commit that replaces its parent commit, because a fork's folder lacks some of the folders."""


def record_stand_in(store: Path, replaced: str, commit: str) -> None:
    """Record that `commit` replaces the checkpoint `replaced`. Raise `OSError` if this fails."""
    path = store / STAND_INS_FILE
    known = path.read_bytes() if path.exists() else b""
    write_file(store, STAND_INS_FILE, known + f"{replaced} {commit}\n".encode())


def resolve_stand_in(store: Path, commit: str) -> str:
    """Return the checkpoint that replaces the checkpoint `commit`, or `commit` itself if nothing replaces it.

    Raise `OSError` if the file with the replacements cannot be read.
    """
    path = store / STAND_INS_FILE
    if path.exists():
        for line in path.read_text("ascii", "replace").splitlines():
            replaced, _, replacement = line.partition(" ")
            if replaced == commit:
                commit = replacement  # a replacement can be replaced, too; its line comes later
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


FOLDER_MODE = 0o700
_PATH_CHECKS = ("hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName", "nullSha1")
# The paths in an imported bundle are not trusted: one such as `../.bashrc` must not reach a restore.
_STRICT = tuple(word for name in _PATH_CHECKS for word in ("-c", f"fsck.{name}=error"))


async def open_store(shadow: CheckpointStore) -> None:
    """Create the store if it is missing, write its settings, and remove leftover locks."""
    try:
        await run_sync(_lay_out, shadow.git.folder)
        await run_sync(write_patterns, shadow)
        await restore_borrowing(shadow)
    except OSError as fault:
        raise disk_error(shadow.git.folder, fault) from fault


def _lay_out(store: Path) -> None:
    for folder in ("objects/info", "objects/pack", "refs/heads", "info"):
        (store / folder).mkdir(parents=True, exist_ok=True)
    store.chmod(FOLDER_MODE)
    clear_locks(store)
    for name, text in (("HEAD", f"ref: {MAIN_REF}\n"), ("config", CONFIG), ("info/attributes", ATTRIBUTES)):
        path = store / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_file(store, name, text.encode())


def recreate_missing_parts(store: Path) -> list[str]:
    """Create the store's `HEAD`, `config` and `refs` if they are missing.

    Return the names of the created parts, without `config`.
    """
    if not (store / "objects").is_dir():
        return []
    missing = []
    if not (store / "config").is_file():
        write_file(store, "config", CONFIG.encode())
    if not (store / "HEAD").is_file():
        write_file(store, "HEAD", f"ref: {MAIN_REF}\n".encode())
        missing.append("HEAD")
    if not (store / "refs").is_dir():
        missing.append("refs")
    (store / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    return missing


async def restore_borrowing(shadow: CheckpointStore) -> None:
    """If borrowed folders are missing, borrow from the git repository around the workspace instead."""
    if await run_sync(find_missing_folders, shadow.git.folder):
        repository = await run_sync(find_repository, shadow.workspace)
        if repository is not None:
            await run_sync(borrow_objects, shadow.git.folder, repository.common_folder / "objects")


def _remove_broken_ref(path: Path) -> None:
    """Remove a git ref with broken content, because git would not replace it."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


async def resume_checkpoint(shadow: CheckpointStore, known: str) -> bool:
    """Continue from the checkpoint `known` or its replacement; return False if it is lost.

    After False, the caller must take a new first checkpoint. Raise `CheckpointError` if the checkpoint is complete but
    cannot be loaded.
    """
    known = await run_sync(resolve_stand_in, shadow.git.folder, known)
    try:
        await load_checkpoint(shadow, known)
    except CheckpointError:
        if await is_complete(shadow, known):
            raise
        try:
            await move_damaged_aside(shadow)
        except OSError as fault:
            raise disk_error(shadow.git.folder, fault) from fault
        shadow.head, shadow.maintained_head = "", ""
        shadow.notices.append(
            f"The checkpoints in {shadow.git.folder} are damaged: earlier versions of the files cannot be restored. "
            "A new first checkpoint saves the files as they are now."
        )
        return False
    return True


async def load_checkpoint(shadow: CheckpointStore, known: str) -> None:
    """Load the checkpoint `known`, and recreate the store's index if it does not match.

    Raise `CheckpointError` if the checkpoint is incomplete.
    """
    tree = await shadow.find_tree(known)
    if not await is_complete(shadow, known):  # an intact index hides that the checkpoint's trees are missing
        raise shadow.git.missing_error(tree)
    newest = await shadow.git.run("rev-parse", "--verify", "--quiet", f"{MAIN_REF}^{{commit}}")
    main = newest.out.decode().strip() if newest.code == 0 else ""
    if main and main != known:
        await protect_commit(shadow, main)
    if not main:
        await run_sync(_remove_broken_ref, shadow.git.folder / MAIN_REF)
    with shadow.draft(empty=not shadow.git.index.exists()) as draft:
        written = await shadow.git.run("write-tree", index=draft)
        if written.code or written.out.decode().strip() != tree:
            read_result = await shadow.git.run("read-tree", "-m", known, index=draft)
            if read_result.code:
                # The copied index is damaged or does not fit: build a new one, although git must then read all files.
                await run_sync(draft.unlink, True)
                await shadow.git("read-tree", known, index=draft)
        await shadow.git.run("update-index", "-q", "--refresh", index=draft)
        tracked = await shadow.load_entries(draft)
        modes = await shadow.read_modes(known)
        shadow.tracked = {}
        await move_head(shadow, known, DraftCheckpoint(draft, tree, tracked, modes))
    shadow.growth_bytes = await run_sync(measure_growth, shadow)


async def import_bundle(shadow: CheckpointStore, bundle: Path) -> None:
    """Create the store from a git bundle, checking every object; after a `CheckpointError`, no store remains."""
    bundle = await run_sync(bundle.absolute)  # git runs in the workspace
    try:
        await open_store(shadow)
        await shadow.git("bundle", "verify", "--quiet", str(bundle))
        heads = await shadow.git("bundle", "unbundle", str(bundle))
        for line in heads.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition(" ")
            if name == MAIN_REF or name.startswith(KEPT_PREFIX):
                await shadow.git("update-ref", name, f"{commit}^{{commit}}")
        checked = await shadow.git.run(*_STRICT, "fsck", "--full", "--no-dangling", "--no-progress")
        if checked.code:
            raise shadow.git.error_for("fsck", checked)
        await _record_left_out_folders(shadow)
    except CheckpointError:
        await run_sync(lambda: shutil.rmtree(shadow.git.folder, ignore_errors=True))
        raise


async def _record_left_out_folders(shadow: CheckpointStore) -> None:
    """Record the checkpoints that a fork replaced when it left out folders: a bundle lacks the file with stand-ins."""
    patterns = f"--grep=^{LEFT_OUT_MESSAGE}$", "--grep=^Part: -1$"
    output = await shadow.git("rev-list", "--all", "--reverse", "--parents", "--all-match", *patterns)
    for line in output.decode("ascii").splitlines():
        commit, *parents = line.split()
        if len(parents) == 1:
            try:
                await run_sync(record_stand_in, shadow.git.folder, parents[0], commit)
            except OSError as fault:
                raise disk_error(shadow.git.folder, fault) from fault
