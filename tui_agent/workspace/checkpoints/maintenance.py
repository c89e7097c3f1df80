"""Maintenance of the checkpoint store: packing, copying borrowed objects, verification, redaction and export.

Invariant: in a redacted history, every file's content, every path and every message is redacted.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from anyio.to_thread import run_sync

from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.workspace.checkpoints.alternates import (
    alternates_file,
    borrows_from_partial_clone,
    describe_missing_folders,
)
from tui_agent.workspace.checkpoints.borrowed_objects import (
    DURABLE_OPTIONS,
    copy_needed_objects,
    describe_quota,
    measure_needed,
    pack_indexes,
    release_copies,
)
from tui_agent.workspace.checkpoints.change_detection import measure_growth
from tui_agent.workspace.checkpoints.store_state import (
    KEPT_PREFIX,
    MAIN_REF,
    CheckpointStore,
    disk_error,
    undo_on_error,
    write_file,
)

MIN_LOOSE_OBJECTS = 100
"""If there are at least this many loose objects, the objects are packed."""
MIN_PACKS = 8


async def maintain(shadow: CheckpointStore) -> bool:
    """Copy borrowed objects up to the quota, and pack loose objects; return True if anything was done.

    An interruption leaves the store complete.
    """

    async def clear() -> None:
        await run_sync(clear_drafts, shadow.git.folder)

    async with undo_on_error(clear):
        return await _settle(shadow)


async def _settle(shadow: CheckpointStore) -> bool:
    is_borrowing = await run_sync(alternates_file(shadow.git.folder).exists)
    copy_all = has_changed = False
    if is_borrowing and shadow.maintained_head != shadow.head:
        # From a partial clone, `git repack` would copy everything that was ever fetched.
        is_partial = await run_sync(borrows_from_partial_clone, shadow.git.folder)
        copy_all = not is_partial and not describe_quota(shadow, await measure_needed(shadow))
        has_changed = not copy_all and await copy_needed_objects(shadow)
    loose, packs = await run_sync(_count_objects, shadow.git.folder)
    if copy_all or loose >= MIN_LOOSE_OBJECTS or packs >= MIN_PACKS:
        await _repack(shadow, own=copy_all, borrowing=is_borrowing)
        has_changed = True
    if has_changed:
        shadow.growth_bytes = await run_sync(measure_growth, shadow)
    shadow.maintained_head = shadow.head
    return has_changed


async def _repack(shadow: CheckpointStore, *, own: bool, borrowing: bool) -> None:
    if own:
        await run_sync(release_copies, shadow.git.folder)
    # With `-l`, git leaves out borrowed objects. Without it, the new pack contains all of them.
    local = () if own or not borrowing else ("-l",)
    options = ("-a", "-d", "-k", "-q", "--window=20", "--depth=50")
    await shadow.git(*DURABLE_OPTIONS, "repack", *options, *local)
    if own:  # only now, when every borrowed object is in the new pack
        await run_sync(alternates_file(shadow.git.folder).unlink)
        words = ("--objects", "--disk-usage", "--max-parents=0", "--all")
        first = await shadow.git.run_line("rev-list", *words)
        await run_sync(write_file, shadow.git.folder, "first-size", first.encode())


def _count_objects(store: Path) -> tuple[int, int]:
    """Return (number of loose objects, number of packs) of the store. Packs of copied objects are not counted."""
    objects = store / "objects"
    loose = sum(len(list(folder.iterdir())) for folder in objects.iterdir() if len(folder.name) == 2)
    packs = {path.stem for path in (objects / "pack").glob("*.pack")}
    return loose, len(packs - {path.stem for path in (objects / "pack").glob("*.keep")})


async def verify_store(shadow: CheckpointStore, recreated: Sequence[str] = ()) -> list[str]:
    """Return the problems of the store, one sentence each.

    `recreated`: missing files of the store that were just recreated. These files are reported as problems too.
    """
    problems: list[str] = []
    # The first run finds missing objects, also borrowed ones. The second one also reads the store's own loose objects.
    for options in (("--connectivity-only",), ("--no-full", "--no-reflogs")):
        result = await shadow.git.run("fsck", *options, "--no-dangling", "--no-progress")
        if result.code:
            problems += (result.out + b"\n" + result.err).decode("utf-8", "replace").splitlines()
    for pack in await run_sync(pack_indexes, shadow.git.folder):
        result = await shadow.git.run("verify-pack", str(pack))
        if result.code:
            problems.append(f"{pack.name}: {result.err.decode('utf-8', 'replace').strip()}")
    if shadow.head and (await shadow.git.run("cat-file", "-e", f"{shadow.head}^{{tree}}")).code:
        problems.append(f"the newest checkpoint {shadow.head[:12]} is missing")
    borrow_problem = await run_sync(describe_missing_folders, shadow.git.folder)
    if problems and borrow_problem:  # without the borrowed objects, git reports every single one as missing
        return [f"{borrow_problem}; to repair the store, move the missing folders back"]
    if recreated:
        verb = "was" if len(recreated) == 1 else "were"
        problems.append(f"{' and '.join(recreated)} {verb} missing and {verb} recreated; nothing was lost")
    return list(dict.fromkeys(line.strip() for line in problems if line.strip()))


async def export_bundle(shadow: CheckpointStore, dest: Path) -> None:
    """Write all checkpoints, including borrowed objects, into one file that `git clone` accepts."""
    draft = dest.with_name(f".{dest.name}.part")
    try:
        await shadow.git("bundle", "create", "--quiet", str(draft.absolute()), "HEAD", "--all")
        await run_sync(draft.replace, dest)
    except OSError as fault:
        raise disk_error(dest, fault) from fault
    finally:
        draft.unlink(missing_ok=True)


async def drop_after(shadow: CheckpointStore, commit: str) -> None:
    """Make `commit` the newest checkpoint of a copied store, and forget all checkpoints except its ancestors."""
    names = await shadow.git("for-each-ref", "--format=%(refname)", KEPT_PREFIX)
    for name in names.decode("utf-8", "replace").split():
        await shadow.git("update-ref", "-d", name)
    await shadow.git("update-ref", MAIN_REF, commit)


async def describe_borrowed(shadow: CheckpointStore) -> str:
    """Return a warning if the store borrows more objects than it may copy; otherwise an empty string."""
    if not await run_sync(alternates_file(shadow.git.folder).exists):
        return ""
    if await run_sync(describe_missing_folders, shadow.git.folder):
        return ""
    return describe_quota(shadow, await measure_needed(shadow))


def clear_locks(store: Path) -> None:
    """Remove what a killed git left in the store: locks and unfinished files.

    The caller must hold the session's lock.
    """
    for leftover in (*store.glob("*.lock"), *store.glob("draft-*"), *store.glob("refs/**/*.lock")):
        leftover.unlink(missing_ok=True)
    clear_drafts(store)


def clear_drafts(store: Path) -> None:
    """Remove unfinished objects and packs of an interrupted git."""
    for leftover in (*store.glob("objects/**/tmp_*"), *store.glob("objects/pack/.tmp-*")):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)


class ContentRedactor(Protocol):
    """Removes secrets from files. `is_secret_file`: returns True for a path whose whole content is secret."""

    is_secret_file: Callable[[str], bool]

    def redact_content(self, data: bytes) -> bytes: ...


_DATA, _MARK, _CHANGED, _PATHS = b"data ", b"mark ", b"M ", (b"M ", b"D ")


async def copy_redacted(
    source: CheckpointStore, target: CheckpointStore, redactor: ContentRedactor
) -> dict[str, str]:
    """Write the redacted history of `source` into the new store `target`.

    Return a map from each changed commit id to its new id.
    """
    old_marks, new_marks = (target.git.folder / name for name in ("old-marks", "new-marks"))
    stream = await source.git("fast-export", "--all", f"--export-marks={old_marks}")
    redacted = b"".join(redact_stream(stream, redactor))
    await target.git("fast-import", "--quiet", f"--export-marks={new_marks}", stdin=redacted)
    old, new = _read_marks(old_marks), _read_marks(new_marks)
    return {old[mark]: new[mark] for mark in old.keys() & new.keys() if old[mark] != new[mark]}


def redact_stream(stream: bytes, redactor: ContentRedactor) -> Iterator[bytes]:
    """Yield a `git fast-export` stream in pieces, with secrets in contents, paths and messages redacted."""
    secret_marks = {
        line.split(b" ")[2]
        for line, _ in _split_stream(stream)
        if line.startswith(_CHANGED) and redactor.is_secret_file(_path_of(line))
    }
    mark = b""
    for line, data in _split_stream(stream):
        if line.startswith(_MARK):
            mark = line[len(_MARK) :].rstrip()
        if data is not None:
            # An empty file holds no secret, and git stores the content of all empty files once.
            is_secret = mark in secret_marks and data
            redacted = SECRET_FILE_CONTENT if is_secret else redactor.redact_content(data)
            yield b"%s%d\n%s" % (_DATA, len(redacted), redacted)
        else:
            yield redactor.redact_content(line) if line.startswith(_PATHS) else line


def _split_stream(stream: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield (line, content). The content follows a `data` line, which says its size. It is None for any other line."""
    position = 0
    while position < len(stream):
        end = stream.find(b"\n", position) + 1 or len(stream)
        line, position = stream[position:end], end
        if line.startswith(_DATA):
            # The size says where the content ends. The content itself can contain any line.
            end = position + int(line[len(_DATA) :])
            yield line, stream[position:end]
            position = end
        else:
            yield line, None


def _path_of(line: bytes) -> str:
    """Return the path in a line such as `M 100644 :5 config/.env`."""
    # Git puts unusual paths in quotes and escapes them. The last name still shows if the file is secret.
    return line.split(b" ", 3)[3].rstrip(b"\n").strip(b'"').decode("utf-8", "replace")


def _read_marks(file: Path) -> dict[str, str]:
    return dict(line.split() for line in file.read_text().splitlines())
