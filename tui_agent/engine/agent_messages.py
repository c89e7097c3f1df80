"""Words and calls that an agent brings itself, without a model.

Invariant: they are recorded as an answer of the agent before they count, so that every history stays legal and every
part has its index.
"""

from collections.abc import Collection, Sequence

from tui_agent.engine.cleanup import close_calls
from tui_agent.engine.components import EngineParts
from tui_agent.engine.recorder import Recorder
from tui_agent.ports.clock import Ids
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.parts import ModelPart, ToolCallPart, Usage


def bring(parts: EngineParts, agent: AgentId, brought: Sequence[ModelPart]) -> None:
    """Record an answer that no model gave."""
    calls = any(isinstance(part, ToolCallPart) for part in brought)
    parts.recorder.append(
        ModelResponded(
            request_id=parts.ids.request(),
            first_part=parts.recorder.state.parts,
            parts=tuple(brought),
            finish="tool_calls" if calls else "stop",
            usage=Usage(),
            cost_usd=None,
            duration_ms=0.0,
            author="agent",
        ),
        agent=agent,
    )


def new_ids(ids: Ids, calls: Sequence[ToolCallPart]) -> tuple[ToolCallPart, ...]:
    """The calls with identifiers of this session: what an agent wrote there could have been used before."""
    return tuple(call.model_copy(update={"call_id": ids.call()}) for call in calls)


def leave(recorder: Recorder, agent: AgentId, keep: Collection[CallId] = ()) -> None:
    """Close the calls of the model's answer that the agent does not take up."""
    left = [call for call in recorder.state.open_calls if call.agent == agent and call.call_id not in keep]
    close_calls(recorder, left, why="the agent did not take it up")
