"""End of a demo without the app: the turn and its file changes are undone, then redone.

Invariant: after the redo, conversation and files are the same as before the undo.
"""

from tui_agent.errors import TuiAgentError
from tui_agent.folds.session.branches import Branches
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Redo, Revert
from tui_agent.protocol.envelope import known_events
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.headless_turn import Outcome, submit_and_wait


async def undo_and_redo(session: Session, outcome: Outcome) -> None:
    """Undo and redo the turn that has just ended. Do nothing if the turn is unfinished or changed no file."""
    if outcome.reason != "finished":
        return
    follower = session.follow()
    try:
        before = await _seq_before_turn(follower)
        if before is not None:
            await submit_and_wait(session, follower, Revert(to_seq=before))
            await submit_and_wait(session, follower, Redo())
    finally:
        follower.close()


async def _seq_before_turn(follower: Follower) -> int | None:
    """Wait until the turn ends, and return the number of the event before the turn. Return None if no file changed."""
    branches, files, ended = Branches(), FilesChanged(), False
    while not ended:
        batch = await follower.next_batch()
        if not batch:
            raise TuiAgentError("The session ended before the demo finished.")
        for record in known_events(batch):
            branches.apply(record)
            files.apply(record)
            ended = ended or isinstance(record.payload, TurnFinished)
    return branches.view().undo_to if files.view().turn_files else None
