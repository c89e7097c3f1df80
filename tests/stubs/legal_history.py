"""Check that a history is legal: every call is answered by exactly one result before the next other message."""

from collections.abc import Sequence

from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import ToolCallPart


def check_pairs(messages: Sequence[Message]) -> list[str]:
    """Return the faults of a history, one sentence each; empty if every call is followed by its one
    result."""
    faults: list[str] = []
    open_calls: dict[CallId, str] = {}
    seen_ids: set[CallId] = set()
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if open_calls.pop(message.call_id, None) is None:
                faults.append(f"message {position}: a result for {message.call_id}, which has no open call")
            continue
        if open_calls:
            faults.append(f"message {position}: calls without a result: {', '.join(sorted(open_calls))}")
            open_calls = {}
        if isinstance(message, AssistantMessage):
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    if part.call_id in seen_ids:
                        faults.append(f"message {position}: call id {part.call_id} is used twice")
                    seen_ids.add(part.call_id)
                    open_calls[part.call_id] = part.name
    if open_calls:
        faults.append(f"end: calls without a result: {', '.join(sorted(open_calls))}")
    return faults
