"""Labels for the user: states, endings, failures, mentions and cut texts.

Invariant: a state has the same label in every pane and summary.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.folds.trace.spans import SpanState
from tui_agent.protocol.events.context import ContextTruncated, ContextWindowInferred, Truncation
from tui_agent.protocol.events.policy import OPENS_FILES, PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.events.tool import ToolStatus
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.unicode_text import escape_unprintable, format_count, list_first
from tui_agent.units import format_bytes, format_cost, format_milliseconds, format_number, format_tokens

MAX_FOLDERS_NAMED: Final = 3
"""Maximum number of folders that a sentence about left-out folders names."""

TURN_END_LABELS: Final[dict[TurnEnd, str]] = {
    "finished": "done",
    "rejected": "the agent declined",
    "interrupted": "stopped",
    "part_limit": "stopped at the part limit",
    "iteration_limit": "stopped at the iteration limit",
    "turn_limit": "stopped at the turn limit",
    "time_limit": "stopped at the time limit",
    "cost_limit": "stopped at the cost limit",
    "denied": "denied",
    "stuck": "stopped: repeated the same calls",
    "model_error": "the model failed",
    "error": "failed",
}


def describe_failures(failed: int, errors: int) -> str:
    """Return the failed tests of a run, e.g. `2 failed, 1 error` for `failed=3, errors=1`."""
    counts = [f"{failed - errors} failed"] if failed > errors else []
    return ", ".join([*counts, format_count(errors, "error")] if errors else counts)


def describe_failing_tests(failed: int, errors: int, staleness: str = "") -> str:
    """Return how many tests fail, e.g. `2 tests fail, 1 test error` for `failed=3, errors=1`.

    `staleness`: reason why the result is stale, added at the end: `before 2 edits` gives `2 tests failed before 2
    edits`. Empty if the result is not stale.
    """
    words = ("test failed", "tests failed") if staleness else ("test fails", "tests fail")
    counts = [format_count(failed - errors, *words)] if failed > errors else []
    text = ", ".join([*counts, format_count(errors, "test error")] if errors else counts)
    return f"{text} {staleness}".strip()


SPAN_STATE_LABELS: Final[dict[SpanState, str]] = {
    "queued": "queued",
    "running": "running",
    "waiting": "waiting for you",
    "done": "done",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "stopped",
}
TOOL_END_LABELS: Final[dict[ToolStatus, str]] = {
    "ok": "",
    "failed": "failed",
    "invalid": "invalid call",
    "denied": "denied",
    "interrupted": "stopped",
    "lost": "lost",
}
FAILURE_LABELS: Final[dict[str, str]] = {
    "model": "a request to the model",
    "tool": "a tool call",
    "environment": "a file or program of the workspace",
    "policy": "a denied call",
    "budget": "a limit that was reached",
    "engine": "the engine itself",
}
"""Maps the cause of a failure, as in `MetricsView.failures`, to its label."""


def unknown_price_warning(model: str, limit_usd: float | None, *, has_price: bool) -> str:
    """Return a warning if a cost limit cannot be enforced because the model's price is unknown."""
    if limit_usd is None or has_price or not model:
        return ""
    return (
        f"The price of {model} is unknown, so the cost limit of {format_cost(limit_usd)} cannot be enforced."
    )


def fork_changes(changed: ForkChange) -> tuple[str, ...]:
    """Return a short label for each thing that a fork changes, such as the model.

    No label contains text that a model, a tool or a user wrote.
    """
    fields = {
        "model": changed.model,
        "reasoning effort": changed.reasoning_effort,
        "context mode": changed.context_mode,
        "folder": changed.workspace,
    }
    changes = [f"{label} {value}" for label, value in fields.items() if value]
    if changed.result is not None:
        changes.append("another tool result")
    if changed.message is not None:
        changes.append("another message")
    return tuple(changes)


def describe_folders_left_out(folders: Sequence[str]) -> str:
    """Return sentences about generated folders that a fork's folder lacks; an empty string if there are none."""
    if not folders:
        return ""
    listed = list_first([escape_unprintable(folder) for folder in folders], MAX_FOLDERS_NAMED)
    return f"Left out: {listed} (installed or generated files). Install or build them again in the fork's folder."


MAP_SENT_LATER: Final = "A later request included it."
MAP_COMES_LATER: Final = "A later request will include it."


def missing_map_notice(waited_ms: float) -> str:
    """Return the notice that a request was sent before the repository map was ready."""
    return f"The request was sent without the repository map, which was not ready after {format_milliseconds(waited_ms)}."


