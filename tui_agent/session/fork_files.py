"""The files that a fork begins with, where it works in a folder of its own.

Invariant: a folder holds what the newest checkpoint up to the fork's event holds, whatever the workspace holds by now;
the parent's workspace is only read.
"""

import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path

from anyio import to_thread

from tui_agent.errors import CheckpointError
from tui_agent.folds.base import branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.session.fork_workspace import STORE
from tui_agent.store.forks import fork_point
from tui_agent.store.reader import iterate_records
from tui_agent.workspace.checkpoints.shadow_repository import GitShadow


def records_until(folder: Path, at_seq: int) -> list[Record]:
    """The records up to an event, on its branch or not."""
    return list(takewhile(lambda record: record.seq <= at_seq, iterate_records(folder)))


@dataclass(frozen=True, slots=True)
class FilesThen:
    """The files of a session as they were at an event: the checkpoint `commit` in `store`; without one, as they are
    in `workspace` now. `note` says so where they are not exactly those."""

    workspace: Path
    store: Path
    commit: str
    note: str = ""


def files_then(folder: Path, at_seq: int) -> FilesThen:
    """Where the files of a session come from as they were at an event. Raises `StoreError` where there is no such."""
    owner = folder.parent / fork_point(folder, at_seq).parent_session / STORE
    state = fold(SessionState(), branch(records_until(folder, at_seq)))
    workspace = Path(state.workspace)
    if state.commit:
        return FilesThen(workspace, owner, state.commit)
    first = next((commit for commit in map(_baseline, iterate_records(folder)) if commit), "")
    if first:
        note = "No checkpoint was taken up to that event: the files are those that the session found."
        return FilesThen(workspace, owner, first, note)
    note = "No checkpoint was taken then: the files are those of the workspace as it is now."
    return FilesThen(workspace, owner, "", note)


def _baseline(record: Record) -> str:
    match record:
        case Envelope(payload=CheckpointTaken(part=-1, commit=commit)):
            return commit
        case _:
            return ""


async def add_folder(files: FilesThen, dest: Path) -> None:
    """Write the files into an empty folder, or one that is not there yet; nothing is left of it where that fails.

    What checkpoints leave out (ignored and very large files) is not in it. Raises `CheckpointError`.
    """
    there = await to_thread.run_sync(dest.exists)
    try:
        if files.commit:
            await GitShadow(files.store.parent, files.store).checkout(files.commit, dest)
            return
        with tempfile.TemporaryDirectory(prefix="tui-agent-fork-") as place:
            shadow = GitShadow(files.workspace, Path(place) / STORE)
            if shadow.unavailable:
                raise CheckpointError(
                    shadow.unavailable, hint="Leave --folder out, or copy the folder yourself."
                )
            made = await shadow.begin("")
            await shadow.checkout(made.commit if made is not None else shadow.head, dest)
    except BaseException:
        if not there:
            await to_thread.run_sync(partial(shutil.rmtree, dest, ignore_errors=True))
        raise
