"""The trace: spans (turns, iterations, model calls, tool calls), built from a session's events.

Invariant: the time of `apply` is proportional to the depth of the tree.
"""

from collections import Counter

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import TOOL_END_LABELS, TURN_END_LABELS
from tui_agent.folds.trace.span_tree import Node, SpanTree
from tui_agent.folds.trace.spans import SpanState, TraceView
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked
from tui_agent.protocol.events.model import (
    ModelDelta,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ModelRetried,
)
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import RunStarted, SessionForked
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted, ToolStatus
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.stored_text import text_preview, text_size
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_tokens

_TOOL_STATES: dict[ToolStatus, SpanState] = {
    "ok": "done",
    "failed": "failed",
    "invalid": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "lost": "failed",
}
_TURN_STATES: dict[TurnEnd, SpanState] = {
    "finished": "done",
    "interrupted": "interrupted",
    "denied": "denied",
}


class Trace:
    """Builds the spans of the trace from a session's events.

    The newest `keep` spans are never compressed.
    """

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self.tree = SpanTree(keep)
        self.turn: Node | None = None
        self.turn_iterations = 0
        """Number of the turn's iterations so far, without iterations of delegates."""
        self.iterations: dict[AgentId, Node] = {}
        self.requests: dict[RequestId, Node] = {}
        self.tools: dict[CallId, Node] = {}
        self.subtasks: dict[AgentId, Node] = {}
        self.unstarted_calls: dict[CallId, Node] = {}
        """The span of each call that had not started when its turn ended."""
        self.sent_tokens: dict[RequestId, int] = {}
        """Maps the id of each unanswered request to its number of sent tokens."""
        self.last_at = 0.0

    def apply(self, ev: Envelope) -> bool:
        revision = self.tree.revision
        _HANDLERS.apply(self, ev)
        if not isinstance(ev.payload, ModelDelta):  # a log may be read without the deltas
            self.last_at = ev.time
        return self.tree.revision != revision

    def view(self) -> TraceView:
        """Return all spans."""
        return self.tree.view()

    def copy(self) -> "Trace":
        """Return an independent copy."""
        open_nodes = [self.turn, *self.iterations.values(), *self.requests.values(), *self.tools.values()]
        copy = Trace()
        copy.tree, nodes = self.tree.copy([*filter(None, open_nodes), *self.subtasks.values()])
        copy.turn = None if self.turn is None else nodes[self.turn.index]
        copy.turn_iterations = self.turn_iterations
        copy.iterations = {key: nodes[node.index] for key, node in self.iterations.items()}
        copy.requests = {key: nodes[node.index] for key, node in self.requests.items()}
        copy.tools = {key: nodes[node.index] for key, node in self.tools.items()}
        copy.subtasks = {key: nodes[node.index] for key, node in self.subtasks.items()}
        copy.unstarted_calls, copy.sent_tokens = self.unstarted_calls.copy(), self.sent_tokens.copy()
        copy.last_at = self.last_at
        return copy

    def note_crash(self) -> None:
        """Record the time of the last event before a crash. Open spans end no later than this event."""
        if self.turn is None:
            self.tree.crash_time = None
        elif self.tree.crash_time is None:
            self.tree.crash_time = self.last_at

    def open_call(self, ev: Envelope, call_id: CallId, name: str, verb: str) -> Node:
        """Open the span of a call that has not started."""
        node = self.tools[call_id] = self.tree.open("tool", name, ev, self.parent_for(ev.agent))
        node.verb = verb
        self.tree.set_state(node, "queued")
        return node

    def parent_for(self, agent: AgentId) -> Node | None:
        """Return the parent of this agent's next span."""
        if agent in self.subtasks:
            return self.subtasks[agent]
        return self.iterations.get(agent) or self.iterations.get(MAIN_AGENT) or self.turn


CHARS_PER_TOKEN = 4.0
"""Assumed number of characters per token, for text that no tokenizer has counted."""

_HANDLERS: Handlers[Trace] = Handlers()


@_HANDLERS.on(RunStarted)
def _on_run_started(fold: Trace, ev: Envelope, payload: RunStarted) -> None:
    fold.note_crash()


