"""The baseline: the first checkpoint of a session, with the files as the session found them."""
# In a git repository, the store borrows the repository's objects and copies its index, so that unchanged files need not
# be read.

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.config.project.repository import Repository, find_repository
from tui_agent.ports.checkpoint import Baseline
from tui_agent.units import format_bytes
from tui_agent.workspace.checkpoints.borrowed_objects import borrow_objects
from tui_agent.workspace.checkpoints.cancellation import iterate_cancellable
from tui_agent.workspace.checkpoints.change_detection import SkippedPaths, list_candidates, unsaveable_reason
from tui_agent.workspace.checkpoints.commit import DraftCheckpoint, commit_tree, move_head, protect_commit
from tui_agent.workspace.checkpoints.file_modes import Modes, most_frequent_bits
from tui_agent.workspace.checkpoints.git_runner import ATTRIBUTES, join_paths, split_names
from tui_agent.workspace.checkpoints.index_file import (
    IndexEntry,
    UnreadableIndex,
    make_entry,
    read_index,
    write_index,
)
from tui_agent.workspace.checkpoints.rooted_files import ABSENT, LINK, FileState, PathReader
from tui_agent.workspace.checkpoints.store_state import (
    EMPTY_FOLDERS_FILE,
    CheckpointStore,
    Entry,
    measure_folder,
    write_file,
)

MAX_PACK_BYTES = 32_000_000
"""Maximum bytes of file contents in one pack. A pack is built in memory."""
CONVERTING_ATTRIBUTES = ("filter", "working-tree-encoding", "ident")
"""Git attributes that make git convert files. The content of a converted file differs from its git object."""


@dataclass
class BaselineDraft:
    """The content of a session's first checkpoint while it is collected.

    - `entries`: maps each path to its entry in the new git index
    - `bytes_read`: total size of the files read so far
    """

    entries: dict[str, IndexEntry] = field(default_factory=dict)
    skips: SkippedPaths = field(default_factory=SkippedPaths)
    bytes_read: int = 0


async def take_baseline(shadow: CheckpointStore) -> Baseline:
    """Save the current files of the workspace as the session's first checkpoint.

    In a git repository, only files that differ from the user's git index are read.
    """
    started_ns = time.time_ns()
    baseline = BaselineDraft()
    with shadow.draft(empty=True) as draft:
        repository = await run_sync(find_repository, shadow.workspace)
        if repository is not None:
            baseline.entries = await borrow_index(shadow, repository)
        as_of = await run_sync(_index_time, repository, started_ns)
        await run_sync(write_index, draft, baseline.entries.values(), as_of)
        paths = set(await list_candidates(shadow, draft)) | await find_files_to_read(
            shadow, baseline, repository
        )
        await gather_files(shadow, baseline, sorted(paths))
        await run_sync(write_index, draft, baseline.entries.values(), as_of)
        untracked = await list_candidates(shadow, draft, ("-o", "--directory"))
        await run_sync(_record_empty_folders, shadow, untracked)
        draft_checkpoint = await _write_tree(shadow, draft)
        lines = ["Part: -1", *draft_checkpoint.modes.first_lines()]
        message = "The files as the session found them"
        commit = await commit_tree(
            shadow, draft_checkpoint.tree, "", author="human", message=message, lines=lines
        )
        if shadow.head:  # an earlier history, which the new first checkpoint does not have as a parent
            await protect_commit(shadow, shadow.head)
        shadow.tracked = {}
        await move_head(shadow, commit, draft_checkpoint)
    shadow.growth_bytes = 0
    shadow.unsaved_paths = set(baseline.skips.paths())
    await run_sync(_record_size, shadow)
    return Baseline(commit, baseline.skips.sentences())


def _index_time(repository: Repository | None, started_ns: int) -> int:
    # Git compares the content of files that are as new as their index, since a second change in the same clock tick
    # leaves no trace. The user's entries were checked when the user's index was written, not now.
    if repository is None or not (repository.git_folder / "index").exists():
        return started_ns
    return min(started_ns, (repository.git_folder / "index").stat().st_mtime_ns)


