"""The state of a session, which commands are checked against and agents and tools are given.

Invariant: plain and picklable; everything in it comes from events.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui_agent.folds.context.instructions import Instructed
from tui_agent.folds.session.delegates import DelegateState
from tui_agent.folds.session.uncheckpointed_changes import ToldChange
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.instructions import InstructionFile, SkillRecord
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
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, RunId
from tui_agent.protocol.parts import Content, ImageContent
from tui_agent.protocol.settings import AgentState, SessionSettings

COMPACTING = "summarising"
"""Why an agent runs whose history is being made smaller."""
BRINGING_BACK = "bringing back"
"""Why it runs while what a summary stands for comes back."""


def call_digest(name: str, arguments: JsonMap, content: Sequence[Content]) -> str:
    """A short digest of what was called and what came of it; equal for a call that only repeats.

    Of the content only the first piece counts (notes may follow it), a kept text by its digest.
    """
    plain = [name, arguments, [_content_digest(piece) for piece in content[:1]]]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _content_digest(piece: Content) -> str:
    if isinstance(piece, ImageContent):
        return piece.blob_sha256
    if isinstance(piece.text, str):
        return hashlib.sha256(piece.text.encode("utf-8", "replace")).hexdigest()
    return piece.text.blob_sha256


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of the newest answer that has no result yet."""

    call_id: CallId
    name: str
    agent: AgentId
    called: bool
    """tool.called was recorded."""
    started: bool
    """tool.started was recorded: its side effects may have happened."""
    writes: bool
    waits: bool = False
    """It hands its work to a delegate, which has not begun."""
    asked: bool = False
    """The user was asked about it and has not decided, in this run or in one that is gone."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The newest known content of a file that the session has read or written: its digest and whether all was seen."""

    digest: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the session. Cost is None as long as no call had a known price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    model_calls: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class SessionStateView:
    """The whole state, as of `seq`."""

    seq: int = -1
    workspace: str = ""
    title: str = ""
    run_id: RunId | None = None
    settings: SessionSettings | None = None
    agent: AgentId = MAIN_AGENT
    agent_state: AgentState = AgentState.LOADING
    state_reason: str = ""
    phase: str = "idle"
    """message, model, policy, tools, trace or idle: the lit stage of the pipeline line."""
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
    """Here by a revert, an undo, a redo or as a fork, and no turn began since: nothing failed and nothing was stopped, but
    what is queued waits until someone says so."""
    shell: UserShellStarted | None = None
    """The user's own command that runs now."""
    shell_started_at: float | None = None
    iteration: int = 0
    own_iteration: int = 0
    """The iteration that the main agent, or the delegate whose view this is, is in; delegates side by side are in several."""
    local_iteration: int = 0
    main_local: int = 0
    """The main agent's own count of iterations, whoever works now."""
    delegate_level: int = 0
    parts: int = 0
    """How many parts there are; the next part's index."""
    repeated_call: str = ""
    """A digest of the newest finished call's name, arguments and result content (`call_digest`)."""
    repeats: int = 0
    """How many calls in a row had that digest."""
    almost_stuck: bool = False
    """`repeats` has reached 3."""
    last_error: str = ""
    """What failed last: an engine's fault, a model's, or a call with the words that the model was told."""
    session_context: str = ""
    """What was taken over from an earlier session."""
    start_seq: int = 0
    """Where the history of `agent` begins in the log; it ends at `seq`."""
    last_event: str = ""
    todo: tuple[TodoItem, ...] = ()
    queue: tuple[UserQueued, ...] = ()
    pending_prompt: UserMessageReceived | None = None
    """A message that is recorded but whose turn has not begun (a crash in between)."""
    steers: int = 0
    """Steering messages that no request has carried yet."""
    open_calls: tuple[OpenCall, ...] = ()
    open_requests: tuple[RequestId, ...] = ()
    """Model requests without an answer."""
    delegates: tuple[DelegateState, ...] = ()
    """The delegates that work."""
    agents_begun: int = 0
    """How many delegates there were, on all branches that this one knows of."""
    permissions: tuple[PermissionRequested, ...] = ()
    """Questions that wait for a decision."""
    questions: tuple[QuestionAsked, ...] = ()
    granted: tuple[str, ...] = ()
    """Rules allowed for this session."""
    read_files: dict[str, ReadFile] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    """What `read_artifact` can read, by id."""
    explored: tuple[str, ...] = ()
    memory: JsonMap = field(default_factory=dict)
    """The task's working memory: blocks by name. Not to be changed."""
    mentioned: tuple[str, ...] = ()
    """Paths that the message which began the newest turn mentions; folders end in `/`."""
    mapped: bool = False
    """A map of the repository stands in the model's history."""
    map_late: str = ""
    """Why the next request has none, though one is wanted."""
    open_questions: tuple[str, ...] = ()
    totals: Totals = Totals()
    turn_totals: Totals = Totals()
    jobs: tuple[JobStarted, ...] = ()
    """The background jobs that run."""
    jobs_begun: int = 0
    """How many there were on this branch."""
    clean: bool = True
    """The newest run finished in order (or none has begun)."""
    commit: str = ""
    """The newest checkpoint of the workspace; empty before the first."""
    unkept: dict[str, ToldChange] = field(default_factory=dict)
    """What was told since then of files, by path."""
    written: tuple[str, ...] = ()
    """Every file that agents and their commands changed in this session, the newest last."""
    lost_at: float | None = None
    """When the newest event was of a run that ended in a call that writes; None once a checkpoint was taken since."""
    sandbox: str = ""
    """What confines the commands of this run; empty where nothing does (`sandbox_why_not` says why, once it is known)."""
    sandbox_why_not: str = ""
    variables: tuple[str, ...] = ()
    """Those with secrets that commands are shown all the same."""
    forked: ForkChange | None = None
    """The session was forked here and no turn began since: what of the fork's changes is still to be made."""
    instructed: Instructed = field(default_factory=Instructed)
    skills: tuple[SkillRecord, ...] = ()
    extra: JsonMap = field(default_factory=dict)
    """A plugin's task-specific values: plugin.event named `state`, by plugin."""

    @property
    def busy(self) -> bool:
        """A turn runs, a command of the user's own, or a compaction: a message waits, Esc stops it."""
        return self.turn_running or self.shell is not None or self.compacting

    @property
    def compacting(self) -> bool:
        """The history is being summarised at the user's wish, or some of it brought back; a message waits, Esc stops it."""
        return (
            not self.turn_running
            and self.agent_state is AgentState.RUNNING
            and self.state_reason in (COMPACTING, BRINGING_BACK)
        )

    @property
    def instructions(self) -> tuple[InstructionFile, ...]:
        """The files of instructions that the agent has, the farthest first."""
        return self.instructed.files

    @property
    def instruction_notes(self) -> tuple[str, ...]:
        """What of them was left out, and why."""
        return self.instructed.notes

    @property
    def confirmation_mode(self) -> bool:
        """Whether writes and commands ask first."""
        return self.settings is not None and self.settings.policy in ("ask", "plan")

    def seen_by(self, agent: AgentId) -> "SessionStateView":
        """The session as this agent has it: a delegate its own task, model, policy, instructions, and count and limit of
        iterations; the main agent its own place while delegates work."""
        one = next((each for each in self.delegates if each.agent == agent), None)
        if one is None and agent == MAIN_AGENT != self.agent:
            return replace(
                self, agent=agent, local_iteration=self.main_local, delegate_level=0, start_seq=0, subtask=""
            )
        if one is None or self.settings is None:
            return self
        changed = {
            "model": one.model,
            "policy": one.policy or self.settings.policy,
            "agent": "default",
            "budgets": self.settings.budgets.model_copy(update={"max_iterations": one.max_iterations}),
        }
        return replace(
            self,
            agent=agent,
            settings=self.settings.model_copy(update=changed),
            subtask=one.task,
            own_iteration=one.iteration,
            local_iteration=one.local_iteration,
            delegate_level=one.level,
            turn_iterations=one.local_iteration,
            start_seq=one.start_seq,
            session_context="",
            instructed=one.instructed,
            steers=0,
            todo=(),
        )