@_HANDLERS.on(SessionForked)
def _on_session_forked(fold: Trace, ev: Envelope, payload: SessionForked) -> None:
    fold.note_crash()


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: Trace, ev: Envelope, payload: TurnStarted) -> None:
    if fold.turn is not None:
        fold.tree.end_below(fold.turn, ev)
        fold.tree.end(fold.turn, ev, "interrupted")
    fold.tree.crash_time = None
    fold.turn = fold.tree.open("turn", f"turn {payload.turn}", ev, None)
    fold.turn_iterations = 0
    for call_id, earlier_node in fold.unstarted_calls.items() if payload.is_continuation else ():
        fold.open_call(ev, call_id, earlier_node.name, earlier_node.verb).first_seq = earlier_node.first_seq
    fold.unstarted_calls.clear()


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: Trace, ev: Envelope, payload: TurnFinished) -> None:
    turn, fold.turn = fold.turn, None
    if turn is None:
        return
    # The recorded duration says better than the last event when the crash ended the turn.
    if fold.tree.crash_time is not None and payload.duration_ms:
        fold.tree.crash_time = turn.start + payload.duration_ms / 1_000
    # A continued turn runs these calls: their spans then begin again in the new turn.
    fold.unstarted_calls = {
        key: node
        for key, node in fold.tools.items()
        if node.state == "waiting" or (node.state == "queued" and not node.ran)
    }
    fold.tree.end_below(turn, ev)
    turn.outcome = "" if payload.reason == "finished" else TURN_END_LABELS[payload.reason]
    turn.detail = payload.detail
    fold.tree.end(turn, ev, _TURN_STATES.get(payload.reason, "failed"), payload.duration_ms)
    fold.tree.crash_time = None
    fold.sent_tokens.clear()
    for open_spans in (fold.iterations, fold.requests, fold.tools, fold.subtasks):
        open_spans.clear()


@_HANDLERS.on(IterationStarted)
def _on_iteration_started(fold: Trace, ev: Envelope, payload: IterationStarted) -> None:
    if ev.agent not in fold.subtasks:
        fold.turn_iterations += 1
        node = fold.tree.open("iteration", f"iteration {fold.turn_iterations}", ev, fold.turn)
        fold.iterations[ev.agent] = node


@_HANDLERS.on(IterationFinished)
def _on_iteration_finished(fold: Trace, ev: Envelope, payload: IterationFinished) -> None:
    node = fold.iterations.pop(ev.agent, None)
    if node is not None:
        node.outcome = _describe_calls(node) or ("answer" if payload.action != "none" else "")
        fold.tree.end(node, ev, _iteration_end_state(node), payload.duration_ms)


@_HANDLERS.on(ContextPacked)
def _on_context_packed(fold: Trace, ev: Envelope, payload: ContextPacked) -> None:
    fold.sent_tokens[payload.request_id] = payload.total_tokens


@_HANDLERS.on(ModelRequested)
def _on_model_requested(fold: Trace, ev: Envelope, payload: ModelRequested) -> None:
    node = fold.requests.get(payload.request_id)
    if node is None:
        node = fold.tree.open("model", payload.model.model, ev, fold.parent_for(ev.agent))
        fold.requests[payload.request_id] = node
    node.outcome = ""
    fold.tree.set_state(node, "running")


@_HANDLERS.on(ModelRetried)
def _on_model_retried(fold: Trace, ev: Envelope, payload: ModelRetried) -> None:
    node = fold.requests.get(payload.request_id)
    if node is not None:
        node.outcome = f"try {payload.attempt + 1}"
        node.detail = payload.message
        fold.tree.touch(node)


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: Trace, ev: Envelope, payload: ModelResponded) -> None:
    node = fold.requests.pop(payload.request_id, None)
    fold.sent_tokens.pop(payload.request_id, None)
    if node is not None:
        node.outcome = f"{format_tokens(payload.usage.output_tokens)} out"
        node.part = payload.first_part
        fold.tree.add_usage(node, payload)
        fold.tree.end(node, ev, "done", payload.duration_ms)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: Trace, ev: Envelope, payload: ModelFailed) -> None:
    node = fold.requests.pop(payload.request_id, None)
    sent = fold.sent_tokens.pop(payload.request_id, None)
    if node is None:
        return
    stopped = payload.fault == "cancelled"
    node.outcome = "stopped" if stopped else payload.fault.replace("_", " ")
    node.detail = payload.message
    fold.tree.add_usage(node, payload)
    if stopped and sent is not None and payload.usage == Usage():
        size = text_size(payload.partial)
        node.tokens_in, node.tokens_out, node.estimated = sent, round(size / CHARS_PER_TOKEN), True
    if fold.tree.crash_time is not None:
        return  # The run crashed during this answer: the span ends with its turn.
    fold.tree.end(node, ev, "interrupted" if stopped else "failed")


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: Trace, ev: Envelope, payload: ToolCalled) -> None:
    fold.open_call(ev, payload.call_id, f"{payload.verb} {payload.target}".strip(), payload.verb)


@_HANDLERS.on(ToolStarted)
def _on_tool_started(fold: Trace, ev: Envelope, payload: ToolStarted) -> None:
    node = fold.tools.get(payload.call_id)
    if node is not None:
        node.start, node.ran = ev.time, True
        # A delegate may have to wait for its turn after this event.
        fold.tree.set_state(node, "queued" if payload.delegates else "running")