def _record_size(shadow: CheckpointStore) -> None:
    size = measure_folder(shadow.git.folder / "objects")
    write_file(shadow.git.folder, "first-size", str(size).encode())


def _record_empty_folders(shadow: CheckpointStore, untracked: list[str]) -> None:
    """Save the list of empty folders, so that a restore does not remove them."""
    empty_folders: set[str] = set()
    for name in iterate_cancellable(untracked):
        if name.endswith("/"):
            empty_folders |= _empty_folders_in(shadow.workspace, name.rstrip("/"))
    write_file(shadow.git.folder, EMPTY_FOLDERS_FILE, join_paths(sorted(empty_folders)))


def _empty_folders_in(workspace: Path, name: str) -> set[str]:
    folders = set()
    for folder, _, names in iterate_cancellable(os.walk(workspace / name)):
        if names:
            return set()
        folders.add(Path(folder).relative_to(workspace).as_posix())
    return folders


async def borrow_index(shadow: CheckpointStore, repository: Repository) -> dict[str, IndexEntry]:
    """Let the checkpoint store borrow the user's git objects.

    Return the usable entries of the user's git index by path.
    """
    try:
        entries = await run_sync(_index_entries, shadow, repository)
    except (UnreadableIndex, OSError):
        return {}  # without the user's index, every file is read
    await run_sync(borrow_objects, shadow.git.folder, repository.common_folder / "objects")
    return entries


def _index_entries(shadow: CheckpointStore, repository: Repository) -> dict[str, IndexEntry]:
    subfolder = shadow.workspace.relative_to(repository.top)
    prefix = b"" if subfolder == Path() else os.fsencode(subfolder.as_posix()) + b"/"
    entries = read_index(repository.git_folder / "index")
    valid = {}
    for entry in entries:
        if entry.is_trusted and entry.mode in (0o100644, 0o100755, LINK) and entry.path.startswith(prefix):
            path = entry.path[len(prefix) :]
            valid[os.fsdecode(path)] = IndexEntry(path, entry.stat, entry.oid)
    return valid


async def find_files_to_read(
    shadow: CheckpointStore, baseline: BaselineDraft, repository: Repository | None
) -> set[str]:
    """Return the files that must be read, because their content can differ from the user's git index."""
    if not baseline.entries or repository is None:
        return set()
    oids = {entry.oid.hex() for entry in baseline.entries.values()}
    sizes = await shadow.git.read_sizes(list(oids), missing=True)
    # A size that differs from the object's means that git converted the file, for example its line ends. A missing
    # object has no size.
    different = {path for path, entry in baseline.entries.items() if sizes.get(entry.oid.hex()) != entry.size}
    return different | await find_converted(shadow, baseline, repository)


async def find_converted(
    shadow: CheckpointStore, baseline: BaselineDraft, repository: Repository
) -> set[str]:
    """Return the files whose content git would convert according to the user's git attributes, e.g. line ends."""
    texts = await run_sync(_read_attributes, shadow, baseline, repository)
    if not any(word in text for word in CONVERTING_ATTRIBUTES for text in texts):
        return set()
    merged = "".join(texts[:-1]).encode("utf-8", "surrogateescape")
    await run_sync(write_file, shadow.git.folder, "info/attributes", merged)
    try:
        out = await shadow.git(
            "check-attr", "-z", "--stdin", *CONVERTING_ATTRIBUTES, stdin=join_paths(list(baseline.entries))
        )
    finally:
        await _reset_attributes(shadow)
    words = split_names(out)
    values = zip(words[::3], words[2::3], strict=True)
    return {path for path, value in values if value not in ("unspecified", "unset")}


async def _reset_attributes(shadow: CheckpointStore) -> None:
    """Restore the store's own git attributes, even if the task is cancelled."""
    # The attributes prevent git from converting files.
    with anyio.CancelScope(shield=True):
        await run_sync(write_file, shadow.git.folder, "info/attributes", ATTRIBUTES.encode())


