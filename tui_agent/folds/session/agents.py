"""The agents of a session: the tree of all agents for the screen, and the running delegates for the engine.

Invariant: the state of a delegate is derived from `agent.spawned` and the later events with the delegate's id.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.instructions import AgentInstructions
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.settings import AgentState, ModelInfo, PolicyName
from tui_agent.protocol.stored_text import text_preview

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


@dataclass(frozen=True, slots=True)
class DelegateState:
    """A delegate that has not ended. The totals do not include the work of the delegate's own delegates."""

    agent: AgentId
    name: str
    parent: AgentId
    level: int
    call_id: CallId | None
    task: str
    tools: tuple[str, ...]
    model: ModelInfo
    policy: PolicyName | None
    """Name of the policy for the delegate's calls; None for the session's policy."""
    max_tokens: int | None
    max_iterations: int | None
    start_seq: int
    number: int = 0
    """Number of the subtask in the session, counted from 1."""
    iteration: int = 0
    local_iteration: int = 0
    usage: UsageTotals = NO_USAGE
    tool_calls: int = 0
    request: RequestId | None = None
    """Id of the delegate's model request that has no answer yet."""
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    instructions: AgentInstructions = field(default_factory=AgentInstructions)

    def with_call(self, end: ModelResponded | ModelFailed) -> "DelegateState":
        """Return the delegate after one more model call ended with the event `end`."""
        return replace(self, usage=self.usage.with_call(end), request=None)

    def with_changed_file(self, path: str, *, created: bool) -> "DelegateState":
        """Return the delegate with `path` added to its changed files. Changes by its own delegates count too."""
        if path in self.files_created or path in self.files_modified:
            return self
        if path in self.files_deleted:
            return replace(
                self,
                files_modified=(*self.files_modified, path),
                files_deleted=_remove_path(self.files_deleted, path),
            )
        if created:
            return replace(self, files_created=(*self.files_created, path))
        return replace(self, files_modified=(*self.files_modified, path))

    def with_removed_file(self, path: str) -> "DelegateState":
        """Return the delegate after the delegate removed a file."""
        if path in self.files_created:
            return replace(self, files_created=_remove_path(self.files_created, path))
        return replace(
            self,
            files_modified=_remove_path(self.files_modified, path),
            files_deleted=(*_remove_path(self.files_deleted, path), path),
        )


def _remove_path(paths: tuple[str, ...], path: str) -> tuple[str, ...]:
    return tuple(other for other in paths if other != path)


def new_delegate(
    ev: Envelope, payload: AgentSpawned, instructed: AgentInstructions, number: int
) -> DelegateState:
    """Return the state of a new delegate for the subtask `number`. `instructed`: the parent agent's instructions."""
    return DelegateState(
        agent=ev.agent,
        name=payload.name,
        parent=payload.parent_agent,
        level=payload.delegate_level,
        call_id=payload.call_id,
        task=text_preview(payload.task),
        tools=payload.tools,
        model=payload.model,
        policy=payload.policy,
        max_tokens=payload.max_tokens,
        max_iterations=payload.max_iterations,
        start_seq=ev.seq,
        number=number,
        instructions=instructed,
    )


def delegate_chain(delegates: Mapping[AgentId, DelegateState], agent: AgentId) -> list[DelegateState]:
    """Return the delegate with this id, its parent, and so on (empty for the main agent)."""
    chain: list[DelegateState] = []
    delegate = delegates.get(agent)
    while delegate is not None and delegate not in chain:
        chain.append(delegate)
        delegate = delegates.get(delegate.parent)
    return chain


@dataclass(frozen=True, slots=True)
class AgentNode:
    """An agent in the tree of agents. The numbers and the cost do not include the work of the agent's delegates."""

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


class AgentsTree:
    """Builds the tree of agents with their states, calls and costs, in the order of their start."""

    def __init__(self) -> None:
        self._agents: dict[AgentId, AgentNode] = {}
        self._usage: dict[AgentId, UsageTotals] = {}
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
            case ModelResponded() | ModelFailed() as end:
                usage = self._usage[ev.agent] = self._usage.get(ev.agent, NO_USAGE).with_call(end)
                agent = replace(agent, tokens=usage.tokens, cost_usd=usage.cost_usd)
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
