"""Calls that waited for approval when a run ended and stay open, so that the next run asks about them again.

Invariant: only a call that never started stays open, and only if its arguments are still as the model sent them.
"""

import json
from collections.abc import Collection

from tui_agent.engine.model.request import resolve_part
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import BlobNotFound
from tui_agent.folds.session.view import OpenCall
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.messages import AssistantMessage
from tui_agent.protocol.parts import ToolCallPart

TURN_ENDED_FIRST = "the turn before ended first"
"""The reason for closing such a call when something else starts."""
_REDACTED = "[redacted: "
"""The log's replacement of a secret; the model's original argument is then unknown."""


def calls_awaiting_approval(recorder: Recorder, blobs: BlobReader) -> tuple[OpenCall, ...]:
    """Return the main agent's calls that have not started, if at least one of them waits for the user."""
    idle = [call for call in recorder.state.open_calls if call.agent == MAIN_AGENT and not call.started]
    if not any(call.awaits_decision for call in idle):
        return ()
    unchanged = {part.call_id for part in calls_as_sent(recorder, blobs, {call.call_id for call in idle})}
    waiting = tuple(call for call in idle if call.called and call.call_id in unchanged)
    return waiting if any(call.awaits_decision for call in waiting) else ()


def calls_as_sent(
    recorder: Recorder, blobs: BlobReader, call_ids: Collection[CallId]
) -> tuple[ToolCallPart, ...]:
    """Return these calls as in the main agent's newest answer, in its order, without redacted or missing arguments."""
    if not call_ids:
        return ()
    answers = (message for message in reversed(recorder.messages()) if isinstance(message, AssistantMessage))
    parts = next(answers, AssistantMessage(parts=(), seq=0)).parts
    calls = (part for part in parts if isinstance(part, ToolCallPart) and part.call_id in call_ids)
    return tuple(resolved for call in calls if (resolved := _resolve_call(call, blobs)) is not None)


def _resolve_call(call: ToolCallPart, blobs: BlobReader) -> ToolCallPart | None:
    try:
        resolved = resolve_part(call, blobs)
    except BlobNotFound:
        return None
    if not isinstance(resolved, ToolCallPart) or _REDACTED in json.dumps(resolved.arguments):
        return None
    return resolved