def _read_attributes(shadow: CheckpointStore, baseline: BaselineDraft, repository: Repository) -> list[str]:
    """Return the texts of the git attribute files that apply in the workspace."""
    folders = [path for path in (*shadow.workspace.parents,) if path.is_relative_to(repository.top)]
    above = [folder / ".gitattributes" for folder in reversed(folders)]
    own = [shadow.workspace / path for path in baseline.entries if path.endswith(".gitattributes")]
    texts = [_regular_text(path) for path in (*above, repository.common_folder / "info" / "attributes")]
    return [*texts, "".join(_regular_text(path) for path in own)]


def _regular_text(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    return path.read_bytes().decode("utf-8", "surrogateescape") + "\n"


async def gather_files(shadow: CheckpointStore, baseline: BaselineDraft, paths: Iterable[str]) -> None:
    """Read the files at `paths` and store them, within the size limits for checkpoints."""
    pending = iter(paths)
    nested: dict[str, bool] = {}
    while True:
        batch = await run_sync(_next_batch, shadow, baseline, pending, nested)
        if not batch:
            return
        await shadow.git("fast-import", "--quiet", "--depth=0", stdin=batch)


def _next_batch(
    shadow: CheckpointStore, baseline: BaselineDraft, pending: Iterator[str], nested: dict[str, bool]
) -> bytes:
    stream = bytearray()
    with shadow.files.open_reader() as reader:
        for path in iterate_cancellable(pending):
            content = _read_file(shadow, baseline, path, nested, reader)
            if content is not None:
                stream += b"blob\ndata %d\n" % len(content) + content + b"\n"
                if len(stream) >= MAX_PACK_BYTES:
                    break
    return bytes(stream)


def _read_file(
    shadow: CheckpointStore, baseline: BaselineDraft, path: str, nested: dict[str, bool], reader: PathReader
) -> bytes | None:
    """Read a file and update its entry in `baseline`; return the content, or None if it need not be stored."""
    known = baseline.entries.pop(path, None)
    reason = unsaveable_reason(shadow, path, nested, tracked=known is not None)
    state = ABSENT
    if not reason:
        state = reader.read_state(path, max_bytes=shadow.limits.file_bytes, skip_larger=True)
        reason = _limit_reason(shadow, baseline, state)
    if reason:
        baseline.skips.add(reason, path)
        return None
    if not state.can_be_saved or state.stat is None or state.content is None:
        return None  # deleted, or being written; the next change detection handles it
    baseline.entries[path] = make_entry(path, state.stat, state.git_mode, state.oid)
    baseline.bytes_read += state.size
    return None if known is not None and known.oid.hex() == state.oid else state.content


def _limit_reason(shadow: CheckpointStore, baseline: BaselineDraft, state: FileState) -> str:
    limits = shadow.limits
    if state.kind == "unreadable":
        return "Files that cannot be read are not saved"
    if state.kind == "special":
        return "Pipes, sockets and devices are not saved"
    if state.can_be_saved and state.size > limits.file_bytes:
        return f"Files above {format_bytes(limits.file_bytes)} are not saved"
    if state.can_be_saved and baseline.bytes_read + state.size > limits.total_bytes:
        return (
            f"The checkpoint limit of {format_bytes(limits.total_bytes)} is reached, so these are not saved"
        )
    return ""


async def _write_tree(shadow: CheckpointStore, draft: Path) -> DraftCheckpoint:
    tree = await shadow.git.run_line("write-tree", index=draft)
    tracked = await shadow.load_entries(draft)
    bits = await run_sync(read_all_bits, shadow, tracked)
    usual = most_frequent_bits(bits.values())
    return DraftCheckpoint(draft, tree, tracked, Modes(usual).with_changes(bits, ()))


def read_all_bits(shadow: CheckpointStore, tracked: dict[str, Entry]) -> dict[str, tuple[int, int]]:
    """Return git's mode and the permission bits of every existing file in `tracked`."""
    root = f"{shadow.workspace}/"
    bits = {}
    for path, entry in iterate_cancellable(tracked.items()):
        # A file that was deleted in the meantime is handled by the next change detection.
        with suppress(OSError):
            bits[path] = entry.git_mode, os.lstat(root + path).st_mode & 0o7777
    return bits