def skipped_lines_notice(count: int) -> str:
    """Return the notice about unreadable lines of a log."""
    return format_count(count, "damaged line was skipped", "damaged lines were skipped")


def unknown_events_notice(count: int, *, other_version: bool = False) -> str:
    """Return a phrase about `count` events of an unknown kind or version in a log."""
    subject = "a log version" if other_version else "a kind"
    return f"{format_count(count, 'event')} of {subject} that this version of tui-agent does not know"


LARGER_WINDOW_HINT: Final = "Use a model with a larger window (/model), or save the text in a file and mention its @path: files are read in parts."


def truncation_notice(cut: ContextTruncated) -> str:
    """Return the notice that some texts did not fit in the context window."""
    window = f" of {format_tokens(cut.window)} tokens" if cut.window else ""
    sizes = [
        f"{format_number(text.chars)} of {format_number(text.raw_chars)} characters"
        for text in cut.truncations
    ]
    if len(cut.truncations) == 1:
        subject, sent = f"{cut.truncations[0].label} does", f" ({sizes[0]})"
    else:
        labels = [f"{text.label} ({size})" for text, size in zip(cut.truncations, sizes, strict=True)]
        subject, sent = f"{', '.join(labels[:-1])} and {labels[-1]} do", ""
    return (
        f"{subject[:1].upper()}{subject[1:]} not fit in this model's window{window}: the model gets the beginning"
        f" and the end{sent} and can read the rest ({_artifact_ids(cut.truncations)})."
    )


def inferred_window_notice(event: ContextWindowInferred) -> tuple[str, str]:
    """Return two lines: the inferred window of a model, and a hint on how to set the real window."""
    reason = (
        "the provider stated this size"
        if event.stated_by_provider
        else f"the provider refused a request of {format_tokens(event.refused_tokens)} tokens"
    )
    line = f"tui-agent now assumes a window of {format_tokens(event.window)} tokens for model {event.profile}: {reason}."
    return line, "If you know the real size, set context_window in the model's profile in config.toml."


def shortened_summary_notice(cuts: Sequence[Truncation]) -> str:
    """Return the notice that a summary contains some texts only in part."""
    labels = ", ".join(dict.fromkeys(cut.label for cut in cuts))
    return f"Shortened in the summary: {labels}. The model can read the full texts ({_artifact_ids(cuts)})."


def _artifact_ids(cuts: Sequence[Truncation]) -> str:
    return ", ".join(cut.artifact.id for cut in cuts)


def mention_name(mention: Mention) -> str:
    """Return the path of a mentioned file or folder. For any other mention, return the text that the user wrote."""
    is_path = mention.path and mention.kind not in ("missing", "symbol")
    return mention.path if is_path else mention.reference


def mention_result(mention: Mention) -> str:
    """Describe the content that a mention sent to the model, or say why nothing was sent."""
    match mention.kind:
        case "missing":
            return f"sent as plain text: {mention.note}"
        case "refused":
            return f"not sent: {mention.note}"
        case "directory":
            return format_count(mention.size, "entry", "entries")
        case "image":
            return format_bytes(mention.size)
        case "resource":
            return f"{'its beginning, ' if mention.truncated else ''}{format_tokens(mention.tokens)} tokens"
        case "symbol":
            return f"{mention.path}:{mention.first_line}" + (f", {mention.note}" if mention.note else "")
        case "file":
            lines = f"lines {mention.first_line}–{mention.last_line}, " if mention.first_line else ""
            return (
                f"{lines}{mention.note + ', ' if mention.note else ''}{format_tokens(mention.tokens)} tokens"
            )


def describe_saved_rule(decided: PermissionDecided) -> str:
    """Describe the permission rule that the user's answer saved. Return an empty string if no rule was saved."""
    if decided.decision != "allow" or decided.reach not in ("always", "everywhere"):
        return ""
    verdict, _, rest = decided.rule.partition(" ")
    if verdict != "allow":
        return f"Saved in config.toml: {decided.rule}."
    place = "In every project" if decided.reach == "everywhere" else "In this project"
    command = rest.removeprefix("run ")
    allowed = f"`{command}` now runs" if command != rest else f"`{rest}` is now allowed"
    return f"{place}, {allowed} without asking. /policy shows the rule and its file."


def always_label(request: PermissionRequested, *, everywhere: bool = False) -> str:
    """Return the label of the answer that saves a rule, e.g. `Always, this project`."""
    choice = request.choice_for("always")
    if choice is not None and choice.rule.startswith(OPENS_FILES):
        return "Always, config.toml"
    return "Always, every project" if everywhere else "Always, this project"
