"""Events of agents: the main agent and its delegates."""

from typing import Literal

from tui_agent.protocol.base import AgentId, CallId, LongText, Payload
from tui_agent.protocol.settings import AgentState, ModelInfo, PolicyName


class AgentSpawned(Payload):
    """A delegate started. The envelope's `agent` is the new agent.

    `policy` is the policy for the new agent's calls (None: the session's policy). Only `tools` are allowed.
    `max_tokens` limits each answer of the new agent; `max_iterations` limits the whole task. `call_id` is the tool call
    that started the delegate. `requested_by` is `user` if the user delegated the task with a command.
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
    """An agent's state changed. `reason` is a short explanation if the state alone is not enough."""

    kind: Literal["agent.state_changed"] = "agent.state_changed"
    state: AgentState
    reason: str = ""


class AgentFinished(Payload):
    """A delegate ended.

    Tokens, cost and calls do not include other delegates that this delegate started.
    """

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
