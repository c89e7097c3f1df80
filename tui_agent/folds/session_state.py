"""L1: the fold behind `SessionStateView`.

Invariant: the state after a log's last event is the state from which the engine goes on, in this run or the next.
"""

from dataclasses import dataclass, field, fields, replace

from pydantic import ValidationError

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session_view import OpenCall, ReadFile, SessionStateView, Totals, call_digest
from tui_agent.protocol.base import JsonMap, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged, FileRead
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import (
    ErrorRaised,
    RunFinished,
    RunResumed,
    RunStarted,
    SessionContextLoaded,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
)
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserShellFinished,
    UserShellStarted,
    UserSteered,
    UserUnqueued,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, RunId
from tui_agent.protocol.parts import TextContent, ToolCallPart, Usage
from tui_agent.protocol.settings import AgentState, SessionSettings

__all__ = ["OpenCall", "ReadFile", "SessionState", "SessionStateView", "Totals", "call_digest"]

STUCK_AFTER = 3
"""Equal calls in a row from which on the agent counts as almost stuck."""


@dataclass(slots=True)
class _Draft:
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
    shell: UserShellStarted | None = None
    shell_started_at: float | None = None
    iteration: int = 0
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
    open_requests: dict[RequestId, None] = field(default_factory=dict)
    permissions: dict[CallId, PermissionRequested] = field(default_factory=dict)
    questions: dict[RequestId, QuestionAsked] = field(default_factory=dict)
    granted: dict[str, None] = field(default_factory=dict)
    read_files: dict[str, ReadFile] = field(default_factory=dict)
    explored: dict[str, None] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    turn_totals: Totals = field(default_factory=Totals)
    clean: bool = True
    commit: str = ""
    extra: JsonMap = field(default_factory=dict)


_SAME = tuple(
    name
    for name in (item.name for item in fields(_Draft))
    if name not in ("queue", "open_calls", "open_requests", "permissions", "questions", "granted", "explored")
    and name not in ("read_files", "extra")
)


