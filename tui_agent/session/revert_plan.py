"""What going back to an event would do to the files, told without opening the session.

Invariant: nothing is written but a copy of the checkpoints' index in a folder that is gone afterwards; whoever holds the
session is not disturbed, and the files of the workspace are only read.
"""

import shutil
import tempfile
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.engine.checkpoints.rewind import NOT_TAKEN, told
from tui_agent.folds.base import fold
from tui_agent.folds.session.branches import Branches, stretches
from tui_agent.folds.session.commits import Commits
from tui_agent.protocol.events.files import CheckpointPlanned
from tui_agent.session.fork_workspace import STORE, state_of
from tui_agent.store.reader import read_records
from tui_agent.workspace.checkpoints.borrowed_objects import borrow
from tui_agent.workspace.checkpoints.limits import Limits
from tui_agent.workspace.checkpoints.shadow_repository import GitShadow

LOST = "The newest checkpoint is lost: opening the session takes a new one."


async def planned(folder: Path, to_seq: int, limits: Limits) -> CheckpointPlanned:
    """The plan, as `PlanRevert` makes it in a session that is open. Raises `CheckpointError`, OSError."""
    newest, source, workspace = await run_sync(_known, folder, to_seq)
    if not source or not newest or not (folder / STORE).is_dir():
        return CheckpointPlanned(to_seq=to_seq, unavailable=NOT_TAKEN)
    with tempfile.TemporaryDirectory(prefix="tui-agent-plan-") as place:
        store = Path(place) / STORE
        await run_sync(_copy, folder / STORE, store)
        shadow = GitShadow(workspace, store, limits=limits, sessions=folder.parent)
        if shadow.unavailable:
            return CheckpointPlanned(to_seq=to_seq, unavailable=shadow.unavailable)
        if not await shadow.look_on(newest):
            return CheckpointPlanned(to_seq=to_seq, unavailable=LOST)
        return told(to_seq, await shadow.plan(source))


def _known(folder: Path, to_seq: int) -> tuple[str, str, Path]:
    """The newest checkpoint, the one that holds the files as they were at the event, and the folder of the files."""
    records = list(read_records(folder, skip_deltas=True))
    moves = fold(Branches(), records).moves
    commits = Commits()
    fold(commits, records)
    state = state_of(folder)
    return state.commit, commits.at(stretches(moves, to_seq)), Path(state.workspace)


def _copy(store: Path, copy: Path) -> None:
    """A store of the same checkpoints that borrows their objects."""
    shutil.copytree(store, copy, ignore=lambda at, names: ["objects"] if Path(at) == store else [])
    borrow(copy, store / "objects")
