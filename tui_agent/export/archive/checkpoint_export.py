"""Export of a session's checkpoints: all as one file for `git clone`, or one as a folder with its files.

Invariant: the session and its workspace are only read.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from tui_agent.errors import CheckpointError, UsageError
from tui_agent.export.output_file import create_file
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.trace.part_list import Parts
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.store.lineage import load_lineage
from tui_agent.store.log_reader import read_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

STORE = "checkpoints.git"


def find_checkpoint_stores(folder: Path) -> list[Path]:
    """Return the checkpoint stores of a session and of its ancestors, the session's own store first."""
    strands = reversed(load_lineage(folder).parts)
    return [store for strand in strands if (store := strand.folder / STORE).is_dir()]


def open_store(store: Path) -> GitCheckpoints:
    """Open a checkpoint store for reading, even if its workspace no longer exists."""
    return GitCheckpoints(store.parent, store)


def own_store(folder: Path) -> Path:
    """Return the store with a session's newest checkpoints. Raise `CheckpointError` if there are no checkpoints."""
    session_stores = find_checkpoint_stores(folder)
    if not session_stores:
        raise CheckpointError(
            f"The session {folder.name} has no checkpoints.",
            hint="Checkpoints need git and a project folder.",
        )
    return session_stores[0]


async def export_bundle(
    folder: Path, dest: Path, redactor: Redactor | None = None, last_commit: str = ""
) -> None:
    """Write the checkpoints of a session to one file for `git clone`.

    `last_commit`: newest checkpoint to include (empty: all).
    """
    store = own_store(folder)
    if last_commit:
        with TemporaryDirectory(prefix="tui-agent-bundle-") as temporary:
            all_commits, copy = Path(temporary) / "whole.bundle", open_store(Path(temporary) / STORE)
            await open_store(store).export_bundle(all_commits)
            await copy.import_bundle(all_commits, last_commit)
            with create_file(dest) as draft:
                draft.unlink()
                await copy.export_bundle(draft)
        return
    with create_file(dest) as draft:
        draft.unlink()
        await open_store(store).export_bundle(draft, redactor)


async def checkout_part(folder: Path, part: int, dest: Path) -> str:
    """Write the workspace's files right after the message part `part` to the new or empty folder `dest`.

    Return the checkpoint's commit. Raise `UsageError` if the part does not exist, and `CheckpointError` if there
    is no checkpoint.
    """
    commit = commit_after(read_records(folder), part)
    await checkout_commit(folder, commit, dest)
    return commit


async def checkout_commit(folder: Path, commit: str, dest: Path) -> None:
    """Write the files of a session's checkpoint into an empty or new folder. Raise `CheckpointError` if that fails."""
    for store in find_checkpoint_stores(folder):
        shadow = open_store(store)
        try:
            await shadow.list_files(commit)
        except CheckpointError:
            if store == find_checkpoint_stores(folder)[-1]:
                raise
            continue
        await shadow.checkout(commit, dest)
        return
    raise CheckpointError(f"The session {folder.name} has no checkpoints.", hint="Its files were not stored.")


async def checkout_from_bundle(bundle: Path, commit: str, dest: Path) -> None:
    """Write a commit's files from a bundle of checkpoints into an empty or new folder.

    Raise `CheckpointError` if that fails.
    """
    with TemporaryDirectory(prefix="tui-agent-bundle-") as folder:
        store = open_store(Path(folder) / STORE)
        await store.import_bundle(bundle)
        await store.checkout(commit, dest)


def commit_after(records: list[Record], part: int) -> str:
    """Return the commit with the workspace's files right after the message part number `part`.

    Raise `UsageError` if there is no such part, and `CheckpointError` if there is no checkpoint.
    """
    all_rows = fold(Parts(), records)
    row = next((row for row in all_rows if row.part == part), None)
    if row is None and part != -1:
        available = f"Its parts are 0 to {all_rows[-1].part}." if all_rows else "It has no parts."
        raise UsageError(
            f"The session has no part {part}. {available}",
            hint="Part -1 means the files as they were before the first part.",
        )
    taken = [record.payload for record in records if isinstance(record, Envelope)]
    commits = (event.commit for event in taken if isinstance(event, CheckpointTaken) and event.part == -1)
    commit = next(commits, "")
    if row is not None:
        earlier = current_branch([record for record in records if record.seq <= row.seq])
        later = [record for record in records if record.seq > row.seq]
        rows_on_branch = fold(Parts(), [*earlier, *later])
        commit = next((row.commit for row in rows_on_branch if row.part == part), "") or commit
    if not commit:
        raise CheckpointError(
            f"No checkpoint was taken {'before the first part' if part < 0 else f'up to part {part}'}.",
            hint="Files are available only from the first checkpoint on.",
        )
    return commit