class SessionState:
    """Folds everything that commands are checked against."""

    def __init__(self) -> None:
        self.draft = _Draft()
        self.arguments: dict[CallId, JsonMap] = {}
        self.starts: dict[AgentId, int] = {}
        self._view: SessionStateView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Take one event in. Always True: `seq` and `last_event` change with every event."""
        self.draft.seq = ev.seq
        self.draft.last_event = ev.payload.kind
        _ON.apply(self, ev)
        self._view = None
        return True

    def view(self) -> SessionStateView:
        """The state as of the last event; built when asked for."""
        if self._view is None:
            now = self.draft
            self._view = SessionStateView(
                **{name: getattr(now, name) for name in _SAME},
                queue=tuple(now.queue.values()),
                open_calls=tuple(now.open_calls.values()),
                open_requests=tuple(now.open_requests),
                permissions=tuple(now.permissions.values()),
                questions=tuple(now.questions.values()),
                open_questions=tuple(text_preview(question.text) for question in now.questions.values()),
                granted=tuple(now.granted),
                explored=tuple(now.explored),
                read_files=dict(now.read_files),
                extra=dict(now.extra),
            )
        return self._view

    def spend(self, usage: Usage, cost: float | None) -> bool:
        """Add a model call to the sums of session and turn."""
        now = self.draft
        now.totals = _more(now.totals, usage, cost)
        now.turn_totals = _more(now.turn_totals, usage, cost)
        now.turn_cost_usd = now.turn_totals.cost_usd
        return True

    def retask(self) -> bool:
        """The sub-task is the todo in progress, unless a delegate says its own."""
        current = (item.content for item in self.draft.todo if item.status == "in_progress")
        self.draft.subtask = next(current, "")
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


_ON: Handlers[SessionState] = Handlers()


@_ON.on(SessionStarted)
def _started(fold: SessionState, ev: Envelope, payload: SessionStarted) -> bool:
    now = fold.draft
    now.workspace, now.settings, now.title = payload.workspace, payload.settings, payload.title
    return True


@_ON.on(SessionForked)
def _forked(fold: SessionState, ev: Envelope, payload: SessionForked) -> bool:
    """A fork may work in a folder of its own."""
    workspace = payload.changed.get("workspace")
    if isinstance(workspace, str):
        fold.draft.workspace = workspace
    return True


@_ON.on(SessionTitled)
def _titled(fold: SessionState, ev: Envelope, payload: SessionTitled) -> bool:
    fold.draft.title = payload.title
    return True


@_ON.on(SettingsChanged)
def _settings(fold: SessionState, ev: Envelope, payload: SettingsChanged) -> bool:
    now = fold.draft
    if now.settings is None:
        return False
    plain = now.settings.model_dump(mode="json") | {payload.key: payload.value}
    try:
        now.settings = SessionSettings.model_validate(plain)
    except ValidationError:  # a value of another version: the one before stays
        return False
    return True


@_ON.on(RunStarted)
def _run_started(fold: SessionState, ev: Envelope, payload: RunStarted) -> bool:
    fold.draft.run_id, fold.draft.clean = payload.run_id, False
    return True


@_ON.on(RunResumed)
def _run_resumed(fold: SessionState, ev: Envelope, payload: RunResumed) -> bool:
    fold.draft.run_id, fold.draft.clean = payload.run_id, False
    return True


@_ON.on(RunFinished)
def _run_finished(fold: SessionState, ev: Envelope, payload: RunFinished) -> bool:
    fold.draft.clean, fold.draft.phase = True, "idle"
    return True


@_ON.on(SessionHeadMoved)
def _moved(fold: SessionState, ev: Envelope, payload: SessionHeadMoved) -> bool:
    """Back at an earlier state; what was counted goes on, and what waited then waits until someone says so."""
    now = fold.draft
    now.parts, now.turn = max(now.parts, payload.parts), max(now.turn, payload.turn)
    now.iteration = max(now.iteration, payload.iteration)
    now.run_id, now.clean, now.pending_prompt = payload.run_id or now.run_id, False, None
    if not now.turn_running:
        now.last_turn_end, now.phase = "interrupted", "idle"
    return True


@_ON.on(CheckpointTaken)
def _checkpoint(fold: SessionState, ev: Envelope, payload: CheckpointTaken) -> bool:
    fold.draft.commit = payload.commit
    return True


@_ON.on(CheckpointRestored)
def _restored(fold: SessionState, ev: Envelope, payload: CheckpointRestored) -> bool:
    fold.draft.commit = payload.commit
    return True


@_ON.on(SessionContextLoaded)
def _context_loaded(fold: SessionState, ev: Envelope, payload: SessionContextLoaded) -> bool:
    fold.draft.session_context = text_preview(payload.summary)
    return True


@_ON.on(ErrorRaised)
def _error(fold: SessionState, ev: Envelope, payload: ErrorRaised) -> bool:
    fold.draft.last_error = payload.message
    return True


@_ON.on(UserMessageReceived)
def _message(fold: SessionState, ev: Envelope, payload: UserMessageReceived) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    now = fold.draft
    now.pending_prompt, now.root_task, now.phase = payload, text_preview(payload.text), "message"
    if payload.queue_id is not None:
        now.queue.pop(payload.queue_id, None)
    return True


@_ON.on(UserQueued)
def _queued(fold: SessionState, ev: Envelope, payload: UserQueued) -> bool:
    fold.draft.queue[payload.queue_id] = payload
    return True


@_ON.on(UserUnqueued)
def _unqueued(fold: SessionState, ev: Envelope, payload: UserUnqueued) -> bool:
    return fold.draft.queue.pop(payload.queue_id, None) is not None


@_ON.on(UserSteered)
def _steered(fold: SessionState, ev: Envelope, payload: UserSteered) -> bool:
    fold.draft.steers += 1
    return True


@_ON.on(UserShellStarted)
def _shell_started(fold: SessionState, ev: Envelope, payload: UserShellStarted) -> bool:
    fold.draft.shell, fold.draft.shell_started_at = payload, ev.at
    return True


@_ON.on(UserShellFinished)
def _shell_finished(fold: SessionState, ev: Envelope, payload: UserShellFinished) -> bool:
    fold.draft.shell = fold.draft.shell_started_at = None
    return True


@_ON.on(TurnStarted)
def _turn_started(fold: SessionState, ev: Envelope, payload: TurnStarted) -> bool:
    now = fold.draft
    now.turn, now.turn_running, now.turn_started_at = payload.turn, True, ev.at
    now.turn_start_part, now.turn_iterations, now.turn_cost_usd = now.parts, 0, None
    now.turn_totals, now.pending_prompt = Totals(), None
    now.repeated_call, now.repeats, now.almost_stuck = "", 0, False
    return True


@_ON.on(TurnFinished)
def _turn_finished(fold: SessionState, ev: Envelope, payload: TurnFinished) -> bool:
    now = fold.draft
    now.turn_running, now.last_turn_end, now.phase = False, payload.reason, "idle"
    now.agent, now.delegate_level, now.start_seq = MAIN_AGENT, 0, 0
    now.permissions.clear()
    now.questions.clear()
    now.open_requests.clear()
    return True


@_ON.on(IterationStarted)
def _iteration(fold: SessionState, ev: Envelope, payload: IterationStarted) -> bool:
    now = fold.draft
    now.iteration, now.local_iteration = payload.iteration, payload.local_iteration
    now.agent, now.delegate_level = ev.agent, payload.delegate_level
    now.start_seq = fold.starts.get(ev.agent, 0)
    now.turn_iterations += payload.delegate_level == 0
    return True


@_ON.on(IterationFinished)
def _iteration_finished(fold: SessionState, ev: Envelope, payload: IterationFinished) -> bool:
    fold.draft.phase = "trace"
    return True


@_ON.on(QuestionAsked)
def _asked(fold: SessionState, ev: Envelope, payload: QuestionAsked) -> bool:
    fold.draft.questions[payload.question_id] = payload
    return True


@_ON.on(QuestionAnswered)
def _answered(fold: SessionState, ev: Envelope, payload: QuestionAnswered) -> bool:
    return fold.draft.questions.pop(payload.question_id, None) is not None


@_ON.on(ModelRequested)
def _requested(fold: SessionState, ev: Envelope, payload: ModelRequested) -> bool:
    now = fold.draft
    now.open_requests[payload.request_id] = None
    now.phase = "model"
    if ev.agent == MAIN_AGENT:
        now.steers = 0
    return True


@_ON.on(ModelResponded)
def _responded(fold: SessionState, ev: Envelope, payload: ModelResponded) -> bool:
    now = fold.draft
    now.open_requests.pop(payload.request_id, None)
    now.parts = max(now.parts, payload.first_part + len(payload.parts))
    for part in payload.parts:
        if isinstance(part, ToolCallPart):
            fold.arguments[part.call_id] = part.arguments
            now.open_calls[part.call_id] = OpenCall(part.call_id, part.name, ev.agent, False, False, False)
    return payload.author == "agent" or fold.spend(payload.usage, payload.cost_usd)


@_ON.on(ModelFailed)
def _failed(fold: SessionState, ev: Envelope, payload: ModelFailed) -> bool:
    fold.draft.open_requests.pop(payload.request_id, None)
    if payload.fault != "cancelled":
        fold.draft.last_error = payload.message
    return fold.spend(payload.usage, payload.cost_usd)


@_ON.on(ToolCalled)
def _called(fold: SessionState, ev: Envelope, payload: ToolCalled) -> bool:
    now = fold.draft
    fold.arguments[payload.call_id] = payload.arguments
    now.open_calls[payload.call_id] = OpenCall(
        payload.call_id, payload.name, ev.agent, called=True, started=False, writes=False
    )
    now.totals = replace(now.totals, tool_calls=now.totals.tool_calls + 1)
    now.turn_totals = replace(now.turn_totals, tool_calls=now.turn_totals.tool_calls + 1)
    return True


@_ON.on(ToolStarted)
def _tool_started(fold: SessionState, ev: Envelope, payload: ToolStarted) -> bool:
    now = fold.draft
    now.phase = "tools"
    call = now.open_calls.get(payload.call_id)
    if call is not None:
        now.open_calls[payload.call_id] = replace(call, started=True, writes=payload.writes)
    return True


@_ON.on(ToolFinished)
def _tool_finished(fold: SessionState, ev: Envelope, payload: ToolFinished) -> bool:
    now = fold.draft
    now.open_calls.pop(payload.call_id, None)
    now.permissions.pop(payload.call_id, None)
    if payload.part is not None:
        now.parts = max(now.parts, payload.part + 1)
    if payload.status in ("failed", "invalid", "lost"):
        now.last_error = _what_failed(payload)
    digest = call_digest(payload.name, fold.arguments.pop(payload.call_id, {}), payload.content)
    now.repeats = now.repeats + 1 if digest == now.repeated_call else 1
    now.repeated_call, now.almost_stuck = digest, now.repeats >= STUCK_AFTER
    return True


def _what_failed(payload: ToolFinished) -> str:
    """The call, and the words that the model was told, as far as the log line holds them."""
    texts = (text_preview(piece.text) for piece in payload.content if isinstance(piece, TextContent))
    return f"{payload.name}: {next(texts, payload.summary)}"


@_ON.on(PermissionRequested)
def _permission(fold: SessionState, ev: Envelope, payload: PermissionRequested) -> bool:
    fold.draft.permissions[payload.call_id] = payload
    fold.draft.phase = "policy"
    return True


@_ON.on(PermissionDecided)
def _decided(fold: SessionState, ev: Envelope, payload: PermissionDecided) -> bool:
    fold.draft.permissions.pop(payload.call_id, None)
    fold.draft.phase = "policy"
    if payload.decision == "allow" and payload.rule and payload.reach != "once":
        fold.draft.granted[payload.rule] = None
    return True


@_ON.on(FileRead)
def _read(fold: SessionState, ev: Envelope, payload: FileRead) -> bool:
    now = fold.draft
    now.explored[payload.path] = None
    known = now.read_files.get(payload.path)
    seen_whole = known is not None and known.whole and known.digest == payload.digest
    now.read_files[payload.path] = ReadFile(payload.digest, payload.whole or seen_whole)
    return True


@_ON.on(FileChanged)
def _changed(fold: SessionState, ev: Envelope, payload: FileChanged) -> bool:
    """Only what the agent wrote is known to it: after another author's change its reading is out of date."""
    now = fold.draft
    if payload.after is None:
        return now.read_files.pop(payload.path, None) is not None
    if payload.author != "agent":
        return False
    known = now.read_files.get(payload.path)
    whole = payload.before is None or (known is not None and known.whole)
    now.read_files[payload.path] = ReadFile(payload.after, whole)
    return True


