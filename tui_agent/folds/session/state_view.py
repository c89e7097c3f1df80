"""The state of a session, for the engine's checks, agents and tools, and as JSON for other programs.

Invariant: all data is plain, picklable and derived from events.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.instructions import AgentInstructions
from tui_agent.folds.session.agents import DelegateState
from tui_agent.folds.session.changed_files import ChangedFile, unchanged_file
from tui_agent.folds.session.stale_test_results import NO_LATER_CHANGES, LaterChanges
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.instructions import InstructionFile, SkillRecord
from tui_agent.protocol.events.job import JobStarted
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
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, RunId
from tui_agent.protocol.parts import Content, ImageContent
from tui_agent.protocol.settings import AgentState, BudgetUse, SessionSettings
from tui_agent.protocol.stored_text import JsonMap, text_preview
from tui_agent.units import CostPrecision

COMPACTING_REASON = "summarising"
"""The reason shown for an agent while its history is compacted."""
RESTORING_REASON = "restoring"
"""The reason shown for an agent while compacted messages are restored."""
SERVERS_REASON = "waiting for MCP servers"
"""The reason shown for an agent while it waits for MCP servers."""
PROMPT_HOOKS_REASON = "before_prompt hook"
"""The reason shown while hooks check a message, before its turn starts."""
MENTIONS_REASON = "reading your mentions"
"""The reason shown while a message's mentioned files are read, before its turn starts."""
HOOKS_REASON = "before_tool hook"
"""The reason shown for an agent while hooks decide about one of its calls."""

STUCK_AFTER = 3
"""Number of equal calls in a row that makes `almost_stuck` True."""


