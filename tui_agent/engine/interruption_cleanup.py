"""Cleanup after an interruption, a limit or a crash: ends calls, delegates and requests that are still open.

Invariant: after the cleanup, only calls that wait for approval are open.
"""

import json
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from tui_agent.engine.model.message_loading import resolve_part
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.large_results import StoppedOutput
from tui_agent.errors import BlobNotFound
from tui_agent.folds.session.agents import DelegateState, delegate_chain
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.session.state_view import OpenCall
from tui_agent.folds.session.unfinished_work import SUMMARIES, unfinished_status
from tui_agent.folds.text.redaction_placeholders import PLACEHOLDER_START
from tui_agent.models.pricing import cost
from tui_agent.ports.delegate import DelegateEnd
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.events.agent import AgentFinished
from tui_agent.protocol.events.model import ModelFailed, ModelRequested
from tui_agent.protocol.events.tool import ToolFinished, ToolStatus
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.messages import AssistantMessage
from tui_agent.protocol.parts import TextContent, ToolCallPart, Usage, tool_calls
from tui_agent.units import describe_line_changes

TURN_ENDED_FIRST = "the previous turn ended before this call started"
"""Reason recorded for a call that was not approved before another turn or command started."""
STOPPED_FIRST = "the work was stopped before this call started"
"""Reason recorded for a call that had not started when the user or a crash stopped the work."""
_MESSAGES: dict[ToolStatus, str] = {
    "interrupted": "This call was stopped before it finished.",
    "lost": "tui-agent exited while this call ran. Its effects are unknown: check them before you run it again.",
}
"""Maps the status of an unfinished call to the message for the model."""
RAN_THEN_UNDONE = "ran, then undone"
NEVER_STARTED = "This subtask was waiting for other subtasks and never started."


def calls_awaiting_approval(recorder: Recorder, blobs: BlobReader) -> tuple[OpenCall, ...]:
    """Return the main agent's calls that have not started. Empty if none of these calls waits for approval.

    Calls with redacted or missing arguments are left out.
    """
    idle = [call for call in recorder.state.open_calls if call.agent == MAIN_AGENT and not call.started]
    if not any(call.awaits_decision for call in idle):
        return ()
    unchanged = {part.call_id for part in calls_as_sent(recorder, blobs, {call.call_id for call in idle})}
    waiting = tuple(call for call in idle if call.called and call.call_id in unchanged)
    return waiting if any(call.awaits_decision for call in waiting) else ()


def calls_as_sent(
    recorder: Recorder, blobs: BlobReader, call_ids: Collection[CallId]
) -> tuple[ToolCallPart, ...]:
    """Return calls of the main agent's newest answer, in order.

    `call_ids`: the calls to return. Calls with redacted or missing arguments are left out.
    """
    if not call_ids:
        return ()
    answers = (message for message in reversed(recorder.messages()) if isinstance(message, AssistantMessage))
    parts = next(answers, AssistantMessage(parts=(), seq=0)).parts
    calls = (call for call in tool_calls(parts) if call.call_id in call_ids)
    return tuple(resolved for call in calls if (resolved := _resolve_call(call, blobs)) is not None)


def _resolve_call(call: ToolCallPart, blobs: BlobReader) -> ToolCallPart | None:
    try:
        resolved = resolve_part(call, blobs)
    except BlobNotFound:
        return None
    if not isinstance(resolved, ToolCallPart) or PLACEHOLDER_START in json.dumps(resolved.arguments):
        return None
    return resolved


def close_calls(
    recorder: Recorder,
    calls: Sequence[OpenCall] | None = None,
    *,
    crashed: bool = False,
    why: str = "",
    lost_message: str = "",
    ran: Mapping[CallId, str] | None = None,
    outputs: MutableMapping[CallId, StoppedOutput] | None = None,
) -> int:
    """Record a result for each unfinished call. Return the number of these calls.

    - `calls`: the calls to close. By default, all open calls.
    - `crashed`: True if the program crashed. Calls that had started can then get the status `lost`.
    - `why`: reason for calls that did not start.
    - `lost_message`: message for lost calls, if not the usual one.
    - `ran`: message for each call that ran after the event to which the session was reverted.
    - `outputs`: maps a stopped call to its output so far. The output is moved from this mapping to the call's result.
    """
    state = recorder.state
    open_calls = state.open_calls if calls is None else calls
    delegates = {delegate.agent: delegate for delegate in state.delegates}
    # Close the deepest delegates first, so that a parent's result comes after those of its delegates.
    for call in sorted(open_calls, key=lambda call: len(delegate_chain(delegates, call.agent)), reverse=True):
        status = unfinished_status(call, crashed=crashed)
        for_model, summary = _MESSAGES[status], SUMMARIES[status]
        if ran and call.call_id in ran:
            for_model, summary = ran[call.call_id], RAN_THEN_UNDONE
        elif call.waits_for_delegate:
            for_model, summary = NEVER_STARTED, "not started"
        elif not call.started:
            for_model, summary = f"Not run: {why or STOPPED_FIRST}", "not run"
        elif lost_message and status == "lost":
            for_model = lost_message
        output = (outputs or {}).pop(call.call_id, StoppedOutput(""))
        for_model = output.append_to(for_model) + _describe_delegate_files(call)
        _close_delegates(recorder, call.call_id, crashed=crashed)
        recorder.append(
            ToolFinished(
                call_id=call.call_id,
                name=call.name,
                status=status,
                part=None,
                content=(TextContent(text=for_model),),
                summary=summary,
                display=output.display,
                full_output=output.stored,
                artifact=output.artifact,
            ),
            agent=call.agent,
        )
    if calls is None:
        _close_delegates(recorder, None, crashed=crashed)
    return len(open_calls)


