"""The state of a session, built from events one at a time, and shown as a `SessionStateView`.

Invariant: this state is everything that the engine needs to continue a session after a restart.
"""

from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from tui_agent.folds.context.memory import apply_mentions
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.agents import new_delegate
from tui_agent.folds.session.lifecycle import LIFECYCLE_HANDLERS
from tui_agent.folds.session.session_state import Draft
from tui_agent.folds.session.state_view import OpenCall, ReadFile, SessionStateView, call_digest
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.context import ContextReduced, ContextTruncated
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import (
    OPENS_FILES,
    PermissionDecided,
    PermissionRequested,
    PermissionRevoked,
)
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
from tui_agent.protocol.parts import ToolCallPart, text_previews
from tui_agent.protocol.stored_text import text_preview, text_size

_VALUE_LISTS = ("queue", "open_calls", "delegates", "permissions", "jobs", "questions")
"""Names of the fields that are a dict in `Draft`, and a tuple of its values in the view."""
_KEY_LISTS = ("open_requests", "granted_rules", "explored_paths", "written_paths")
"""Names of the fields that are a dict in `Draft`, and a tuple of its keys in the view."""
_DICTS = ("read_files", "artifacts", "extra", "uncheckpointed", "removed_paths")
_PLAIN_FIELDS = tuple(
    field.name
    for field in fields(SessionStateView)
    if field.name not in (*_VALUE_LISTS, *_KEY_LISTS, *_DICTS)
)

_read_plain_fields = attrgetter(*_PLAIN_FIELDS)
"""Function that reads all plain fields in one call, which is fast: a view is built after most events."""


