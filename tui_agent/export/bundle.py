"""A session's checkpoints as files: one file that `git clone` takes, or the workspace after a part.

Invariant: the session and its workspace are only read. Files are as they were: nothing in them is redacted.
"""

from collections.abc import Iterable
from pathlib import Path

from tui_agent.errors import CheckpointError, UsageError
from tui_agent.export.output_file import new_file
from tui_agent.folds.base import branch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.store.lineage import lineage
from tui_agent.store.reader import read_records
from tui_agent.workspace.checkpoints.shadow_repository import GitShadow

STORE = "checkpoints.git"


def stores(folder: Path) -> list[Path]:
    """The checkpoint stores of a session: its own, then those of the sessions that it was forked from."""
    strands = reversed(lineage(folder).strands)
    return [store for strand in strands if (store := strand.folder / STORE).is_dir()]


def shadow_of(store: Path) -> GitShadow:
    """A store, to be read: the workspace may be gone."""
    return GitShadow(store.parent, store)


def own_store(folder: Path) -> Path:
    """The store that holds a session's newest checkpoints. Raises `CheckpointError` where it has none."""
    found = stores(folder)
    if not found:
        raise CheckpointError(
            f"The session {folder.name} has no checkpoints.", hint="They need git and a project's folder."
        )
    return found[0]


async def export_bundle(folder: Path, dest: Path) -> None:
    """Every checkpoint as one file for `git clone`: a commit for each part that changed files."""
    store = own_store(folder)
    with new_file(dest) as draft:
        draft.unlink()
        await shadow_of(store).export_bundle(draft)


async def checkout_part(folder: Path, part: int, dest: Path) -> str:
    """Write the workspace as it was after a part into an empty or absent folder; returns the checkpoint's commit.

    Raises `UsageError` where there is no such part, `CheckpointError` where no checkpoint was taken until then.
    """
    commit = commit_after(read_records(folder), part)
    for store in stores(folder):
        shadow = shadow_of(store)
        try:
            await shadow.files_at(commit)
        except CheckpointError:
            if store == stores(folder)[-1]:
                raise
            continue
        await shadow.checkout(commit, dest)
        return commit
    raise CheckpointError(f"The session {folder.name} has no checkpoints.", hint="Its files were not kept.")


def commit_after(records: list[Record], part: int) -> str:
    """The checkpoint that holds the files as they were right after a part, on the branch that the part is on."""
    if part == -1:
        at = 0
    else:
        at = next((index for index, record in enumerate(records) if _gives(record, part)), -1)
    if at < 0:
        last = max((_last_part(record) for record in records), default=-1)
        known = f"It has the parts 0 to {last}" if last >= 0 else "It has none"
        raise UsageError(f"The session has no part {part}. {known}, and -1 is before the first.")
    before, behind = branch(records[: at + 1]), records[at + 1 :]
    found = _own(behind, part) or _newest(before, part) or _first(records)
    if not found:
        raise CheckpointError(f"No checkpoint was taken until part {part}.", hint="Its files were not kept.")
    return found


def _own(behind: Iterable[Record], part: int) -> str:
    """The checkpoint that was taken of the part itself."""
    for record in behind:
        match record:
            case Envelope(payload=CheckpointTaken(part=after, author=author, commit=commit)):
                if after == part and (author != "human" or part == -1):
                    return commit
            case _:
                pass
    return ""


def _first(records: Iterable[Record]) -> str:
    """The files as the session found them, of which the checkpoint may be taken while the first part is made."""
    return _own(records, -1)


def _newest(records: Iterable[Record], part: int) -> str:
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


def _gives(record: Record, part: int) -> bool:
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
