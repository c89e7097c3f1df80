"""The mutable state behind `SessionStateView`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tui_agent.folds.context.instructions import AgentInstructions
from tui_agent.folds.session.agents import DelegateState
from tui_agent.folds.session.stale_test_results import NO_LATER_CHANGES, LaterChanges
from tui_agent.folds.session.state_view import OpenCall, ReadFile, UncheckpointedChange, own_subtask
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.instructions import SkillRecord
from tui_agent.protocol.events.job import JobStarted
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.events.slash_command import OfferedCommand
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.events.turn import (
    QuestionAsked,
    TurnEnd,
    UserMessageReceived,
    UserQueued,
    UserShellStarted,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, JobId, RequestId, RunId
from tui_agent.protocol.settings import AgentState, BudgetUse, SessionSettings
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import combine_precision


@dataclass(slots=True)
class Draft:
    """The fields of `SessionStateView` while they change, for the handlers and for a snapshot."""

    seq: int = -1
    workspace: str = ""
    is_fork: bool = False
    started_at: float | None = None
    title: str = ""
    titled_by: Literal["", "auto", "answer", "user"] = ""
    run_id: RunId | None = None
    client: str = ""
    allowed_tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    settings: SessionSettings | None = None
    agent: AgentId = MAIN_AGENT
    agent_state: AgentState = AgentState.LOADING
    state_reason: str = ""
    phase: str = "idle"
    root_task: str = ""
    subtask: str = ""
    subtask_id: int = 0
    turn: int = 0
    turn_running: bool = False
    turn_started_at: float | None = None
    turn_iterations: int = 0
    turn_denials: int = 0
    last_turn_end: TurnEnd | None = None
    last_turn_policy: str = ""
    head_moved: bool = False
    shell_stopped: bool = False
    shell: UserShellStarted | None = None
    shell_started_at: float | None = None
    iteration: int = 0
    own_iteration: int = 0
    local_iteration: int = 0
    delegate_level: int = 0
    own_iteration_limit: int | None = None
    parts: int = 0
    used: BudgetUse = field(default_factory=BudgetUse)
    undone: BudgetUse = field(default_factory=BudgetUse)
    repeated_call: str = ""
    repeat_count: int = 0
    repeat_iteration: int = 0
    """Number of the newest call's iteration."""
    last_error: str = ""
    session_context: str = ""
    start_seq: int = 0
    last_event: str = ""
    todo: tuple[TodoItem, ...] = ()
    queue: dict[RequestId, UserQueued] = field(default_factory=dict)
    pending_prompt: UserMessageReceived | None = None
    pending_steers: int = 0
    unmeasured_shell_chars: int = 0
    open_calls: dict[CallId, OpenCall] = field(default_factory=dict)
    open_requests: dict[RequestId, AgentId] = field(default_factory=dict)
    """Maps the id of each unanswered model request to an agent. The request counts towards this agent's budget."""
    delegates: dict[AgentId, DelegateState] = field(default_factory=dict)
    delegate_count: int = 0
    main_local_iteration: int = 0
    """The main agent's own iteration count. It does not change while a delegate works."""
    permissions: dict[CallId, PermissionRequested] = field(default_factory=dict)
    questions: dict[RequestId, QuestionAsked] = field(default_factory=dict)
    granted_rules: dict[str, None] = field(default_factory=dict)
    read_files: dict[str, ReadFile] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    explored_paths: dict[str, None] = field(default_factory=dict)
    memory: JsonMap = field(default_factory=dict)
    later_changes: LaterChanges = NO_LATER_CHANGES
    mentioned_paths: tuple[str, ...] = ()
    has_repo_map: bool = False
    map_delay_reason: str = ""
    totals: UsageTotals = NO_USAGE
    turn_totals: UsageTotals = NO_USAGE
    tool_calls: int = 0
    jobs: dict[JobId, JobStarted] = field(default_factory=dict)
    job_count: int = 0
    clean: bool = True
    commit: str = ""
    uncheckpointed: dict[str, UncheckpointedChange] = field(default_factory=dict)
    written_paths: dict[str, bool] = field(default_factory=dict)
    """Maps each file changed by agents or their commands to True if an agent created it. The newest file comes last."""
    removed_paths: dict[str, bool] = field(default_factory=dict)
    """Maps each removed file that does not exist now to True if agents or their commands had created it."""
    crash_time: float | None = None
    last_event_time: float = 0.0
    """Time of the newest event, in seconds since the epoch. Events that repair the log are ignored."""
    environment: str = ""
    environment_details: str = ""
    sandbox: str = ""
    no_sandbox_reason: str = ""
    exposed_variables: tuple[str, ...] = ()
    fork_changes: ForkChange | None = None
    agent_instructions: AgentInstructions = field(default_factory=AgentInstructions)
    skills: tuple[SkillRecord, ...] = ()
    commands: Mapping[str, tuple[OfferedCommand, ...]] = field(default_factory=dict)
    extra: JsonMap = field(default_factory=dict)
    arguments: dict[CallId, JsonMap] = field(default_factory=dict)
    """The arguments of each call without a result, by call id."""

    def add_usage(self, agent: AgentId, end: ModelResponded | ModelFailed) -> None:
        """Add a model call of an agent to the totals of the session, the turn and the delegate."""
        if agent in self.delegates:
            self.delegates[agent] = self.delegates[agent].with_call(end)
        self.totals, self.turn_totals = self.totals.with_call(end), self.turn_totals.with_call(end)
        spent = UsageTotals.from_budget(self.used).with_call(end)
        self.used = self.used.model_copy(
            update={
                "input_tokens": spent.input_tokens,
                "cached_tokens": spent.cached_tokens,
                "output_tokens": spent.output_tokens,
                "cost_usd": spent.cost_usd or 0.0,
                "cost_precision": spent.cost_precision,
            }
        )

    def count_parts(self, count: int) -> None:
        """Set the session's number of parts to `count`, unless the current number is larger."""
        self.use_budget(parts=max(0, count - self.parts))
        self.parts = max(self.parts, count)

    def use_budget(
        self, *, parts: int = 0, iterations: int = 0, turns: int = 0, seconds: float = 0.0
    ) -> None:
        """Add these values to the used part of the session's budgets."""
        used = self.used
        self.used = used.model_copy(
            update={
                "parts": used.parts + parts,
                "iterations": used.iterations + iterations,
                "turns": used.turns + turns,
                "seconds": used.seconds + seconds,
            }
        )

    def move_head(self, used: BudgetUse) -> None:
        """Update the used budgets after a move to an earlier event.

        `used`: the used part of each budget, including the undone work. The undone part is also added to `undone`.
        """
        # An amount in `used` can also be smaller, because the budgets of a fork begin at zero.
        undone, on_branch = self.undone, self.used
        amounts = {
            name: getattr(undone, name) + max(0, getattr(used, name) - getattr(on_branch, name))
            for name in BudgetUse.model_fields
            if name != "cost_precision"
        }
        precision = combine_precision(undone.cost_precision, used.cost_precision)
        self.undone, self.used = BudgetUse(**amounts, cost_precision=precision), used

    def clear_fork_changes(self, *fields: str) -> None:
        """Remove these fields from the fork's changes, because the changes were applied or replaced."""
        if self.fork_changes is not None:
            defaults = ForkChange()
            self.fork_changes = self.fork_changes.model_copy(
                update={name: getattr(defaults, name) for name in fields}
            )

    def update_subtask(self) -> None:
        """Set the current subtask: the newest delegate's task, or the main agent's own work (id 0) if no delegate runs."""
        delegate = next(reversed(self.delegates.values()), None)
        self.subtask_id = delegate.number if delegate is not None else 0
        self.subtask = delegate.task if delegate is not None else own_subtask(self.todo, self.root_task)
