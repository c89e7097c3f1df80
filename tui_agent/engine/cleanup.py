"""Ends what was left open, so that every history is legal: after an interruption, a limit, or a crash.

Invariant: afterwards no call of the branch is without a result, no delegate and no request without an end.
"""

from collections.abc import Sequence

from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.live_output import Printed
from tui_agent.folds.session.delegates import DelegateState, line_of
from tui_agent.folds.session.fold import OpenCall
from tui_agent.protocol.events.agent import AgentFinished
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.tool import ToolFinished, ToolStatus
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.parts import TextContent

_WORDS: dict[ToolStatus, tuple[str, str]] = {
    "interrupted": ("This call was stopped before its end.", "stopped"),
    "lost": (
        "The program ended while this call ran. What it did is not known: look before you run it again.",
        "lost",
    ),
}


NEVER_BEGAN = "This subtask waited for others to end and never began: nothing of it was done."


def close_calls(
    recorder: Recorder,
    calls: Sequence[OpenCall] | None = None,
    *,
    crashed: bool = False,
    why: str = "",
    lost: str = "",
    printed: Printed | None = None,
) -> int:
    """Give open calls (all, or these) their result; returns how many. `crashed`: a started one counts as lost.

    `why` is told of one that did not start, `lost` in place of the usual words of one that is lost.

    What `printed` holds of a call's output becomes part of its result.
    """
    state = recorder.state
    open_calls = state.open_calls if calls is None else calls
    printed = printed or Printed()
    below = {one.agent: one for one in state.delegates}
    for call in sorted(open_calls, key=lambda one: len(line_of(below, one.agent)), reverse=True):
        status: ToolStatus = "lost" if crashed and call.started and not call.waits else "interrupted"
        for_model, summary = (NEVER_BEGAN, "not begun") if call.waits else _WORDS[status]
        if why and not call.started:
            for_model, summary = f"Not run: {why}", "not run"
        elif lost and status == "lost":
            for_model = lost
        for_model = with_output(for_model, printed.take(call.call_id))
        for_model += _ended(recorder, call.call_id, crashed=crashed)
        recorder.append(
            ToolFinished(
                call_id=call.call_id,
                name=call.name,
                status=status,
                part=None,
                content=(TextContent(text=for_model),),
                summary=summary,
            ),
            agent=call.agent,
        )
    if calls is None:
        _ended(recorder, None, crashed=crashed)
    return len(open_calls)


def _ended(recorder: Recorder, call_id: CallId | None, *, crashed: bool) -> str:
    """End the delegates that a call (None: any) waits for, and theirs; what the model is told of what they changed."""
    told = ""
    for one in reversed(recorder.state.delegates):
        if call_id is not None and one.call_id != call_id:
            continue
        if one.request is not None:
            _cancel(recorder, one.request, "", one.agent)
        recorder.append(_interrupted(one, crashed=crashed), agent=one.agent)
        touched = (*one.files_created, *one.files_modified)
        if touched:
            told += f" Until then the subtask had written: {', '.join(touched)}."
    return told


def _interrupted(one: DelegateState, *, crashed: bool) -> AgentFinished:
    why = "The program ended while the subtask was at work." if crashed else "The subtask was stopped."
    return AgentFinished(
        success=False,
        summary=why,
        reason="interrupted",
        files_created=one.files_created,
        files_modified=one.files_modified,
        iterations=one.local_iteration,
        model_calls=one.model_calls,
        tool_calls=one.tool_calls,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        cost_usd=one.cost_usd,
    )


def with_output(words: str, output: str) -> str:
    """What the model is told of a call that did not end by itself: why, and what it had printed until then."""
    return f"{words} Its output until then:\n{output}" if output else words


def close_requests(recorder: Recorder, partials: dict[str, str]) -> int:
    """End every open model request as cancelled, with the text that had come; returns how many there were."""
    open_requests = recorder.state.open_requests
    for request_id in open_requests:
        _cancel(recorder, request_id, partials.get(request_id, ""), MAIN_AGENT)
    return len(open_requests)


def _cancel(recorder: Recorder, request_id: RequestId, partial: str, agent: AgentId) -> None:
    recorder.append(
        ModelFailed(
            request_id=request_id,
            fault="cancelled",
            message="The program ended while the model answered.",
            partial=partial,
        ),
        agent=agent,
    )
