"""The fields of a session's state while they change, and the sums that several events add to."""

from dataclasses import dataclass, field

from tui_agent.folds.context.instructions import Instructed
from tui_agent.folds.session.delegates import DelegateState
from tui_agent.folds.session.uncheckpointed_changes import ToldChange
from tui_agent.folds.session.view import OpenCall, ReadFile, Totals
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.instructions import SkillRecord
from tui_agent.protocol.events.job import JobStarted
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.events.turn import (
    QuestionAsked,
    TurnEnd,
    UserMessageReceived,
    UserQueued,
    UserShellStarted,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, JobId, RequestId, RunId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import AgentState, SessionSettings


@dataclass(slots=True)
class Draft:
    """The view's fields while they change: lists and tables are dicts here."""

    seq: int = -1
    workspace: str = ""
    title: str = ""
    run_id: RunId | None = None
    settings: SessionSettings | None = None
    agent: AgentId = MAIN_AGENT
    agent_state: AgentState = AgentState.LOADING
    state_reason: str = ""
    phase: str = "idle"
    root_task: str = ""
    subtask: str = ""
    turn: int = 0
    turn_running: bool = False
    turn_started_at: float | None = None
    turn_start_part: int = 0
    turn_iterations: int = 0
    turn_cost_usd: float | None = None
    last_turn_end: TurnEnd | None = None
    moved: bool = False
    shell: UserShellStarted | None = None
    shell_started_at: float | None = None
    iteration: int = 0
    own_iteration: int = 0
    local_iteration: int = 0
    delegate_level: int = 0
    parts: int = 0
    repeated_call: str = ""
    repeats: int = 0
    almost_stuck: bool = False
    last_error: str = ""
    session_context: str = ""
    start_seq: int = 0
    last_event: str = ""
    todo: tuple[TodoItem, ...] = ()
    queue: dict[RequestId, UserQueued] = field(default_factory=dict)
    pending_prompt: UserMessageReceived | None = None
    steers: int = 0
    open_calls: dict[CallId, OpenCall] = field(default_factory=dict)
    open_requests: dict[RequestId, AgentId] = field(default_factory=dict)
    """Each with the agent that it counts for."""
    delegates: dict[AgentId, DelegateState] = field(default_factory=dict)
    agents_begun: int = 0
    main_local: int = 0
    """The main agent's own count of iterations while a delegate works."""
    permissions: dict[CallId, PermissionRequested] = field(default_factory=dict)
    questions: dict[RequestId, QuestionAsked] = field(default_factory=dict)
    granted: dict[str, None] = field(default_factory=dict)
    read_files: dict[str, ReadFile] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    explored: dict[str, None] = field(default_factory=dict)
    memory: JsonMap = field(default_factory=dict)
    mentioned: tuple[str, ...] = ()
    mapped: bool = False
    map_late: str = ""
    totals: Totals = field(default_factory=Totals)
    turn_totals: Totals = field(default_factory=Totals)
    jobs: dict[JobId, JobStarted] = field(default_factory=dict)
    jobs_begun: int = 0
    clean: bool = True
    commit: str = ""
    unkept: dict[str, ToldChange] = field(default_factory=dict)
    written: dict[str, bool] = field(default_factory=dict)
    """Files that agents and their commands changed, the newest last; True: there was none before."""
    lost_at: float | None = None
    seen_at: float = 0.0
    """When the newest event was, those of repairing the log apart."""
    sandbox: str = ""
    sandbox_why_not: str = ""
    variables: tuple[str, ...] = ()
    forked: ForkChange | None = None
    instructed: Instructed = field(default_factory=Instructed)
    skills: tuple[SkillRecord, ...] = ()
    extra: JsonMap = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoldState:
    """All that the fold of a session's state holds, to be kept and taken up again. Not to be changed."""

    draft: Draft
    arguments: dict[CallId, JsonMap]


class SessionFold:
    """What the functions behind `SessionState` work on."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.arguments: dict[CallId, JsonMap] = {}

    def kept(self) -> FoldState:
        """The state, for `taken_up`; as long as nothing is folded on."""
        return FoldState(self.draft, self.arguments)

    def spend(self, agent: AgentId, usage: Usage, cost: float | None) -> bool:
        """Add an agent's model call to the sums of session and turn, and to a delegate's own."""
        now = self.draft
        if agent in now.delegates:
            now.delegates[agent] = now.delegates[agent].spent(usage, cost)
        now.totals = _more(now.totals, usage, cost)
        now.turn_totals = _more(now.turn_totals, usage, cost)
        now.turn_cost_usd = now.turn_totals.cost_usd
        return True

    def taken_on(self, *fields: str) -> None:
        """These changes of a fork have been made, or others in their place."""
        if self.draft.forked is not None:
            bare = ForkChange()
            self.draft.forked = self.draft.forked.model_copy(
                update={name: getattr(bare, name) for name in fields}
            )

    def retask(self) -> bool:
        """The sub-task is the todo in progress, unless a delegate says its own."""
        working = next(reversed(self.draft.delegates.values()), None)
        current = (item.content for item in self.draft.todo if item.status == "in_progress")
        self.draft.subtask = working.task if working is not None else next(current, "")
        return True


def _more(totals: Totals, usage: Usage, cost: float | None) -> Totals:
    return Totals(
        input_tokens=totals.input_tokens + usage.input_tokens,
        output_tokens=totals.output_tokens + usage.output_tokens,
        cached_tokens=totals.cached_tokens + usage.cached_tokens,
        cost_usd=totals.cost_usd if cost is None else (totals.cost_usd or 0.0) + cost,
        model_calls=totals.model_calls + 1,
        tool_calls=totals.tool_calls,
    )
