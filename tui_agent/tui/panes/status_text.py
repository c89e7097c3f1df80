"""The text of the status line for a session's state.

Invariant: if the session waits for the user, the text says so, even while something else runs.
"""

from tui_agent.folds.session.state_view import (
    COMPACTING_REASON,
    HOOKS_REASON,
    PROMPT_HOOKS_REASON,
    SERVERS_REASON,
    SessionStateView,
)
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.protocol.settings import PAUSE_PENDING, BudgetUse, SessionSettings
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.status_line import Mood, StatusView
from tui_agent.tui.panes.trace import MAX_NAME_LENGTH, fault_words, short_target
from tui_agent.tui.untrusted_text import clean_line, reveal_line

SUMMARISES, OLD = "summarising", "old turns"
_ENDS: dict[str, tuple[Mood, str]] = {
    "finished": ("ready", "ready"),
    "rejected": ("stopped", "declined"),
    "interrupted": ("stopped", "stopped"),
    "part_limit": ("stopped", "part limit reached"),
    "iteration_limit": ("stopped", "iteration limit reached"),
    "turn_limit": ("stopped", "turn limit reached"),
    "time_limit": ("stopped", "time limit reached"),
    "cost_limit": ("stopped", "cost limit reached"),
    "denied": ("stopped", "denied"),
    "stuck": ("stopped", "stuck"),
    "model_error": ("failed", "no answer"),
    "error": ("failed", "error"),
}
"""Maps the reason for a turn's end to the mood and the word of the status line."""


def status_of(
    state: SessionStateView, trace: TraceView, *, note: str = "", policy_key: str = "", send_key: str = ""
) -> StatusView:
    """Return the status to show for this session.

    - `note`: the text at the end of the status line
    - `policy_key`: the key that switches the policy; shown if the policy is `plan`
    - `send_key`: the key that sends a message; shown after a failed request
    """
    stage = state.phase if state.phase != "idle" else ""
    # The first state that applies is shown. Requests to the user come first, because nothing continues without them.
    if state.permissions:
        first = state.permissions[0]
        subject = f"{first.verb} {short_target(first.target)}".strip()
        return StatusView(
            "waiting", "waiting for you", reveal_line(subject[:MAX_NAME_LENGTH]), stage="policy"
        )
    if state.questions:
        return StatusView("waiting", "waiting for you", "the agent asks", stage=stage)
    if state.shell is not None and not state.turn_running:
        subject = reveal_line(state.shell.label[:MAX_NAME_LENGTH])
        return StatusView("running", "you run", subject, state.shell_started_at, note=note)
    if state.is_compacting and state.state_reason != COMPACTING_REASON:
        return StatusView("running", state.state_reason, "messages", note=note)
    if state.is_compacting:
        span = newest_running(trace)
        return StatusView("running", SUMMARISES, OLD, span.start if span is not None else None, note=note)
    if state.is_preparing:
        waits = state.state_reason == PROMPT_HOOKS_REASON
        word, detail = ("waiting", "for a hook") if waits else ("reading", "your mentions")
        return StatusView("running", word, detail, note=note)
    if state.running_command:
        return StatusView(
            "running", "running", reveal_line(state.running_command[:MAX_NAME_LENGTH]), note=note
        )
    if not state.turn_running:
        return _at_rest(state, trace, policy_key, send_key)
    if state.agent_state == "paused":
        return StatusView("paused", "paused", "/resume continues", stage=stage)
    if state.agent_state == "throttled":
        return StatusView(
            "running",
            "waiting",
            fault_words(clean_line(state.state_reason)),
            state.turn_started_at,
            "model",
            note,
        )
    word, detail = _activity(state, trace)
    if state.state_reason == PAUSE_PENDING:
        word, detail = PAUSE_PENDING, f"{word} {detail}".strip()
    return StatusView("running", word, detail, state.turn_started_at, stage, note)


def _at_rest(state: SessionStateView, trace: TraceView, policy_key: str, send_key: str) -> StatusView:
    if state.settings is None:
        return StatusView()
    if not state.settings.model.model:
        return StatusView("ready", "choose a model to begin")
    if state.head_moved:
        return StatusView(
            "ready", "ready", format_count(len(state.queue), "message") + " held" if state.queue else ""
        )
    end = state.last_turn_end or "finished"
    if end == "cost_limit" and _is_below_cost_limit(state.settings, state.used):
        end = "finished"  # The limit was raised after the turn.
    mood, word = _ENDS.get(end, ("ready", "ready"))
    if state.last_turn_end == "model_error":
        failed = next((span for span in reversed(trace.spans[-50:]) if span.kind == "model"), None)
        word = fault_words(clean_line(failed.outcome)) if failed is not None and failed.outcome else word
    subject = f"press {send_key} to try again" if send_key and state.last_turn_end == "model_error" else ""
    if policy_key and state.settings.policy == "plan" and state.last_turn_end == "finished":
        has_plan = state.last_turn_policy == "plan"
        go_on = f'to make changes: press {policy_key}, then type "go on"'
        subject = (
            f"({go_on})" if has_plan else f"(the policy `plan` only reads; {policy_key} switches to ask)"
        )
    stage = "model" if state.last_turn_end == "model_error" else ""
    return StatusView(mood, word, subject, stage=stage)


def _is_below_cost_limit(settings: SessionSettings, used: BudgetUse) -> bool:
    limit = settings.budgets.max_cost_usd
    return limit is None or used.cost_usd < limit


def _activity(state: SessionStateView, trace: TraceView) -> tuple[str, str]:
    if state.state_reason == COMPACTING_REASON:
        return SUMMARISES, OLD
    if state.state_reason == SERVERS_REASON:
        return "waiting", "for MCP servers"
    if state.state_reason == HOOKS_REASON:
        return "waiting", "for a hook"
    span = newest_running(trace)
    if span is not None and span.kind in ("tool", "subtask"):
        verb, _, target = reveal_line(span.name[:MAX_NAME_LENGTH]).partition(" ")
        return verb, target
    model = state.settings.model.model if state.settings else ""
    if state.phase == "model":
        return "model", clean_line(model)
    return "running", clean_line(state.phase)


def newest_running(trace: TraceView) -> Span | None:
    """Return the newest running call or subtask, or None if nothing is running."""
    # Only the newest spans: this runs for each frame, and a long session has many thousands of spans.
    for span in reversed(trace.spans[-200:]):
        if span.state == "running" and span.kind in ("model", "tool", "subtask"):
            return span
    return None
