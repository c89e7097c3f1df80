"""The overview (summary) of one session in the shell: its times, events, tools, files, tests, tokens and cost as rows."""

from tui_agent.folds.text.labels import FAILURE_LABELS, TURN_END_LABELS, describe_failures
from tui_agent.folds.text.session_figures import describe_work
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.units import format_cost, format_duration, format_time, format_tokens


def overview_rows(metrics: MetricsView) -> list[tuple[str, str]]:
    """Return a session's metrics as (name, formatted value) pairs. Metrics without a value are left out."""
    tools = ", ".join(
        f"{name} {count}" for name, count in sorted(metrics.tools.items(), key=lambda pair: -pair[1])
    )
    cost = (
        "unknown (no price)"
        if metrics.cost_usd is None
        else format_cost(metrics.cost_usd, metrics.cost_precision)
    )
    tokens = f"{format_tokens(metrics.input_tokens)} in ({format_tokens(metrics.cached_tokens)} cached), {format_tokens(metrics.output_tokens)} out"
    calls = f"{metrics.model_calls}, {metrics.model_retry_count} retried, {metrics.model_failures} failed"
    failures = f"{metrics.failed_tools} failed, {metrics.invalid_calls} invalid, {metrics.denials} denied"
    failed_tests = describe_failures(metrics.tests_failed or 0, metrics.test_errors) or "0 failed"
    counts = (f"{metrics.tests_passed or 0} passed", failed_tests, metrics.later_changes.description)
    tests = ", ".join(filter(None, counts))
    has_tests = metrics.tests_passed is not None or metrics.tests_failed is not None
    start = f"{format_time(metrics.first_at)}, last event {format_duration(metrics.last_at - metrics.first_at)} later"
    rows = [
        ("started", start if metrics.events else ""),
        ("events", f"{metrics.events}: {kinds(metrics)}" if metrics.events else "none readable"),
        ("work", describe_work(metrics)),
        ("model calls", calls),
        ("tools", tools),
        ("tool errors", failures if metrics.failed_tools or metrics.invalid_calls or metrics.denials else ""),
        ("files", ", ".join(metrics.files_changed)),
        ("tests", tests if has_tests else ""),
        ("tokens", tokens),
        ("cost", cost),
        ("last turn", _end_label(metrics.last_turn_end)),
        ("last failure", FAILURE_LABELS.get(metrics.failure, metrics.failure)),
    ]
    return [(name, value) for name, value in rows if value]


def _end_label(reason: str) -> str:
    return next((words for name, words in TURN_END_LABELS.items() if name == reason), reason)


def kinds(metrics: MetricsView) -> str:
    """Format the eight most frequent kinds of events with their counts, and the total of the others."""
    commonest = sorted(metrics.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = sum(count for _, count in commonest[8:])
    counts = [f"{kind} {count}" for kind, count in commonest[:8]]
    return ", ".join([*counts, f"others {rest}"] if rest else counts)
