"""Preview of a revert: computes how the files would change, without opening the session.

Invariant: only files in a temporary folder are written.
"""

import shutil
import tempfile
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.engine.checkpoints.revert_plan import NO_CHECKPOINT, plan_event
from tui_agent.folds.base import fold
from tui_agent.folds.session.branches import Branches, stretches
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.protocol.events.files import CheckpointPlanned
from tui_agent.session.fork_workspace import STORE_NAME, load_state
from tui_agent.store.log_reader import read_records
from tui_agent.workspace.checkpoints.borrowed_objects import borrow_objects
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

CHECKPOINT_LOST = "The newest checkpoint is lost. Open the session to take a new one."


async def plan_revert(folder: Path, to_seq: int, limits: Limits) -> CheckpointPlanned:
    """Return the event that the command `PlanRevert` would record.

    Raise `CheckpointError` or `OSError` if the checkpoints or the log cannot be read.
    """
    newest, source, workspace = await run_sync(_find_commits, folder, to_seq)
    if not source or not newest or not (folder / STORE_NAME).is_dir():
        return CheckpointPlanned(to_seq=to_seq, unavailable=NO_CHECKPOINT)
    with tempfile.TemporaryDirectory(prefix="tui-agent-plan-") as temporary:
        store = Path(temporary) / STORE_NAME
        await run_sync(_copy_store, folder / STORE_NAME, store)
        shadow = GitCheckpoints(workspace, store, limits=limits, sessions=folder.parent)
        if shadow.unavailable_reason:
            return CheckpointPlanned(to_seq=to_seq, unavailable=shadow.unavailable_reason)
        if not await shadow.load_read_only(newest):
            return CheckpointPlanned(to_seq=to_seq, unavailable=CHECKPOINT_LOST)
        return plan_event(to_seq, await shadow.plan_restore(source))


def _find_commits(folder: Path, to_seq: int) -> tuple[str, str, Path]:
    """Return the commit of the newest checkpoint, the commit at the event `to_seq`, and the workspace."""
    records = list(read_records(folder, skip_deltas=True))
    moves = fold(Branches(), records).moves
    commits = Commits()
    fold(commits, records)
    state = load_state(folder)
    return state.commit, commits.commit_on(stretches(moves, to_seq)), Path(state.workspace)


def _copy_store(store: Path, copy: Path) -> None:
    """Copy a checkpoint store without its git objects."""
    shutil.copytree(store, copy, ignore=lambda folder, _: ["objects"] if Path(folder) == store else [])
    borrow_objects(copy, store / "objects")
