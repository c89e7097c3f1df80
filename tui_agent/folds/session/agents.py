"""The agents of a session and their states, calls and costs."""

from dataclasses import dataclass

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
    """All agents, the main one first."""

    agents: tuple[AgentNode, ...] = ()


@dataclass(slots=True)
class _Agent:
    """Mutable state of an agent; every event changes it in place, and a view freezes it."""

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

    def to_node(self) -> AgentNode:
        """Return an immutable copy."""
        return AgentNode(
            self.id,
            self.name,
            self.parent,
            self.delegate_level,
            self.state,
            self.task,
            self.calls,
            self.tokens,
            self.cost_usd,
            self.summary,
        )


class AgentsTree:
    """A fold of the states, calls and costs of all agents."""

    def __init__(self) -> None:
        self._agents: dict[AgentId, _Agent] = {}
        self._view: AgentsTreeView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if an agent changed."""
        changed = ev.agent != COMPACTION_AGENT and _HANDLERS.apply(self, ev)
        if changed:
            self._view = None
        return changed

    def view(self) -> AgentsTreeView:
        """Return all agents in order of appearance."""
        if self._view is None:
            self._view = AgentsTreeView(tuple(agent.to_node() for agent in self._agents.values()))
        return self._view

    def get_or_add_agent(self, name: AgentId) -> _Agent:
        """Return the agent of that name, created if no event introduced it."""
        known = self._agents.get(name)
        if known is None:
            parent = None if name == MAIN_AGENT else MAIN_AGENT
            known = self._agents[name] = _Agent(name, name, parent, 0 if parent is None else 1)
        return known

    def add_usage(self, name: AgentId, usage: Usage, cost: float | None) -> bool:
        """Add the tokens and cost of a model call."""
        agent = self.get_or_add_agent(name)
        agent.tokens += usage.input_tokens + usage.output_tokens
        if cost is not None:
            agent.cost_usd = (agent.cost_usd or 0.0) + cost
        return True


_HANDLERS: Handlers[AgentsTree] = Handlers()


@_HANDLERS.on(SessionStarted)
def _on_session_started(fold: AgentsTree, ev: Envelope, payload: SessionStarted) -> None:
    fold.get_or_add_agent(MAIN_AGENT).name = payload.settings.agent


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(fold: AgentsTree, ev: Envelope, payload: UserMessageReceived) -> None:
    fold.get_or_add_agent(ev.agent).task = text_preview(payload.text)


@_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(fold: AgentsTree, ev: Envelope, payload: AgentSpawned) -> None:
    agent = fold.get_or_add_agent(ev.agent)
    agent.name, agent.parent, agent.delegate_level = (
        payload.name,
        payload.parent_agent,
        payload.delegate_level,
    )
    agent.state, agent.task = AgentState.RUNNING, text_preview(payload.task)


@_HANDLERS.on(AgentStateChanged)
def _on_agent_state_changed(fold: AgentsTree, ev: Envelope, payload: AgentStateChanged) -> None:
    fold.get_or_add_agent(ev.agent).state = payload.state


@_HANDLERS.on(AgentFinished)
def _on_agent_finished(fold: AgentsTree, ev: Envelope, payload: AgentFinished) -> None:
    stopped = payload.reason == "interrupted"
    failure_state = AgentState.STOPPED if stopped else AgentState.ERROR
    agent = fold.get_or_add_agent(ev.agent)
    agent.state = AgentState.FINISHED if payload.success else failure_state
    agent.summary = text_preview(payload.summary)


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: AgentsTree, ev: Envelope, payload: ToolCalled) -> None:
    fold.get_or_add_agent(ev.agent).calls += 1


@_HANDLERS.on(ModelRequested)
def _on_model_requested(fold: AgentsTree, ev: Envelope, payload: ModelRequested) -> None:
    fold.get_or_add_agent(ev.agent).calls += 1


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: AgentsTree, ev: Envelope, payload: ModelResponded) -> bool:
    return fold.add_usage(ev.agent, payload.usage, payload.cost_usd)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: AgentsTree, ev: Envelope, payload: ModelFailed) -> bool:
    return fold.add_usage(ev.agent, payload.usage, payload.cost_usd)


TAKES = _HANDLERS.classes
"""Payload classes that this fold handles."""
