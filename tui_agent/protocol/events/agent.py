"""L0: agents: the main one and its delegates."""

from typing import Literal

from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.settings import AgentState, ModelInfo


class AgentSpawned(Payload):
    """Delegation started. The envelope's `agent` is the new one."""

    kind: Literal["agent.spawned"] = "agent.spawned"
    name: str
    parent_agent: AgentId
    delegate_level: int
    task: LongText
    tools: tuple[str, ...]
    model: ModelInfo
    call_id: CallId | None = None


class AgentStateChanged(Payload):
    """`reason` is a few words where the state alone does not tell."""

    kind: Literal["agent.state_changed"] = "agent.state_changed"
    state: AgentState
    reason: str = ""


class AgentFinished(Payload):
    """Delegation ended."""

    kind: Literal["agent.finished"] = "agent.finished"
    success: bool
    summary: LongText
    reason: Literal["completed", "failed", "interrupted", "budget"]
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
