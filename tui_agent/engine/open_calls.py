"""Calls that waited for the user's decision when a run ended: which of them stay open, to be asked about anew.

Invariant: only a call that never began stays open, and only one whose arguments are still as the model sent them.
"""

import json
from collections.abc import Collection

from tui_agent.engine.model.request import whole_part
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import BlobMissing
from tui_agent.folds.session.fold import OpenCall
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.messages import AssistantMessage
from tui_agent.protocol.parts import ToolCallPart

INSTEAD = "the turn before ended first"
"""Why such a call is closed where something else is begun."""
_REDACTED = "[redacted: "
"""Where the log holds this in the place of a secret, it does not know any more what the model had sent."""


def unanswered(recorder: Recorder, blobs: BlobReader) -> tuple[OpenCall, ...]:
    """The main agent's calls that have not begun, where one of them waits for the user; none where none does."""
    idle = [call for call in recorder.state.open_calls if call.agent == MAIN_AGENT and not call.started]
    if not any(call.asked for call in idle):
        return ()
    known = {part.call_id for part in sent(recorder, blobs, {call.call_id for call in idle})}
    kept = tuple(call for call in idle if call.called and call.call_id in known)
    return kept if any(call.asked for call in kept) else ()


def sent(recorder: Recorder, blobs: BlobReader, wanted: Collection[CallId]) -> tuple[ToolCallPart, ...]:
    """These calls of the main agent as its newest answer has them, in its order; without those that cannot be told."""
    if not wanted:
        return ()
    answers = (one for one in reversed(recorder.messages()) if isinstance(one, AssistantMessage))
    parts = next(answers, AssistantMessage(parts=(), seq=0)).parts
    calls = (part for part in parts if isinstance(part, ToolCallPart) and part.call_id in wanted)
    return tuple(whole for call in calls if (whole := _as_sent(call, blobs)) is not None)


def _as_sent(call: ToolCallPart, blobs: BlobReader) -> ToolCallPart | None:
    try:
        whole = whole_part(call, blobs)
    except BlobMissing:
        return None
    if not isinstance(whole, ToolCallPart) or _REDACTED in json.dumps(whole.arguments):
        return None
    return whole
