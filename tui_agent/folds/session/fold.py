"""The fold behind `SessionStateView`.

Invariant: the state after a log's last event is the state from which the engine goes on, in this run or the next.
"""

from dataclasses import fields, replace

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.delegates import spawned
from tui_agent.folds.session.lifecycle import ON_LIFE
from tui_agent.folds.session.state import Draft, FoldState, SessionFold
from tui_agent.folds.session.view import OpenCall, ReadFile, SessionStateView, Totals, call_digest
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.context import ContextCut, ContextReduced
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested, PermissionRevoked
from tui_agent.protocol.events.session import LogRepaired
from tui_agent.protocol.events.todo import TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserShellFinished,
    UserShellStarted,
    UserSteered,
    UserUnqueued,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import TextContent, ToolCallPart

__all__ = ["OpenCall", "ReadFile", "SessionState", "SessionStateView", "Totals", "call_digest"]

STUCK_AFTER = 3
"""Equal calls in a row from which on the agent counts as almost stuck."""

_LISTS = frozenset(
    (
        "queue",
        "open_calls",
        "open_requests",
        "delegates",
        "permissions",
        "jobs",
        "questions",
        "granted",
        "explored",
        "read_files",
        "artifacts",
        "extra",
        "unkept",
        "written",
        "seen_at",
    )
)
_SAME = tuple(item.name for item in fields(Draft) if item.name not in _LISTS)


class SessionState(SessionFold):
    """Folds everything that commands are checked against."""

    def __init__(self) -> None:
        super().__init__()
        self._view: SessionStateView | None = None

    @classmethod
    def taken_up(cls, kept: FoldState) -> "SessionState":
        """A fold that goes on from a state."""
        state = cls()
        state.draft, state.arguments = kept.draft, kept.arguments
        return state

    def apply(self, ev: Envelope) -> bool:
        """Take one event in. Always True: `seq` and `last_event` change with every event."""
        self.draft.seq = ev.seq
        self.draft.last_event = ev.payload.kind
        _ON_ALL.apply(self, ev)
        if not isinstance(ev.payload, LogRepaired):
            self.draft.seen_at = ev.at
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
                delegates=tuple(now.delegates.values()),
                permissions=tuple(now.permissions.values()),
                jobs=tuple(now.jobs.values()),
                questions=tuple(now.questions.values()),
                open_questions=tuple(text_preview(question.text) for question in now.questions.values()),
                granted=tuple(now.granted),
                explored=tuple(now.explored),
                read_files=dict(now.read_files),
                artifacts=dict(now.artifacts),
                extra=dict(now.extra),
                unkept=dict(now.unkept),
                written=tuple(now.written),
            )
        return self._view


_ON: Handlers[SessionFold] = Handlers()


@_ON.on(UserMessageReceived)
def _message(fold: SessionFold, ev: Envelope, payload: UserMessageReceived) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    now = fold.draft
    now.pending_prompt, now.root_task, now.phase = payload, text_preview(payload.text), "message"
    if payload.queue_id is not None:
        now.queue.pop(payload.queue_id, None)
    _seen(fold, payload.mentions)
    now.mentioned = tuple(one.path for one in payload.mentions if one.text)
    fold.taken_on("message")
    return True


def _seen(fold: SessionFold, mentions: tuple[Mention, ...]) -> None:
    """The model is sent these files with the message, as if it had read them."""
    now = fold.draft
    for one in mentions:
        if one.kind == "file":
            known = now.read_files.get(one.path)
            whole = one.whole or (known is not None and known.whole and known.digest == one.sha256)
            now.explored[one.path] = None
            now.read_files[one.path] = ReadFile(one.sha256, whole)


@_ON.on(UserQueued)
def _queued(fold: SessionFold, ev: Envelope, payload: UserQueued) -> bool:
    fold.draft.queue[payload.queue_id] = payload
    return True


@_ON.on(UserUnqueued)
def _unqueued(fold: SessionFold, ev: Envelope, payload: UserUnqueued) -> bool:
    return fold.draft.queue.pop(payload.queue_id, None) is not None


@_ON.on(UserSteered)
def _steered(fold: SessionFold, ev: Envelope, payload: UserSteered) -> bool:
    fold.draft.steers += 1
    _seen(fold, payload.mentions)
    return True


@_ON.on(UserShellStarted)
def _shell_started(fold: SessionFold, ev: Envelope, payload: UserShellStarted) -> bool:
    fold.draft.shell, fold.draft.shell_started_at = payload, ev.at
    return True


@_ON.on(UserShellFinished)
def _shell_finished(fold: SessionFold, ev: Envelope, payload: UserShellFinished) -> bool:
    fold.draft.shell = fold.draft.shell_started_at = None
    return True


