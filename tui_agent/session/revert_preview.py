"""Preview of a revert: computes how the files would change, without opening the session.

Invariant: only files in a temporary folder are written.
"""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.engine.checkpoints.revert_plan import (
    NO_CHECKPOINT,
    ReadOtherChanges,
    make_restore_plan,
    plan_event,
)
from tui_agent.folds.projection import fold
from tui_agent.folds.session.branches import Branches, is_on_branch, stretches
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import CheckpointPlanned
from tui_agent.session.fork_workspace import STORE_NAME, load_state
from tui_agent.store.log_reader import read_records
from tui_agent.workspace.checkpoints.borrowed_objects import borrow_objects
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

CHECKPOINT_LOST = "The newest checkpoint is lost. Open the session to take a new one."


class RecordedBranch:
    """The current branch of a log that is not opened for writing. See `BranchReader`."""

    def __init__(self, folder: Path) -> None:
        """Read the log in `folder`. Blocks: call it in a thread."""
        records = list(read_records(folder, skip_deltas=True))
        self.state = load_state(folder)
        self.branches = fold(Branches(), records)
        self._commits = Commits()
        fold(self._commits, records)
        current = stretches(self.branches.moves, self.state.seq)
        self._records = [record for record in records if is_on_branch(record.seq, current)]

    def commit_at(self, seq: int) -> str:
        """Return the commit of the newest checkpoint up to the event `seq`, on the same branch."""
        return self._commits.commit_on(stretches(self.branches.moves, seq))

    def records_after(self, seq: int) -> Iterable[Record]:
        """Return the records after an event on the current branch."""
        return [record for record in self._records if record.seq > seq]


async def plan_revert(
    folder: Path, to_seq: int, limits: Limits, read_others: ReadOtherChanges
) -> CheckpointPlanned:
    """Return the event that the command `PlanRevert` would record.

    `read_others`: function that returns the file changes by other sessions. Raise `CheckpointError` or `OSError` if the
    checkpoints or the log cannot be read.
    """
    branch = await run_sync(RecordedBranch, folder)
    source, newest = branch.commit_at(to_seq), branch.state.commit
    if not source or not newest or not (folder / STORE_NAME).is_dir():
        return CheckpointPlanned(to_seq=to_seq, unavailable=NO_CHECKPOINT)
    with tempfile.TemporaryDirectory(prefix="tui-agent-plan-") as temporary:
        store = Path(temporary) / STORE_NAME
        await run_sync(_copy_store, folder / STORE_NAME, store)
        shadow = GitCheckpoints(Path(branch.state.workspace), store, limits=limits, sessions=folder.parent)
        if shadow.unavailable_reason:
            return CheckpointPlanned(to_seq=to_seq, unavailable=shadow.unavailable_reason)
        if not await shadow.load_read_only(newest):
            return CheckpointPlanned(to_seq=to_seq, unavailable=CHECKPOINT_LOST)
        return plan_event(to_seq, await make_restore_plan(branch, shadow, source, to_seq, read_others))


def _copy_store(store: Path, copy: Path) -> None:
    """Copy a checkpoint store without its git objects."""
    shutil.copytree(store, copy, ignore=lambda folder, _: ["objects"] if Path(folder) == store else [])
    borrow_objects(copy, store / "objects")
