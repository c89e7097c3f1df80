"""L1: the agents of a session and what each is doing."""

from dataclasses import dataclass, replace

from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT, AgentId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import AgentState


@dataclass(frozen=True, slots=True)
class AgentNode:
    """One agent. Calls (of models and tools), tokens and cost are its own."""

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


class AgentsTree:
    """Folds spawning, states, calls and costs of all agents."""

    def __init__(self) -> None:
        self._agents: dict[AgentId, AgentNode] = {}
        self._view: AgentsTreeView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if an agent changed."""
        changed = ev.agent != COMPACTION_AGENT and _ON.apply(self, ev)
        if changed:
            self._view = None
        return changed

    def view(self) -> AgentsTreeView:
        """All agents, in order of appearance."""
        if self._view is None:
            self._view = AgentsTreeView(tuple(self._agents.values()))
        return self._view

    def node(self, agent: AgentId) -> AgentNode:
        """The agent's node; one that nothing introduced is made up."""
        known = self._agents.get(agent)
        if known is None:
            parent = None if agent == MAIN_AGENT else MAIN_AGENT
            level = 0 if agent == MAIN_AGENT else 1
            known = AgentNode(agent, agent, parent, level, AgentState.LOADING, "", 0, 0, None)
            self._agents[agent] = known
        return known

    def put(self, node: AgentNode) -> bool:
        """Replace an agent's node."""
        self._agents[node.id] = node
        return True

    def spend(self, agent: AgentId, usage: Usage, cost: float | None) -> bool:
        """Add a model call's tokens and cost."""
        node = self.node(agent)
        total = node.cost_usd if cost is None else (node.cost_usd or 0.0) + cost
        tokens = node.tokens + usage.input_tokens + usage.output_tokens
        return self.put(replace(node, tokens=tokens, cost_usd=total))


_ON: Handlers[AgentsTree] = Handlers()


@_ON.on(SessionStarted)
def _started(fold: AgentsTree, ev: Envelope, payload: SessionStarted) -> bool:
    return fold.put(replace(fold.node(MAIN_AGENT), name=payload.settings.agent))


@_ON.on(UserMessageReceived)
def _message(fold: AgentsTree, ev: Envelope, payload: UserMessageReceived) -> bool:
    return fold.put(replace(fold.node(ev.agent), task=text_preview(payload.text)))


@_ON.on(AgentSpawned)
def _spawned(fold: AgentsTree, ev: Envelope, payload: AgentSpawned) -> bool:
    return fold.put(
        replace(
            fold.node(ev.agent),
            name=payload.name,
            parent=payload.parent_agent,
            delegate_level=payload.delegate_level,
            state=AgentState.RUNNING,
            task=text_preview(payload.task),
        )
    )


@_ON.on(AgentStateChanged)
def _state(fold: AgentsTree, ev: Envelope, payload: AgentStateChanged) -> bool:
    return fold.put(replace(fold.node(ev.agent), state=payload.state))


@_ON.on(AgentFinished)
def _finished(fold: AgentsTree, ev: Envelope, payload: AgentFinished) -> bool:
    stopped = payload.reason == "interrupted"
    ended = AgentState.STOPPED if stopped else AgentState.ERROR
    state = AgentState.FINISHED if payload.success else ended
    return fold.put(replace(fold.node(ev.agent), state=state, summary=text_preview(payload.summary)))


@_ON.on(ToolCalled)
def _called(fold: AgentsTree, ev: Envelope, payload: ToolCalled) -> bool:
    node = fold.node(ev.agent)
    return fold.put(replace(node, calls=node.calls + 1))


@_ON.on(ModelRequested)
def _requested(fold: AgentsTree, ev: Envelope, payload: ModelRequested) -> bool:
    node = fold.node(ev.agent)
    return fold.put(replace(node, calls=node.calls + 1))


@_ON.on(ModelResponded)
def _responded(fold: AgentsTree, ev: Envelope, payload: ModelResponded) -> bool:
    return fold.spend(ev.agent, payload.usage, payload.cost_usd)


@_ON.on(ModelFailed)
def _failed(fold: AgentsTree, ev: Envelope, payload: ModelFailed) -> bool:
    return fold.spend(ev.agent, payload.usage, payload.cost_usd)


TAKES = _ON.classes
"""The events that change it."""
