"""Finds the event at which a requested fork starts.

Invariant: the conversation and the files of a fork agree at its start.
"""

from collections.abc import Sequence

from tui_agent.errors import UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.base import current_branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.known_files import find_event_with_known_files
from tui_agent.folds.session.view import OpenCall
from tui_agent.protocol.base import MAIN_AGENT, CallId
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import UserMessageReceived


@dataclass(frozen=True, slots=True)
class ForkStart:
    """Start of a fork: the last event shared with its parent session, and the user's change."""

    at_seq: int
    change: ForkChange


def find_fork_start(records: Sequence[Record], at_seq: int, change: ForkChange) -> ForkStart:
    """Return the event at which a fork starts, together with the requested change.

    - `records`: all records of the log, of all branches.
    - `at_seq`: the event that the user named.

    The fork normally starts at `at_seq`. If `change` replaces the message or tool result there, the fork starts just
    before it. If a tool call was changing files at that moment, the fork starts after the call's checkpoint. If this
    call never ended, the fork starts before the call. Raise `UsageError` if there is nothing to replace.
    """
    if change.message is not None and change.result is not None:
        raise UsageError("A fork can replace a message or a tool result, not both.")
    until = [record for record in records if record.seq <= at_seq]
    if change.result is None:
        start_seq = at_seq if change.message is None else _before_message(until, at_seq)
        return ForkStart(find_event_with_known_files(records, start_seq), change)
    call_id = _call_id_at(until, at_seq) or _only_open_call(until, at_seq)
    start_seq = _before_result(until, call_id, at_seq)
    if call_id not in {call.call_id for call in _open_calls(until, start_seq)}:
        raise UsageError(
            f"The result of {call_id} cannot be replaced: the main agent has no such open call at event {start_seq}."
        )
    return ForkStart(start_seq, change.model_copy(update={"call_id": call_id}))


def _before_message(records: Sequence[Record], at_seq: int) -> int:
    last = records[-1] if records else None
    match last:
        case Envelope(seq=seq, agent="main", parent=int(parent), payload=UserMessageReceived()) if (
            seq == at_seq
        ):
            return parent
        case _:
            return at_seq


def _call_id_at(records: Sequence[Record], at_seq: int) -> CallId | None:
    match records[-1] if records else None:
        case Envelope(
            seq=seq,
            payload=ToolCalled(call_id=call_id)
            | ToolStarted(call_id=call_id)
            | ToolProgress(call_id=call_id)
            | ToolFinished(call_id=call_id)
            | PermissionRequested(call_id=call_id)
            | PermissionDecided(call_id=call_id),
        ) if seq == at_seq:
            return call_id
        case _:
            return None


def _before_result(records: Sequence[Record], call_id: CallId, at_seq: int) -> int:
    for record in current_branch(records):
        match record:
            case Envelope(
                parent=int(parent),
                payload=ToolStarted(call_id=event_call_id, writes=True) | ToolFinished(call_id=event_call_id),
            ) if event_call_id == call_id:
                return parent
            case _:
                pass
    return at_seq


def _open_calls(records: Sequence[Record], at_seq: int) -> list[OpenCall]:
    until = current_branch([record for record in records if record.seq <= at_seq])
    return [call for call in fold(SessionState(), until).open_calls if call.agent == MAIN_AGENT]


def _only_open_call(records: Sequence[Record], at_seq: int) -> CallId:
    open_calls = _open_calls(records, at_seq)
    if len(open_calls) == 1:
        return open_calls[0].call_id
    if not open_calls:
        raise UsageError(
            f"No tool call is open at event {at_seq}.",
            hint="Name the event in which the call finished; `sessions show ID` lists the events.",
        )
    names = ", ".join(f"{call.name} ({call.call_id})" for call in open_calls)
    raise UsageError(
        f"Several tool calls are open at event {at_seq}: {names}.",
        hint="Give an event that belongs to the call you want.",
    )
