"""Export of a session's checkpoints: a file for `git clone`, or the workspace after a part.

Invariant: the session and its workspace are only read. Files are exported as they were, without redaction.
"""

from collections.abc import Iterable
from pathlib import Path

from tui_agent.errors import CheckpointError, UsageError
from tui_agent.export.output_file import create_file
from tui_agent.folds.base import current_branch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.store.lineage import load_lineage
from tui_agent.store.log_reader import read_records
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

STORE = "checkpoints.git"


def find_checkpoint_stores(folder: Path) -> list[Path]:
    """Return a session's checkpoint stores: its own, then those of the sessions it was forked from."""
    strands = reversed(load_lineage(folder).parts)
    return [store for strand in strands if (store := strand.folder / STORE).is_dir()]


def open_store(store: Path) -> GitCheckpoints:
    """Open a store for reading; the workspace may be gone."""
    return GitCheckpoints(store.parent, store)


def own_store(folder: Path) -> Path:
    """Return the store with a session's newest checkpoints. Raises `CheckpointError` if it has none."""
    session_stores = find_checkpoint_stores(folder)
    if not session_stores:
        raise CheckpointError(
            f"The session {folder.name} has no checkpoints.",
            hint="Checkpoints need git and a project folder.",
        )
    return session_stores[0]


async def export_bundle(folder: Path, dest: Path) -> None:
    """Write every checkpoint to one file for `git clone`: a commit for each part that changed files."""
    store = own_store(folder)
    with create_file(dest) as draft:
        draft.unlink()
        await open_store(store).export_bundle(draft)


async def checkout_part(folder: Path, part: int, dest: Path) -> str:
    """Write the workspace after a part into an empty or new folder; return the checkpoint's commit.

    Raises `UsageError` if there is no such part, `CheckpointError` if no checkpoint was taken up to it.
    """
    commit = commit_after(read_records(folder), part)
    for store in find_checkpoint_stores(folder):
        shadow = open_store(store)
        try:
            await shadow.list_files(commit)
        except CheckpointError:
            if store == find_checkpoint_stores(folder)[-1]:
                raise
            continue
        await shadow.checkout(commit, dest)
        return commit
    raise CheckpointError(f"The session {folder.name} has no checkpoints.", hint="Its files were not stored.")


def commit_after(records: list[Record], part: int) -> str:
    """Return the checkpoint of the files right after a part, on the branch of that part."""
    if part == -1:
        part_index = 0
    else:
        part_index = next((index for index, record in enumerate(records) if _contains_part(record, part)), -1)
    if part_index < 0:
        last = max((_last_part(record) for record in records), default=-1)
        available = f"It has the parts 0 to {last}" if last >= 0 else "It has none"
        raise UsageError(f"The session has no part {part}. {available}; -1 is the state before the first.")
    earlier, later = current_branch(records[: part_index + 1]), records[part_index + 1 :]
    commit = _checkpoint_of(later, part) or _newest_checkpoint(earlier, part) or _first_checkpoint(records)
    if not commit:
        raise CheckpointError(
            f"No checkpoint was taken up to part {part}.", hint="Its files were not stored."
        )
    return commit


def _checkpoint_of(later: Iterable[Record], part: int) -> str:
    """Return the checkpoint that was taken for the part itself; empty if there is none."""
    for record in later:
        match record:
            case Envelope(payload=CheckpointTaken(part=after, author=author, commit=commit)):
                if after == part and (author != "human" or part == -1):
                    return commit
            case _:
                pass
    return ""


def _first_checkpoint(records: Iterable[Record]) -> str:
    """Return the checkpoint of the files before the first change, which may be taken during the first part."""
    return _checkpoint_of(records, -1)


def _newest_checkpoint(records: Iterable[Record], part: int) -> str:
    commit = ""
    for record in records:
        match record:
            case Envelope(payload=CheckpointTaken(commit=taken, part=after)) if after <= part:
                commit = taken
            case Envelope(payload=CheckpointRestored(commit=taken)):
                commit = taken
            case _:
                pass
    return commit


def _contains_part(record: Record, part: int) -> bool:
    match record:
        case Envelope(payload=ModelResponded(first_part=first, parts=parts)):
            return first <= part < first + len(parts)
        case Envelope(payload=ToolFinished(part=own)):
            return own == part
        case _:
            return False


def _last_part(record: Record) -> int:
    match record:
        case Envelope(payload=ModelResponded(first_part=first, parts=parts)):
            return first + len(parts) - 1
        case Envelope(payload=ToolFinished(part=int(own))):
            return own
        case _:
            return -1