@_ON.on(AgentSpawned)
def _spawned(fold: SessionState, ev: Envelope, payload: AgentSpawned) -> bool:
    now = fold.draft
    now.subtask, now.agent, now.delegate_level = (
        text_preview(payload.task),
        ev.agent,
        payload.delegate_level,
    )
    fold.starts[ev.agent] = ev.seq
    now.start_seq = ev.seq
    return True


@_ON.on(AgentStateChanged)
def _state(fold: SessionState, ev: Envelope, payload: AgentStateChanged) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold.draft.agent_state, fold.draft.state_reason = payload.state, payload.reason
    return True


@_ON.on(AgentFinished)
def _agent_finished(fold: SessionState, ev: Envelope, payload: AgentFinished) -> bool:
    now = fold.draft
    now.agent, now.delegate_level, now.start_seq = MAIN_AGENT, 0, 0
    fold.starts.pop(ev.agent, None)
    return fold.retask()


@_ON.on(TodoUpdated)
def _todo(fold: SessionState, ev: Envelope, payload: TodoUpdated) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold.draft.todo = payload.items
    return fold.retask()


@_ON.on(PluginEvent)
def _plugin(fold: SessionState, ev: Envelope, payload: PluginEvent) -> bool:
    if payload.name != "state":
        return False
    fold.draft.extra[payload.plugin] = payload.data
    return True
