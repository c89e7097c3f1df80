"""End of a demo without the app: its last turn is undone with its files, and redone.

Invariant: it uses the user's own commands; afterwards conversation and files are as the turn left them.
"""

from collections.abc import Sequence

from tui_agent.errors import TuiAgentError
from tui_agent.folds.session.branches import Branches
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Redo, Revert
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import CommandId
from tui_agent.protocol.settings import AgentState


async def undo_and_redo(session: Session) -> None:
    """Undo the turn that has just ended and redo it; do nothing if it changed no file.

    Raises `TuiAgentError` if the engine rejects a command.
    """
    follower = session.follow()
    try:
        before = await _seq_before_turn(follower)
        if before is not None:
            await _wait_done(follower, session.submit(Revert(to_seq=before)))
            await _wait_done(follower, session.submit(Redo()))
    finally:
        follower.close()


async def _seq_before_turn(follower: Follower) -> int | None:
    """Wait for the turn's end; return the event before its message, or None if it changed no file."""
    branches, files, ended = Branches(), FilesChanged(), False
    while not ended:
        for record in await _next_records(follower):
            if isinstance(record, Envelope):
                branches.apply(record)
                files.apply(record)
                ended = ended or isinstance(record.payload, TurnFinished)
    return branches.view().undo_to if files.view().turn_files else None


async def _wait_done(follower: Follower, command: CommandId) -> None:
    """Wait until the command has been carried out."""
    while True:
        for record in await _next_records(follower):
            if not isinstance(record, Envelope) or record.cause != command:
                continue
            match record.payload:
                case CommandRejected(reason=reason, hint=hint):
                    raise TuiAgentError(reason, hint=hint)
                case AgentStateChanged(state=AgentState.IDLE):
                    return


async def _next_records(follower: Follower) -> Sequence[Record]:
    batch = await follower.next_batch()
    if not batch:
        raise TuiAgentError("The session ended before the demo finished.")
    return batch