@_HANDLERS.on(PermissionRequested)
def _on_permission_requested(fold: Trace, ev: Envelope, payload: PermissionRequested) -> None:
    node = fold.tools.get(payload.call_id)
    if node is not None:
        if not node.ran:
            node.start = ev.time  # Until now the call waited for earlier calls.
        fold.tree.set_state(node, "waiting")


_REACHES = {"always": "always, in this project", "everywhere": "always, in every project"}


def decided_by(payload: PermissionDecided) -> str:
    """Return a decision and who made it, e.g. `allowed by you (session)`."""
    verdict = "allowed" if payload.decision == "allow" else "denied"
    if payload.decided_by == "user":
        reach = _REACHES.get(payload.reach, payload.reach)
        return f"{verdict} by you ({reach})" if payload.decision == "allow" else f"{verdict} by you"
    if payload.rule_id == "internal":
        return f"{verdict}: it affects only this session"
    return f"{verdict} by {payload.rule_id or payload.decided_by}"


@_HANDLERS.on(PermissionDecided)
def _on_permission_decided(fold: Trace, ev: Envelope, payload: PermissionDecided) -> None:
    node = fold.tools.get(payload.call_id)
    if node is None:
        return
    node.detail = decided_by(payload)
    if payload.decision == "deny":
        fold.tree.set_state(node, "denied")
    elif node.state == "waiting":
        fold.tree.set_state(node, "running" if node.ran else "queued")
    fold.tree.touch(node)


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: Trace, ev: Envelope, payload: ToolFinished) -> None:
    node = fold.tools.pop(payload.call_id, None)
    fold.unstarted_calls.pop(payload.call_id, None)
    if node is None:
        return
    node.outcome = payload.summary or TOOL_END_LABELS[payload.status]
    node.part = payload.part
    fold.tree.end_below(node, ev)
    duration_ms = 0.0 if node.kind == "subtask" else payload.duration_ms
    fold.tree.end(node, ev, _TOOL_STATES[payload.status], duration_ms)


@_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(fold: Trace, ev: Envelope, payload: AgentSpawned) -> None:
    node = fold.tools.get(payload.call_id) if payload.call_id is not None else None
    if node is None:
        node = fold.tree.open("subtask", "subtask", ev, fold.parent_for(payload.parent_agent))
    node.kind, node.agent = "subtask", ev.agent
    node.name = f"subtask, delegate level {payload.delegate_level}"
    node.detail = text_preview(payload.task)
    node.start = ev.time  # Until now the call was waiting.
    fold.subtasks[ev.agent] = node
    fold.tree.set_state(node, "running")


@_HANDLERS.on(AgentFinished)
def _on_agent_finished(fold: Trace, ev: Envelope, payload: AgentFinished) -> None:
    node = fold.subtasks.pop(ev.agent, None)
    if node is None:
        return
    fold.tree.end_below(node, ev)
    node.outcome = _describe_calls(node)
    state: SpanState = "interrupted" if payload.reason == "interrupted" else "failed"
    fold.tree.end(node, ev, "done" if payload.success else state)


@_HANDLERS.on(ContextCompacted)
def _on_context_compacted(fold: Trace, ev: Envelope, payload: ContextCompacted) -> None:
    node = fold.tree.open("compaction", "compaction", ev, fold.parent_for(ev.agent))
    turns = format_count(payload.turns, "turn")
    node.outcome = (
        f"{turns}, {format_tokens(payload.before_tokens)} to {format_tokens(payload.after_tokens)} tokens"
    )
    fold.tree.end(node, ev, "done")


def _describe_calls(node: Node) -> str:
    """Describe the calls directly below a span, e.g. `3 reads`, or `2 calls` for calls of different kinds."""
    calls = (child for child in node.children if child.kind in ("tool", "subtask"))
    verbs = Counter(child.verb if child.kind == "tool" else "subtask" for child in calls)
    count = verbs.total()
    noun = "tool call" if node.kind == "subtask" else "call"
    verb = next(iter(verbs)) if len(verbs) == 1 and node.kind != "subtask" else noun
    if verb.endswith("s"):  # already a plural: `todos`
        return verb if count == 1 else format_count(count, noun)
    ending = "" if count == 1 else "es" if verb.endswith(("ch", "sh")) else "s"
    return f"{count} {verb}{ending}" if count else ""


def _iteration_end_state(node: Node) -> SpanState:
    """Return the state of an iteration's failed or interrupted model call. If there is none, return `done`."""
    for child in node.children:
        if child.kind == "model" and child.state in ("failed", "interrupted"):
            return child.state
    return "done"