@_ON.on(TurnStarted)
def _turn_started(fold: SessionFold, ev: Envelope, payload: TurnStarted) -> bool:
    now = fold.draft
    now.turn, now.turn_running, now.turn_started_at = payload.turn, True, ev.at
    now.turn_start_part, now.turn_iterations, now.turn_cost_usd = now.parts, 0, None
    now.turn_totals, now.pending_prompt = Totals(), None
    now.repeated_call, now.repeats, now.almost_stuck = "", 0, False
    now.forked, now.moved = None, False
    return True


@_ON.on(TurnFinished)
def _turn_finished(fold: SessionFold, ev: Envelope, payload: TurnFinished) -> bool:
    now = fold.draft
    now.turn_running, now.last_turn_end, now.phase = False, payload.reason, "idle"
    _back_to(now, MAIN_AGENT)
    now.permissions.clear()
    now.questions.clear()
    now.open_requests.clear()
    now.delegates.clear()
    return True


@_ON.on(IterationStarted)
def _iteration(fold: SessionFold, ev: Envelope, payload: IterationStarted) -> bool:
    now = fold.draft
    now.iteration, now.local_iteration = payload.iteration, payload.local_iteration
    now.agent, now.delegate_level = ev.agent, payload.delegate_level
    one = now.delegates.get(ev.agent)
    now.start_seq = 0 if one is None else one.start_seq
    if one is not None:
        now.delegates[ev.agent] = replace(
            one, iteration=payload.iteration, local_iteration=payload.local_iteration
        )
    elif ev.agent == MAIN_AGENT:
        now.main_local, now.own_iteration = payload.local_iteration, payload.iteration
    now.turn_iterations += payload.delegate_level == 0
    return True


@_ON.on(IterationFinished)
def _iteration_finished(fold: SessionFold, ev: Envelope, payload: IterationFinished) -> bool:
    fold.draft.phase = "trace"
    return True


@_ON.on(QuestionAsked)
def _asked(fold: SessionFold, ev: Envelope, payload: QuestionAsked) -> bool:
    fold.draft.questions[payload.question_id] = payload
    return True


@_ON.on(QuestionAnswered)
def _answered(fold: SessionFold, ev: Envelope, payload: QuestionAnswered) -> bool:
    return fold.draft.questions.pop(payload.question_id, None) is not None


@_ON.on(ModelRequested)
def _requested(fold: SessionFold, ev: Envelope, payload: ModelRequested) -> bool:
    now = fold.draft
    now.open_requests[payload.request_id] = payload.summarises or ev.agent
    one = now.delegates.get(ev.agent)
    if one is not None:
        now.delegates[ev.agent] = replace(one, request=payload.request_id)
    now.phase = "model"
    if ev.agent == MAIN_AGENT:
        now.steers = 0
    return True


@_ON.on(ModelResponded)
def _responded(fold: SessionFold, ev: Envelope, payload: ModelResponded) -> bool:
    now = fold.draft
    agent = now.open_requests.pop(payload.request_id, ev.agent)
    now.parts = max(now.parts, payload.first_part + len(payload.parts))
    for part in payload.parts:
        if isinstance(part, ToolCallPart):
            fold.arguments[part.call_id] = part.arguments
            now.open_calls[part.call_id] = OpenCall(part.call_id, part.name, ev.agent, False, False, False)
    return payload.author == "agent" or fold.spend(agent, payload.usage, payload.cost_usd)


@_ON.on(ModelFailed)
def _failed(fold: SessionFold, ev: Envelope, payload: ModelFailed) -> bool:
    agent = fold.draft.open_requests.pop(payload.request_id, ev.agent)
    if payload.fault != "cancelled":
        fold.draft.last_error = payload.message
    return fold.spend(agent, payload.usage, payload.cost_usd)


@_ON.on(ToolCalled)
def _called(fold: SessionFold, ev: Envelope, payload: ToolCalled) -> bool:
    now = fold.draft
    fold.arguments[payload.call_id] = payload.arguments
    now.open_calls[payload.call_id] = OpenCall(
        payload.call_id, payload.name, ev.agent, called=True, started=False, writes=False
    )
    now.totals = replace(now.totals, tool_calls=now.totals.tool_calls + 1)
    now.turn_totals = replace(now.turn_totals, tool_calls=now.turn_totals.tool_calls + 1)
    one = now.delegates.get(ev.agent)
    if one is not None:
        now.delegates[ev.agent] = replace(one, tool_calls=one.tool_calls + 1)
    return True


@_ON.on(ToolStarted)
def _tool_started(fold: SessionFold, ev: Envelope, payload: ToolStarted) -> bool:
    now = fold.draft
    now.phase = "tools"
    call = now.open_calls.get(payload.call_id)
    if call is not None:
        begun = replace(call, started=True, writes=payload.writes, waits=payload.delegates)
        now.open_calls[payload.call_id] = begun
    return True


