"""The agents of a session and what each is doing."""

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
    """The main agent first."""

    agents: tuple[AgentNode, ...] = ()


@dataclass(slots=True)
class _Agent:
    """What an agent is so far: changed in place by every call of it, and frozen when it is looked at."""

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

    def frozen(self) -> AgentNode:
        """As it is now."""
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
    """Folds spawning, states, calls and costs of all agents."""

    def __init__(self) -> None:
        self._agents: dict[AgentId, _Agent] = {}
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
            self._view = AgentsTreeView(tuple(each.frozen() for each in self._agents.values()))
        return self._view

    def agent(self, name: AgentId) -> _Agent:
        """The agent of that name; one that nothing introduced is made up."""
        known = self._agents.get(name)
        if known is None:
            parent = None if name == MAIN_AGENT else MAIN_AGENT
            known = self._agents[name] = _Agent(name, name, parent, 0 if parent is None else 1)
        return known

    def spend(self, name: AgentId, usage: Usage, cost: float | None) -> bool:
        """Add a model call's tokens and cost."""
        agent = self.agent(name)
        agent.tokens += usage.input_tokens + usage.output_tokens
        if cost is not None:
            agent.cost_usd = (agent.cost_usd or 0.0) + cost
        return True


_ON: Handlers[AgentsTree] = Handlers()


@_ON.on(SessionStarted)
def _started(fold: AgentsTree, ev: Envelope, payload: SessionStarted) -> bool:
    fold.agent(MAIN_AGENT).name = payload.settings.agent
    return True


@_ON.on(UserMessageReceived)
def _message(fold: AgentsTree, ev: Envelope, payload: UserMessageReceived) -> bool:
    fold.agent(ev.agent).task = text_preview(payload.text)
    return True


@_ON.on(AgentSpawned)
def _spawned(fold: AgentsTree, ev: Envelope, payload: AgentSpawned) -> bool:
    agent = fold.agent(ev.agent)
    agent.name, agent.parent, agent.delegate_level = (
        payload.name,
        payload.parent_agent,
        payload.delegate_level,
    )
    agent.state, agent.task = AgentState.RUNNING, text_preview(payload.task)
    return True


@_ON.on(AgentStateChanged)
def _state(fold: AgentsTree, ev: Envelope, payload: AgentStateChanged) -> bool:
    fold.agent(ev.agent).state = payload.state
    return True


@_ON.on(AgentFinished)
def _finished(fold: AgentsTree, ev: Envelope, payload: AgentFinished) -> bool:
    stopped = payload.reason == "interrupted"
    ended = AgentState.STOPPED if stopped else AgentState.ERROR
    agent = fold.agent(ev.agent)
    agent.state = AgentState.FINISHED if payload.success else ended
    agent.summary = text_preview(payload.summary)
    return True


@_ON.on(ToolCalled)
def _called(fold: AgentsTree, ev: Envelope, payload: ToolCalled) -> bool:
    fold.agent(ev.agent).calls += 1
    return True


@_ON.on(ModelRequested)
def _requested(fold: AgentsTree, ev: Envelope, payload: ModelRequested) -> bool:
    fold.agent(ev.agent).calls += 1
    return True


@_ON.on(ModelResponded)
def _responded(fold: AgentsTree, ev: Envelope, payload: ModelResponded) -> bool:
    return fold.spend(ev.agent, payload.usage, payload.cost_usd)


@_ON.on(ModelFailed)
def _failed(fold: AgentsTree, ev: Envelope, payload: ModelFailed) -> bool:
    return fold.spend(ev.agent, payload.usage, payload.cost_usd)


TAKES = _ON.classes
"""The events that change it."""
