"""The agents of a session and their states, calls and costs."""

from dataclasses import replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import COMPACTION_AGENT, MAIN_AGENT, AgentId, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.parts import add_cost
from tui_agent.protocol.settings import AgentState


@dataclass(frozen=True, slots=True)
class AgentNode:
    """An agent in the tree of agents. Its numbers and cost do not include its delegates."""

    id: AgentId
    name: str
    parent: AgentId | None
    delegate_level: int
    state: AgentState = AgentState.LOADING
    task: str = ""
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class AgentsTreeView:
    """All agents of a session, beginning with the main agent."""

    agents: tuple[AgentNode, ...] = ()


TAKES = (
    SessionStarted,
    UserMessageReceived,
    AgentSpawned,
    AgentStateChanged,
    AgentFinished,
    ToolCalled,
    ModelRequested,
    ModelResponded,
    ModelFailed,
)
"""The classes of event payloads that `AgentsTree` handles."""


class AgentsTree:
    """Builds the tree of agents with their states, calls and costs, in the order of their start."""

    def __init__(self) -> None:
        self._agents: dict[AgentId, AgentNode] = {}
        self._view: AgentsTreeView | None = None

    def apply(self, ev: Envelope) -> bool:
        if type(ev.payload) not in TAKES or ev.agent == COMPACTION_AGENT:
            return False
        agent = self._agents.get(ev.agent) or _new_agent(ev.agent)
        match ev.payload:
            case SessionStarted(settings=settings):
                agent = replace(agent, name=settings.agent)
            case UserMessageReceived(text=text):
                agent = replace(agent, task=text_preview(text))
            case AgentSpawned(name=name, parent_agent=parent, delegate_level=level, task=task):
                agent = replace(agent, name=name, parent=parent, delegate_level=level)
                agent = replace(agent, state=AgentState.RUNNING, task=text_preview(task))
            case AgentStateChanged(state=state):
                agent = replace(agent, state=state)
            case AgentFinished(success=success, reason=reason, summary=summary):
                failure = AgentState.STOPPED if reason == "interrupted" else AgentState.ERROR
                state = AgentState.FINISHED if success else failure
                agent = replace(agent, state=state, summary=text_preview(summary))
            case ToolCalled() | ModelRequested():
                agent = replace(agent, calls=agent.calls + 1)
            case ModelResponded(usage=usage, cost_usd=cost) | ModelFailed(usage=usage, cost_usd=cost):
                tokens = agent.tokens + usage.input_tokens + usage.output_tokens
                agent = replace(agent, tokens=tokens, cost_usd=add_cost(agent.cost_usd, cost))
            case _:
                return False
        self._agents[ev.agent] = agent
        self._view = None
        return True

    def view(self) -> AgentsTreeView:
        if self._view is None:
            self._view = AgentsTreeView(tuple(self._agents.values()))
        return self._view


def _new_agent(agent: AgentId) -> AgentNode:
    is_main = agent == MAIN_AGENT
    return AgentNode(agent, agent, None if is_main else MAIN_AGENT, 0 if is_main else 1)