class SessionState:
    """Builds the session's state from events, one event at a time."""

    def __init__(self, draft: Draft | None = None) -> None:
        self.draft = draft or Draft()
        """The complete state, for snapshots. Later events change this object."""
        self._view: SessionStateView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Apply one event. Return True, because every event changes `seq`."""
        draft = self.draft
        draft.seq = ev.seq
        draft.last_event = ev.payload.kind
        _ALL_HANDLERS.apply(draft, ev)
        draft.later_changes = draft.later_changes.add_event(ev.payload)
        if not isinstance(ev.payload, LogRepaired):
            draft.last_event_time = ev.time
        self._view = None
        return True

    def view(self) -> SessionStateView:
        """Return the state as of the last event."""
        if self._view is None:
            draft = self.draft
            values: dict[str, Any] = dict(zip(_PLAIN_FIELDS, _read_plain_fields(draft), strict=True))
            values |= {name: tuple(getattr(draft, name).values()) for name in _VALUE_LISTS}
            values |= {name: tuple(getattr(draft, name)) for name in _KEY_LISTS}
            values |= {name: dict(getattr(draft, name)) for name in _DICTS}
            self._view = SessionStateView(**values)
        return self._view


_HANDLERS: Handlers[Draft] = Handlers()


@_HANDLERS.on(UserMessageReceived, main_only=True)
def _on_user_message_received(draft: Draft, ev: Envelope, payload: UserMessageReceived) -> None:
    draft.pending_prompt, draft.root_task, draft.phase = payload, text_preview(payload.text), "message"
    if payload.queue_id is not None:
        draft.queue.pop(payload.queue_id, None)
    _add_read_mentions(draft, payload.mentions)
    draft.mentioned_paths = tuple(
        mention.path for mention in payload.mentions if mention.path and mention.text
    )
    draft.clear_fork_changes("message")
    draft.update_subtask()


def _add_read_mentions(draft: Draft, mentions: tuple[Mention, ...]) -> None:
    """Record mentioned files as read, because the model gets their text with the message."""
    for mention in mentions:
        if mention.kind == "file":
            known = draft.read_files.get(mention.path)
            # A file that the model has read as a whole stays so if a message then mentions only some of its lines.
            was_complete = known is not None and known.complete and known.digest == mention.sha256
            draft.explored_paths[mention.path] = None
            draft.read_files[mention.path] = ReadFile(mention.sha256, mention.is_whole_file or was_complete)
    if draft.settings is not None and draft.settings.context_mode != "none":
        draft.memory = apply_mentions(draft.memory, mentions)


@_HANDLERS.on(UserQueued)
def _on_user_queued(draft: Draft, ev: Envelope, payload: UserQueued) -> None:
    queue = [*draft.queue.items()]
    queue.insert(len(queue) if payload.place is None else payload.place, (payload.queue_id, payload))
    draft.queue = dict(queue)


@_HANDLERS.on(UserUnqueued)
def _on_user_unqueued(draft: Draft, ev: Envelope, payload: UserUnqueued) -> None:
    draft.queue.pop(payload.queue_id, None)


@_HANDLERS.on(UserSteered)
def _on_user_steered(draft: Draft, ev: Envelope, payload: UserSteered) -> None:
    draft.pending_steers += 1
    _add_read_mentions(draft, payload.mentions)


@_HANDLERS.on(UserShellStarted)
def _on_user_shell_started(draft: Draft, ev: Envelope, payload: UserShellStarted) -> None:
    draft.shell, draft.shell_started_at = payload, ev.time


@_HANDLERS.on(UserShellFinished)
def _on_user_shell_finished(draft: Draft, ev: Envelope, payload: UserShellFinished) -> None:
    draft.shell = draft.shell_started_at = None
    draft.shell_stopped = draft.shell_stopped or payload.end == "interrupted"
    if not payload.hidden:
        draft.unmeasured_shell_chars += len(payload.command) + text_size(payload.output)


@_HANDLERS.on(TurnStarted)
def _on_turn_started(draft: Draft, ev: Envelope, payload: TurnStarted) -> None:
    draft.turn, draft.turn_running, draft.turn_started_at = payload.turn, True, ev.time
    draft.turn_iterations = draft.turn_denials = 0
    draft.use_budget(turns=1)
    draft.turn_totals, draft.pending_prompt = NO_USAGE, None
    draft.repeated_call, draft.repeat_count = "", 0
    draft.fork_changes, draft.head_moved, draft.shell_stopped = None, False, False


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(draft: Draft, ev: Envelope, payload: TurnFinished) -> None:
    draft.turn_running, draft.last_turn_end, draft.phase = False, payload.reason, "idle"
    draft.last_turn_policy = draft.settings.policy if draft.settings is not None else ""
    draft.use_budget(seconds=payload.duration_ms / 1000)
    _return_to(draft, MAIN_AGENT)
    # Usually, these are empty already. After an error, some parts of the turn have no events for their end.
    draft.permissions.clear()
    draft.questions.clear()
    draft.open_requests.clear()
    draft.delegates.clear()


@_HANDLERS.on(IterationStarted)
def _on_iteration_started(draft: Draft, ev: Envelope, payload: IterationStarted) -> None:
    draft.iteration, draft.local_iteration = payload.iteration, payload.local_iteration
    draft.agent, draft.delegate_level = ev.agent, payload.delegate_level
    delegate = draft.delegates.get(ev.agent)
    draft.start_seq = 0 if delegate is None else delegate.start_seq
    if delegate is not None:
        draft.delegates[ev.agent] = replace(
            delegate, iteration=payload.iteration, local_iteration=payload.local_iteration
        )
    elif ev.agent == MAIN_AGENT:
        draft.main_local_iteration, draft.own_iteration = payload.local_iteration, payload.iteration
    draft.turn_iterations += payload.delegate_level == 0
    draft.use_budget(iterations=1)


@_HANDLERS.on(IterationFinished)
def _on_iteration_finished(draft: Draft, ev: Envelope, payload: IterationFinished) -> None:
    draft.phase = "trace"


@_HANDLERS.on(QuestionAsked)
def _on_question_asked(draft: Draft, ev: Envelope, payload: QuestionAsked) -> None:
    draft.questions[payload.question_id] = payload


@_HANDLERS.on(QuestionAnswered)
def _on_question_answered(draft: Draft, ev: Envelope, payload: QuestionAnswered) -> None:
    draft.questions.pop(payload.question_id, None)


@_HANDLERS.on(ModelRequested)
def _on_model_requested(draft: Draft, ev: Envelope, payload: ModelRequested) -> None:
    # A summary is paid for by the agent whose history it summarises.
    draft.open_requests[payload.request_id] = payload.summarises or ev.agent
    delegate = draft.delegates.get(ev.agent)
    if delegate is not None:
        draft.delegates[ev.agent] = replace(delegate, request=payload.request_id)
    draft.phase = "model"
    if ev.agent == MAIN_AGENT:  # the request contains them
        draft.pending_steers = draft.unmeasured_shell_chars = 0


@_HANDLERS.on(ModelResponded)
def _on_model_responded(draft: Draft, ev: Envelope, payload: ModelResponded) -> None:
    agent = draft.open_requests.pop(payload.request_id, ev.agent)
    draft.count_parts(payload.first_part + len(payload.parts))
    for part in payload.parts:
        if isinstance(part, ToolCallPart):
            draft.arguments[part.call_id] = part.arguments
            draft.open_calls[part.call_id] = OpenCall(part.call_id, part.name, ev.agent)
    if payload.author != "agent":  # an agent can also write an answer itself, without a model
        draft.add_usage(agent, payload)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(draft: Draft, ev: Envelope, payload: ModelFailed) -> None:
    agent = draft.open_requests.pop(payload.request_id, ev.agent)
    if payload.fault != "cancelled":
        draft.last_error = payload.message
    draft.add_usage(agent, payload)


@_HANDLERS.on(ToolCalled)
def _on_tool_called(draft: Draft, ev: Envelope, payload: ToolCalled) -> None:
    draft.arguments[payload.call_id] = payload.arguments
    draft.open_calls[payload.call_id] = OpenCall(payload.call_id, payload.name, ev.agent, called=True)
    draft.tool_calls += 1
    delegate = draft.delegates.get(ev.agent)
    if delegate is not None:
        draft.delegates[ev.agent] = replace(delegate, tool_calls=delegate.tool_calls + 1)


@_HANDLERS.on(ToolStarted)
def _on_tool_started(draft: Draft, ev: Envelope, payload: ToolStarted) -> None:
    draft.phase = "tools"
    call = draft.open_calls.get(payload.call_id)
    if call is not None:
        started_call = replace(
            call, started=True, writes=payload.writes, waits_for_delegate=payload.delegates
        )
        draft.open_calls[payload.call_id] = started_call


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(draft: Draft, ev: Envelope, payload: ToolFinished) -> None:
    draft.open_calls.pop(payload.call_id, None)
    draft.permissions.pop(payload.call_id, None)
    if draft.fork_changes is not None and payload.call_id == draft.fork_changes.call_id:
        draft.clear_fork_changes("call_id", "result")
    if payload.part is not None:
        draft.count_parts(payload.part + 1)
    if payload.artifact is not None:
        draft.artifacts[payload.artifact.id] = payload.artifact
    draft.turn_denials += payload.status == "denied"
    if payload.status in ("failed", "invalid", "lost"):
        draft.last_error = _describe_failure(payload)
    digest = call_digest(payload.name, draft.arguments.pop(payload.call_id, {}), payload.content)
    if digest != draft.repeated_call:
        draft.repeat_count = 1
    elif draft.iteration != draft.repeat_iteration:  # equal calls of one answer count once
        draft.repeat_count += 1
    draft.repeated_call, draft.repeat_iteration = digest, draft.iteration


@_HANDLERS.on(ContextTruncated)
def _on_context_cut(draft: Draft, ev: Envelope, payload: ContextTruncated) -> None:
    draft.artifacts.update({cut.artifact.id: cut.artifact for cut in payload.truncations})


@_HANDLERS.on(ContextReduced)
def _on_context_reduced(draft: Draft, ev: Envelope, payload: ContextReduced) -> None:
    draft.artifacts.update({artifact.id: artifact for artifact in payload.artifacts})


def _describe_failure(payload: ToolFinished) -> str:
    text = next(iter(text_previews(payload.content)), payload.summary)
    return f"{payload.name}: {text}"


@_HANDLERS.on(PermissionRequested)
def _on_permission_requested(draft: Draft, ev: Envelope, payload: PermissionRequested) -> None:
    draft.permissions[payload.call_id] = payload
    draft.phase = "policy"
    _set_asked(draft, payload.call_id, asked=True)


def _set_asked(draft: Draft, call_id: CallId, *, asked: bool) -> None:
    call = draft.open_calls.get(call_id)
    if call is not None:
        draft.open_calls[call_id] = replace(call, awaits_decision=asked)


@_HANDLERS.on(PermissionRevoked)
def _on_permission_revoked(draft: Draft, ev: Envelope, payload: PermissionRevoked) -> None:
    draft.granted_rules.pop(payload.rule, "")


@_HANDLERS.on(PermissionDecided)
def _on_permission_decided(draft: Draft, ev: Envelope, payload: PermissionDecided) -> None:
    draft.permissions.pop(payload.call_id, None)
    draft.phase = "policy"
    _set_asked(draft, payload.call_id, asked=False)
    # A rule that opens files is also saved in config.toml, but the configuration is read only when a session opens.
    of_session = payload.reach == "session" or payload.rule.startswith(OPENS_FILES)
    if payload.decision == "allow" and payload.rule and of_session:
        draft.granted_rules[payload.rule] = None


@_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(draft: Draft, ev: Envelope, payload: AgentSpawned) -> None:
    draft.agent = ev.agent
    draft.delegate_level = payload.delegate_level
    parent = draft.delegates.get(payload.parent_agent)
    instructions = draft.agent_instructions if parent is None else parent.instructions
    draft.delegate_count += 1
    draft.delegates[ev.agent] = new_delegate(ev, payload, instructions.for_delegate(), draft.delegate_count)
    draft.update_subtask()
    call = draft.open_calls.get(payload.call_id) if payload.call_id is not None else None
    if call is not None:
        draft.open_calls[call.call_id] = replace(call, waits_for_delegate=False)
    draft.local_iteration, draft.start_seq = 0, ev.seq


@_HANDLERS.on(AgentStateChanged, main_only=True)
def _on_agent_state_changed(draft: Draft, ev: Envelope, payload: AgentStateChanged) -> None:
    draft.agent_state, draft.state_reason = payload.state, payload.reason


@_HANDLERS.on(AgentFinished)
def _on_agent_finished(draft: Draft, ev: Envelope, payload: AgentFinished) -> None:
    delegate = draft.delegates.pop(ev.agent, None)
    _return_to(draft, MAIN_AGENT if delegate is None else delegate.parent)
    draft.update_subtask()


def _return_to(draft: Draft, agent: AgentId) -> None:
    """Make `agent` the current agent, and restore its own count of iterations."""
    delegate = draft.delegates.get(agent)
    draft.agent = MAIN_AGENT if delegate is None else agent
    draft.delegate_level = 0 if delegate is None else delegate.level
    draft.start_seq = 0 if delegate is None else delegate.start_seq
    draft.local_iteration = draft.main_local_iteration if delegate is None else delegate.local_iteration


@_HANDLERS.on(TodoUpdated, main_only=True)
def _on_todo_updated(draft: Draft, ev: Envelope, payload: TodoUpdated) -> None:
    draft.todo = payload.items
    draft.update_subtask()


_ALL_HANDLERS = Handlers.join(_HANDLERS, LIFECYCLE_HANDLERS)
