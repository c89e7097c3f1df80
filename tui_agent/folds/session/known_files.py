"""Search for an event at which the files are known: a checkpoint contains all file changes up to this event.

Invariant: only records are used, so the app and the command line choose the same event.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.folds.projection import current_branch
from tui_agent.protocol.envelope import Envelope, Record, known_events
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import RunStarted, SessionForked, SessionHeadMoved
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    TurnFinished,
    UserMessageReceived,
    UserShellFinished,
    UserShellStarted,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, CallId

_ENDS: Final = (
    IterationFinished,
    RunStarted,
    SessionForked,
    SessionHeadMoved,
    TurnFinished,
    UserMessageReceived,
)
"""Events of the main agent that end the search, because a call's checkpoint is recorded before them."""


class _FileKnowledge:
    """Follows events to find out if the newest checkpoint contains all changes of files so far."""

    def __init__(self) -> None:
        self._open_calls: set[CallId] = set()
        self._shell_runs = self._has_checkpoint = self._has_newer_changes = False
        self._ended_call: CallId | None = None

    @property
    def is_certain(self) -> bool:
        """True if no call or command can be changing files now, and the newest checkpoint has all changes."""
        # Changes without a checkpoint at the end of an iteration are ignored, because their checkpoint has failed.
        is_checkpointed = not (self._has_checkpoint and self._has_newer_changes)
        return not self._open_calls and not self._shell_runs and is_checkpointed

    def is_checkpoint_of_ended_call(self, payload: Payload) -> bool:
        """Return True if `payload` is the checkpoint of the call that ended last."""
        # This checkpoint can have changes that no event lists.
        return (
            isinstance(payload, CheckpointTaken)
            and payload.call_id is not None
            and payload.call_id == self._ended_call
        )

    def apply(self, event: Envelope) -> None:
        match event.payload:
            case ToolStarted(call_id=call_id, writes=True, delegates=False):
                self._open_calls.add(call_id)
            case ToolFinished(call_id=call_id):
                self._ended_call = call_id if call_id in self._open_calls else self._ended_call
                self._open_calls.discard(call_id)
            case UserShellStarted() | UserShellFinished():
                self._shell_runs = isinstance(event.payload, UserShellStarted)
            case FileChanged():
                self._has_newer_changes = True
            case CheckpointTaken() | CheckpointRestored():
                self._has_checkpoint, self._has_newer_changes, self._ended_call = True, False, None
            case IterationFinished() | TurnFinished() | SessionForked() if event.agent == MAIN_AGENT:
                self._has_newer_changes = False
            case SessionHeadMoved():
                # The events in which these calls ended are not on the branch.
                self._open_calls.clear()
                self._shell_runs = False
            case _:
                pass


def find_event_with_known_files(records: Sequence[Record], seq: int) -> int:
    """Return the event nearest to `seq` at which the newest checkpoint has all file changes so far.

    `records`: all records of the log, of all branches.
    """
    # Usually this is `seq` itself. While a call can be changing files, it is the event after the call's result and
    # checkpoint, or the last suitable event before a call that never ended.
    knowledge, nearest = _FileKnowledge(), 0
    for record in known_events(current_branch([record for record in records if record.seq <= seq])):
        knowledge.apply(record)
        if knowledge.is_certain:
            nearest = record.seq
    if knowledge.is_certain:
        nearest = seq
    for record in known_events(record for record in records if record.seq > seq):
        is_checkpoint = knowledge.is_checkpoint_of_ended_call(record.payload)
        is_end = isinstance(record.payload, _ENDS) and record.agent == MAIN_AGENT
        if is_end or (knowledge.is_certain and not is_checkpoint):
            break
        knowledge.apply(record)
        if knowledge.is_certain:
            nearest = record.seq
    return nearest
