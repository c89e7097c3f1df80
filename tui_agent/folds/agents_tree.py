"""L1: the agents of a session and what each is doing."""

from dataclasses import dataclass

from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.settings import AgentState


@dataclass(frozen=True, slots=True)
class AgentNode:
    """One agent. Tokens and cost are its own."""

    id: AgentId
    name: str
    parent: AgentId | None
    delegate_level: int
    state: AgentState
    task: str
    calls: int
    tokens: int
    cost_usd: float | None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class AgentsTreeView:
    """The main agent first."""

    agents: tuple[AgentNode, ...] = ()