@_ON.on(ToolFinished)
def _tool_finished(fold: SessionFold, ev: Envelope, payload: ToolFinished) -> bool:
    now = fold.draft
    now.open_calls.pop(payload.call_id, None)
    now.permissions.pop(payload.call_id, None)
    if now.forked is not None and payload.call_id == now.forked.call_id:
        fold.taken_on("call_id", "result")
    if payload.part is not None:
        now.parts = max(now.parts, payload.part + 1)
    if payload.artifact is not None:
        now.artifacts[payload.artifact.id] = payload.artifact
    if payload.status in ("failed", "invalid", "lost"):
        now.last_error = _what_failed(payload)
    digest = call_digest(payload.name, fold.arguments.pop(payload.call_id, {}), payload.content)
    now.repeats = now.repeats + 1 if digest == now.repeated_call else 1
    now.repeated_call, now.almost_stuck = digest, now.repeats >= STUCK_AFTER
    return True


@_ON.on(ContextCut)
def _cut(fold: SessionFold, ev: Envelope, payload: ContextCut) -> bool:
    fold.draft.artifacts.update({each.artifact.id: each.artifact for each in payload.cuts})
    return True


@_ON.on(ContextReduced)
def _reduced(fold: SessionFold, ev: Envelope, payload: ContextReduced) -> bool:
    fold.draft.artifacts.update({each.id: each for each in payload.artifacts})
    return True


def _what_failed(payload: ToolFinished) -> str:
    """The call, and the words that the model was told, as far as the log line holds them."""
    texts = (text_preview(piece.text) for piece in payload.content if isinstance(piece, TextContent))
    return f"{payload.name}: {next(texts, payload.summary)}"


@_ON.on(PermissionRequested)
def _permission(fold: SessionFold, ev: Envelope, payload: PermissionRequested) -> bool:
    fold.draft.permissions[payload.call_id] = payload
    fold.draft.phase = "policy"
    _asked_about(fold, payload.call_id, asked=True)
    return True


def _asked_about(fold: SessionFold, call_id: CallId, *, asked: bool) -> None:
    call = fold.draft.open_calls.get(call_id)
    if call is not None:
        fold.draft.open_calls[call_id] = replace(call, asked=asked)


@_ON.on(PermissionRevoked)
def _revoked(fold: SessionFold, ev: Envelope, payload: PermissionRevoked) -> bool:
    return fold.draft.granted.pop(payload.rule, "") is None


@_ON.on(PermissionDecided)
def _decided(fold: SessionFold, ev: Envelope, payload: PermissionDecided) -> bool:
    fold.draft.permissions.pop(payload.call_id, None)
    fold.draft.phase = "policy"
    _asked_about(fold, payload.call_id, asked=False)
    if payload.decision == "allow" and payload.rule and payload.reach != "once":
        fold.draft.granted[payload.rule] = None
    return True


@_ON.on(AgentSpawned)
def _spawned(fold: SessionFold, ev: Envelope, payload: AgentSpawned) -> bool:
    now = fold.draft
    now.subtask, now.agent, now.delegate_level = (
        text_preview(payload.task),
        ev.agent,
        payload.delegate_level,
    )
    above = now.delegates.get(payload.parent_agent)
    has = now.instructed if above is None else above.instructed
    now.delegates[ev.agent] = spawned(ev, payload, has.handed_on())
    now.agents_begun += 1
    call = now.open_calls.get(payload.call_id) if payload.call_id is not None else None
    if call is not None:
        now.open_calls[call.call_id] = replace(call, waits=False)
    now.local_iteration, now.start_seq = 0, ev.seq
    return True


@_ON.on(AgentStateChanged)
def _state(fold: SessionFold, ev: Envelope, payload: AgentStateChanged) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold.draft.agent_state, fold.draft.state_reason = payload.state, payload.reason
    return True


@_ON.on(AgentFinished)
def _agent_finished(fold: SessionFold, ev: Envelope, payload: AgentFinished) -> bool:
    ended = fold.draft.delegates.pop(ev.agent, None)
    _back_to(fold.draft, MAIN_AGENT if ended is None else ended.parent)
    return fold.retask()


def _back_to(now: Draft, agent: AgentId) -> None:
    """The agent that goes on, with its own count of iterations."""
    one = now.delegates.get(agent)
    now.agent = MAIN_AGENT if one is None else agent
    now.delegate_level = 0 if one is None else one.level
    now.start_seq = 0 if one is None else one.start_seq
    now.local_iteration = now.main_local if one is None else one.local_iteration


@_ON.on(TodoUpdated)
def _todo(fold: SessionFold, ev: Envelope, payload: TodoUpdated) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold.draft.todo = payload.items
    return fold.retask()


_ON_ALL = Handlers.joined(_ON, ON_LIFE)
