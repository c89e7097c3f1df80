"""The plan of a revert (its effect on files), made without opening the session.

Invariant: writes only a copy of the checkpoint index in a temporary folder. A process that uses the session is not
disturbed, and the workspace's files are only read.
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

LOST = "The newest checkpoint is lost. Open the session to take a new one."


async def planned(folder: Path, to_seq: int, limits: Limits) -> CheckpointPlanned:
    """Return the plan that `PlanRevert` would make in the open session. Raises `CheckpointError`, OSError."""
    newest, source, workspace = await run_sync(_find_commits, folder, to_seq)
    if not source or not newest or not (folder / STORE).is_dir():
        return CheckpointPlanned(to_seq=to_seq, unavailable=NOT_TAKEN)
    with tempfile.TemporaryDirectory(prefix="tui-agent-plan-") as temporary:
        store = Path(temporary) / STORE
        await run_sync(_copy_store, folder / STORE, store)
        shadow = GitShadow(workspace, store, limits=limits, sessions=folder.parent)
        if shadow.unavailable:
            return CheckpointPlanned(to_seq=to_seq, unavailable=shadow.unavailable)
        if not await shadow.look_on(newest):
            return CheckpointPlanned(to_seq=to_seq, unavailable=LOST)
        return told(to_seq, await shadow.plan(source))


def _find_commits(folder: Path, to_seq: int) -> tuple[str, str, Path]:
    """Return the newest checkpoint, the checkpoint at the event `to_seq`, and the workspace."""
    records = list(read_records(folder, skip_deltas=True))
    moves = fold(Branches(), records).moves
    commits = Commits()
    fold(commits, records)
    state = state_of(folder)
    return state.commit, commits.at(stretches(moves, to_seq)), Path(state.workspace)


def _copy_store(store: Path, copy: Path) -> None:
    """Copy a checkpoint store without its objects, which the copy borrows."""
    shutil.copytree(store, copy, ignore=lambda folder, _: ["objects"] if Path(folder) == store else [])
    borrow(copy, store / "objects")
