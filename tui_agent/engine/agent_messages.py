"""Messages and tool calls that an agent creates itself, without asking a model.

Invariant: an agent's messages and calls are recorded as its answer before they are used.
"""

from collections.abc import Collection, Sequence

from tui_agent.engine.components import EngineParts
from tui_agent.engine.open_calls import close_calls
from tui_agent.engine.recorder import Recorder
from tui_agent.ports.clock import Ids
from tui_agent.protocol.base import AgentId, CallId
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.parts import ModelPart, ToolCallPart, Usage, tool_calls


def record_agent_answer(parts: EngineParts, agent: AgentId, new_parts: Sequence[ModelPart]) -> None:
    """Record `new_parts` as the agent's answer. The agent created them without a model."""
    parts.recorder.append(
        ModelResponded(
            request_id=parts.ids.request(),
            first_part=parts.recorder.state.parts,
            parts=tuple(new_parts),
            finish="tool_calls" if tool_calls(new_parts) else "stop",
            usage=Usage(),
            cost_usd=None,
            duration_ms=0.0,
            author="agent",
        ),
        agent=agent,
    )


def with_new_ids(ids: Ids, calls: Sequence[ToolCallPart]) -> tuple[ToolCallPart, ...]:
    """Return the calls with new ids. An agent program can choose ids that are already in use."""
    return tuple(call.model_copy(update={"call_id": ids.call()}) for call in calls)


def close_unused_calls(recorder: Recorder, agent: AgentId, keep: Collection[CallId] = ()) -> None:
    """Record a result for each unused open call of `agent`. Calls in `keep` stay open."""
    unused = [call for call in recorder.state.open_calls if call.agent == agent and call.call_id not in keep]
    close_calls(recorder, unused, why="the agent did not run this call")