def call_digest(name: str, arguments: JsonMap, content: Sequence[Content]) -> str:
    """Return a short digest of a call's name and arguments and of the first part of its result."""
    values = [name, arguments, [_content_digest(part) for part in content[:1]]]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _content_digest(part: Content) -> str:
    if isinstance(part, ImageContent):
        return part.blob_sha256
    if isinstance(part.text, str):
        return hashlib.sha256(part.text.encode("utf-8", "replace")).hexdigest()
    return part.text.blob_sha256


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of the newest answer that has no result yet."""

    call_id: CallId
    name: str
    agent: AgentId
    called: bool = False
    """True if `tool.called` was recorded."""
    started: bool = False
    """True if `tool.started` was recorded. The call can then have had side effects."""
    writes: bool = False
    waits_for_delegate: bool = False
    """True if a delegate will do the work of the call but has not started."""
    awaits_decision: bool = False
    """True if the user was asked for permission and has not answered, possibly in an earlier run."""
    delegate_files: tuple[ChangedFile, ...] = ()
    """The files that the call's delegates changed so far."""

    def with_delegate_change(self, change: FileChanged, seq: int) -> "OpenCall":
        """Return the call after one of its delegates changed a file in the event `seq`."""
        files = {file.path: file for file in self.delegate_files}
        files[change.path] = files.get(change.path, unchanged_file(change)).with_change(change, seq)
        return replace(self, delegate_files=tuple(files.values()))


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The newest known content of a file that the session read or wrote, as SHA-256.

    `complete`: False if only part of the file was read. `edited_digest`: content after the session's newest edit, if
    somebody else changed the file between the read and the edit.
    """

    digest: str
    complete: bool
    edited_digest: str = ""


@dataclass(frozen=True, slots=True)
class UncheckpointedChange:
    """The newest change of one path, with the change's time.

    `by_session`: True if the session made this change or an earlier change of the path.
    """

    change: FileChanged
    time: float
    by_session: bool


@dataclass(frozen=True, slots=True)
class SessionStateView:
    """The complete session state as of `seq`."""

    seq: int = -1
    workspace: str = ""
    is_fork: bool = False
    started_at: float | None = None
    """Time of the session's start."""
    title: str = ""
    titled_by: Literal["", "auto", "answer", "user"] = ""
    """The origin of the title, as in `session.titled` (empty: given at the session's start)."""
    run_id: RunId | None = None
    client: str = ""
    """The kind of client that controls the newest run."""
    allowed_tools: tuple[str, ...] | None = None
    """Names of the tools that agents can call; None for all tools."""
    without: tuple[str, ...] = ()
    """Tools and features that are turned off in the session, such as `tool:grep`."""
    settings: SessionSettings | None = None
    agent: AgentId = MAIN_AGENT
    agent_state: AgentState = AgentState.LOADING
    state_reason: str = ""
    phase: str = "idle"
    """The current stage on the screen's pipeline line: message, model, policy, tools, trace or idle."""
    root_task: str = ""
    subtask: str = ""
    subtask_id: int = 0
    """Number of the delegate that works on `subtask`. 0 for the main agent's own work."""
    turn: int = 0
    turn_running: bool = False
    turn_started_at: float | None = None
    turn_iterations: int = 0
    turn_denials: int = 0
    """Number of denied calls in the newest turn."""
    last_turn_end: TurnEnd | None = None
    last_turn_policy: str = ""
    """The policy at the end of the newest turn; empty before the first turn has ended."""
    head_moved: bool = False
    """True after a revert, undo, redo or fork, until the next turn starts. Queued messages wait until then."""
    shell_stopped: bool = False
    """True after the user stopped a `!` command, until the next turn starts. Queued messages wait until then."""
    shell: UserShellStarted | None = None
    """The user's running `!` command."""
    shell_started_at: float | None = None
    iteration: int = 0
    own_iteration: int = 0
    """Number of the current iteration. In a delegate's view, this is the delegate's iteration, otherwise the main
    agent's."""
    local_iteration: int = 0
    main_local_iteration: int = 0
    """The main agent's own iteration count. It does not change while a delegate works."""
    delegate_level: int = 0
    own_iteration_limit: int | None = None
    """Maximum number of the delegate's iterations, in a delegate's view."""
    parts: int = 0
    """Number of message parts so far: the index of the next part."""
    used: BudgetUse = field(default_factory=BudgetUse)
    """The used part of each budget."""
    undone: BudgetUse = field(default_factory=BudgetUse)
    """The part of `used` that was spent in undone turns, which are not on the current branch."""
    repeated_call: str = ""
    """Digest of the newest finished call and its result, see `call_digest`."""
    repeat_count: int = 0
    """Number of iterations in a row with the call and the result in `repeated_call`."""
    last_error: str = ""
    """The newest error message, from the engine, a model or a call."""
    session_context: str = ""
    """Summary of the earlier session that this session continues."""
    start_seq: int = 0
    """The event number (`seq`) at which the history of `agent` begins."""
    last_event: str = ""
    todo: tuple[TodoItem, ...] = ()
    queue: tuple[UserQueued, ...] = ()
    pending_prompt: UserMessageReceived | None = None
    """A recorded message that has not started a turn yet, e.g. because of a crash."""
    pending_steers: int = 0
    """Number of steering messages that no request has sent yet."""
    unmeasured_shell_chars: int = 0
    """Number of characters in the `!` commands and outputs that ran after the context was last measured."""
    open_calls: tuple[OpenCall, ...] = ()
    open_requests: tuple[RequestId, ...] = ()
    """Model requests without an answer."""
    delegates: tuple[DelegateState, ...] = ()
    """The running delegates."""
    delegate_count: int = 0
    """Number of delegates that were started, including those on abandoned branches."""
    permissions: tuple[PermissionRequested, ...] = ()
    """Permission requests that wait for the user."""
    questions: tuple[QuestionAsked, ...] = ()
    granted_rules: tuple[str, ...] = ()
    """Rules that the user allowed for this session."""
    read_files: dict[str, ReadFile] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    """The artifacts that `read_file` and `grep` can read, by id."""
    explored_paths: tuple[str, ...] = ()
    memory: JsonMap = field(default_factory=dict)
    """The working memory of the task: maps the name of a block to the block. Do not change the dict."""
    later_changes: LaterChanges = NO_LATER_CHANGES
    """The edits and stopped test runs since the newest finished test run."""
    mentioned_paths: tuple[str, ...] = ()
    """Paths mentioned in the message that started the newest turn. Paths of folders end in `/`."""
    has_repo_map: bool = False
    """True if the model's history contains a repository map."""
    map_delay_reason: str = ""
    """Reason why the repository map is not in the next request (empty: no map is missing)."""
    totals: UsageTotals = NO_USAGE
    """The model calls on the current branch."""
    turn_totals: UsageTotals = NO_USAGE
    """The model calls of the newest turn."""
    tool_calls: int = 0
    """Number of tool calls on the current branch."""
    jobs: tuple[JobStarted, ...] = ()
    """The running background jobs."""
    job_count: int = 0
    """Number of jobs started in the session, also on branches that were undone."""
    clean: bool = True
    """True if the newest run ended properly, or if no run has started."""
    commit: str = ""
    """Commit of the workspace's newest checkpoint."""
    uncheckpointed: dict[str, UncheckpointedChange] = field(default_factory=dict)
    """Maps each file that changed after the newest checkpoint to its newest change."""
    written_paths: tuple[str, ...] = ()
    """Every file that agents and their commands changed in this session, newest last."""
    removed_paths: dict[str, bool] = field(default_factory=dict)
    """Maps each removed file that does not exist now to True if agents or their commands had created it."""
    crash_time: float | None = None
    """Approximate time of a crash: the time of the last event before the crash.

    It is set only if the crash interrupted a call that may have changed files. A checkpoint resets it to None.
    """
    environment: str = ""
    """The name of the environment in which commands run."""
    environment_details: str = ""
    sandbox: str = ""
    """The sandbox of this run's commands. Empty without a sandbox; `no_sandbox_reason` then says why."""
    no_sandbox_reason: str = ""
    exposed_variables: tuple[str, ...] = ()
    """Names of the secret environment variables that commands can read."""
    fork_changes: ForkChange | None = None
    """The changes of a fork that are not applied yet (None after a turn has started)."""
    agent_instructions: AgentInstructions = field(default_factory=AgentInstructions)
    skills: tuple[SkillRecord, ...] = ()
    commands: Mapping[str, tuple[OfferedCommand, ...]] = field(default_factory=dict)
    """The slash commands that run in the engine, by owner (such as a plugin)."""
    extra: JsonMap = field(default_factory=dict)
    """The values that each plugin stored with a `plugin.event` named `state`, by the plugin's name."""

    @property
    def cost_usd(self) -> float | None:
        """The session's cost in USD, including undone turns (None: no price is known)."""
        return self.usage.cost_usd

    @property
    def cost_precision(self) -> CostPrecision:
        """The precision of `cost_usd`."""
        return self.usage.cost_precision

    @property
    def usage(self) -> UsageTotals:
        """The tokens and the cost of all requests of the session, including those of undone turns."""
        return self.totals.with_totals(UsageTotals.from_budget(self.undone))

    @property
    def turn_cost_usd(self) -> float | None:
        """The cost of the newest turn in USD. None if no price is known."""
        return self.turn_totals.cost_usd

    @property
    def almost_stuck(self) -> bool:
        """True if at least the last `STUCK_AFTER` calls were equal and had equal results."""
        return self.repeat_count >= STUCK_AFTER

    @property
    def open_questions(self) -> tuple[str, ...]:
        """The texts of the questions that wait for an answer."""
        return tuple(text_preview(question.text) for question in self.questions)

    @property
    def is_busy(self) -> bool:
        """True while a turn, its preparation, a user's command or a compaction runs."""
        return (
            self.turn_running
            or self.shell is not None
            or self.is_compacting
            or self.is_preparing
            or bool(self.running_command)
        )

    @property
    def running_command(self) -> str:
        """The slash command that runs in the engine outside a turn, such as `/standup`. Empty if none runs."""
        name = self.state_reason if self.state_reason.startswith("/") else ""
        return name if self._runs_without_turn(name) else ""

    @property
    def is_compacting(self) -> bool:
        """True while the history is compacted or restored for the user."""
        return self._runs_without_turn(COMPACTING_REASON, RESTORING_REASON)

    @property
    def is_preparing(self) -> bool:
        """True while a message waits for hooks or mentioned files before its turn begins."""
        return self._runs_without_turn(PROMPT_HOOKS_REASON, MENTIONS_REASON)

    def _runs_without_turn(self, *reasons: str) -> bool:
        is_running = self.agent_state is AgentState.RUNNING and not self.turn_running
        return is_running and self.state_reason in reasons

    @property
    def instructions(self) -> tuple[InstructionFile, ...]:
        """The agent's instruction files, outermost folder first."""
        return self.agent_instructions.files

    @property
    def instruction_notes(self) -> tuple[str, ...]:
        """Notes that say which instructions were left out, and why."""
        return self.agent_instructions.notes

    @property
    def asks_before_acting(self) -> bool:
        """True if the user is asked before writes and commands."""
        return self.settings is not None and self.settings.policy in ("ask", "plan")

    def view_for_agent(self, agent: AgentId) -> "SessionStateView":
        """Return the session as this agent sees it, for example with the agent's own task and iterations."""
        delegate = next((candidate for candidate in self.delegates if candidate.agent == agent), None)
        if delegate is None and agent == MAIN_AGENT != self.agent:
            return replace(
                self,
                agent=agent,
                local_iteration=self.main_local_iteration,
                delegate_level=0,
                start_seq=0,
                subtask=own_subtask(self.todo, self.root_task),
                subtask_id=0,
            )
        if delegate is None or self.settings is None:
            return self
        changed = {
            "model": delegate.model,
            "policy": delegate.policy or self.settings.policy,
            "agent": "default",
        }
        return replace(
            self,
            agent=agent,
            settings=self.settings.model_copy(update=changed),
            subtask=delegate.task,
            subtask_id=delegate.number,
            own_iteration=delegate.iteration,
            local_iteration=delegate.local_iteration,
            delegate_level=delegate.level,
            own_iteration_limit=delegate.max_iterations,
            start_seq=delegate.start_seq,
            session_context="",
            agent_instructions=delegate.instructions,
            pending_steers=0,
            todo=(),
        )


def own_subtask(todo: Sequence[TodoItem], root_task: str) -> str:
    """Return the todo item in progress, or the whole task if no item is in progress."""
    return next((item.content for item in todo if item.status == "in_progress"), root_task)


@cache
def _adapter() -> TypeAdapter[SessionStateView]:
    return TypeAdapter(SessionStateView)


def state_to_json(state: SessionStateView) -> JsonMap:
    """Return the state as a JSON object, with all fields and some derived values."""
    plain: JsonMap = _adapter().dump_python(state, mode="json")
    budgets = state.settings.budgets.model_dump(mode="json") if state.settings is not None else {}
    plain |= {name: getattr(state, name) for name in ("almost_stuck", "turn_cost_usd")}
    plain["open_questions"] = list(state.open_questions)
    plain["confirmation_mode"] = state.asks_before_acting
    plain["budget"] = {**budgets, "used": state.used.model_dump()}
    plain["file_summaries"] = {
        path: f"{'fully read' if read_file.complete else 'partly read'}, content {read_file.digest[:12]}"
        for path, read_file in state.read_files.items()
    }
    return plain