def close_unused_calls(recorder: Recorder, agent: AgentId, keep: Collection[CallId] = ()) -> None:
    """Record for each open call of `agent`, except the calls in `keep`, that the agent did not run it."""
    unused = [call for call in recorder.state.open_calls if call.agent == agent and call.call_id not in keep]
    close_calls(recorder, unused, why="the agent did not run this call")


def _close_delegates(recorder: Recorder, call_id: CallId | None, *, crashed: bool) -> None:
    """End the delegates of the call `call_id`, or all delegates if `call_id` is None."""
    for delegate in reversed(recorder.state.delegates):
        if call_id is not None and delegate.call_id != call_id:
            continue
        if delegate.request is not None:
            _cancel_request(recorder, delegate.request, delegate.agent)
        why = "tui-agent exited while the subtask was running." if crashed else "The subtask was stopped."
        recorder.append(delegate_end(delegate, "interrupted", why), agent=delegate.agent)


def _describe_delegate_files(call: OpenCall) -> str:
    """List the files changed by an unfinished call's delegates. The list can be empty."""
    files = [_describe_file(file) for file in call.delegate_files if file.differs]
    return f" The delegate had already changed: {', '.join(files)}." if files else ""


def _describe_file(file: ChangedFile) -> str:
    if file.disk_sha256_after is None:
        return f"{file.path} (deleted)"
    # The sum of several changes is not the net change, so it is left out.
    return (
        f"{file.path} ({describe_line_changes(file.added, file.removed)})" if file.changes == 1 else file.path
    )


def delegate_end(
    delegate: DelegateState, reason: DelegateEnd, summary: str, duration_ms: float = 0.0
) -> AgentFinished:
    """Return the event that records a delegate's end, iterations, tokens and cost."""
    return AgentFinished(
        success=reason == "completed",
        summary=summary,
        reason=reason,
        files_created=delegate.files_created,
        files_modified=delegate.files_modified,
        files_deleted=delegate.files_deleted,
        iterations=delegate.local_iteration,
        model_calls=delegate.usage.model_calls,
        tool_calls=delegate.tool_calls,
        input_tokens=delegate.usage.input_tokens,
        output_tokens=delegate.usage.output_tokens,
        cost_usd=delegate.usage.cost_usd,
        duration_ms=round(duration_ms, 1),
    )


class UnfinishedRequest(NamedTuple):
    """A model request without a recorded end, and the received part of its answer.

    `output_chars`: length of the text and the reasoning.
    """

    agent: AgentId
    sent: ModelRequested
    text: str = ""
    output_chars: int = 0


def close_requests(recorder: Recorder, unfinished: Mapping[RequestId, UnfinishedRequest]) -> int:
    """Record every open model request as cancelled, and return their number.

    `unfinished`: interrupted requests that the provider charges for. Their cost is estimated.
    """
    open_requests = recorder.state.open_requests
    for request_id in open_requests:
        request = unfinished.get(request_id)
        agent = request.agent if request is not None else MAIN_AGENT
        _cancel_request(recorder, request_id, agent, request)
    return len(open_requests)


def _cancel_request(
    recorder: Recorder, request_id: RequestId, agent: AgentId, request: UnfinishedRequest | None = None
) -> None:
    usage, price = Usage(), None
    if request is not None:
        # A token has about four characters.
        input_tokens, output_tokens = request.sent.estimated_tokens, request.output_chars // 4
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, estimated=True)
        price = cost(request.sent.model, usage)
    recorder.append(
        ModelFailed(
            request_id=request_id,
            fault="cancelled",
            message="tui-agent exited while the model answered.",
            partial=request.text if request is not None else "",
            usage=usage,
            cost_usd=price,
        ),
        agent=agent,
    )
