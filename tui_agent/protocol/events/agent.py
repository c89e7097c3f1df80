"""Events of agents: the main agent and its delegates."""

from typing import Literal

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.settings import AgentState, ModelInfo, PolicyName
from tui_agent.protocol.stored_text import LongText


class AgentSpawned(Payload):
    """A delegate started. The envelope's `agent` is the delegate.

    `policy`: policy for its calls (null: the session's policy). `tools`: the only tools that it can use. `max_tokens`:
    limit for each answer. `max_iterations`: limit for the whole task. `call_id`: tool call that started it.
    `requested_by`: `user` if the task came from a command of the user.
    """

    kind: Literal["agent.spawned"] = "agent.spawned"
    name: str
    parent_agent: AgentId
    delegate_level: int
    task: LongText
    tools: tuple[str, ...]
    model: ModelInfo
    call_id: CallId | None = None
    policy: PolicyName | None = None
    max_tokens: int | None = None
    max_iterations: int | None = None
    requested_by: Literal["agent", "user"] = "agent"


class AgentStateChanged(Payload):
    """An agent's state changed. `reason`: short explanation, or empty."""

    kind: Literal["agent.state_changed"] = "agent.state_changed"
    state: AgentState
    reason: str = ""


class AgentFinished(Payload):
    """A delegate ended. Tokens, cost and calls do not include delegates that this delegate started."""

    kind: Literal["agent.finished"] = "agent.finished"
    success: bool
    summary: LongText
    reason: Literal["completed", "failed", "interrupted", "budget"]
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    iterations: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    duration_ms: float = 0.0
