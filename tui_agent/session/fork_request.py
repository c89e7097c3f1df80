"""What is to be different in a fork, and at which event it has to begin for that.

Invariant: pure, over the records up to the event that was named; where it begins, what is to be replaced has not
happened yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.errors import UsageError
from tui_agent.folds.base import branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.view import OpenCall
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT, CallId


@dataclass(frozen=True, slots=True)
class Beginning:
    """The last event that a fork takes over, and what is different in it."""

    at_seq: int
    change: ForkChange


def beginning(records: Sequence[Record], at_seq: int, change: ForkChange) -> Beginning:
    """Where a fork with this change begins, for someone who names the event `at_seq`, with which `records` end.

    With `message`, an event that is a message of the user stands for the one before it. With `result`, any event of a
    call means that call, and the fork begins before it ran (of a call that only reads: before it finished); any other
    event means the one call that is open there. Raises `UsageError` where nothing can be replaced.
    """
    if change.message is not None and change.result is not None:
        raise UsageError("A fork has another message or another tool result, not both.")
    if change.message is not None:
        return Beginning(_before_message(records, at_seq), change)
    if change.result is None:
        return Beginning(at_seq, change)
    call_id = _call_of(records, at_seq) or _only_open(records, at_seq)
    at = _before_result(records, call_id, at_seq)
    if call_id not in {call.call_id for call in _open_calls(records, at)}:
        raise UsageError(
            f"The call {call_id} is none of the main agent's that could be answered otherwise at event {at}."
        )
    return Beginning(at, change.model_copy(update={"call_id": call_id}))


def _before_message(records: Sequence[Record], at_seq: int) -> int:
    last = records[-1] if records else None
    match last:
        case Envelope(seq=seq, agent="main", parent=int(parent), payload=UserMessageReceived()) if (
            seq == at_seq
        ):
            return parent
        case _:
            return at_seq


def _call_of(records: Sequence[Record], at_seq: int) -> CallId | None:
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
    for record in branch(records):
        match record:
            case Envelope(parent=int(parent), payload=ToolStarted(call_id=found, writes=True)) if (
                found == call_id
            ):
                return parent
            case Envelope(parent=int(parent), payload=ToolFinished(call_id=found)) if found == call_id:
                return parent
            case _:
                pass
    return at_seq


def _open_calls(records: Sequence[Record], at_seq: int) -> list[OpenCall]:
    until = branch([record for record in records if record.seq <= at_seq])
    return [call for call in fold(SessionState(), until).open_calls if call.agent == MAIN_AGENT]


def _only_open(records: Sequence[Record], at_seq: int) -> CallId:
    found = _open_calls(records, at_seq)
    if len(found) == 1:
        return found[0].call_id
    if not found:
        raise UsageError(
            f"No tool call is open at event {at_seq}.",
            hint="Give the event in which the call finished: `sessions show ID` lists them.",
        )
    names = ", ".join(f"{call.name} ({call.call_id})" for call in found)
    raise UsageError(
        f"Several tool calls are open at event {at_seq}: {names}.",
        hint="Give an event of the one that is meant.",
    )
