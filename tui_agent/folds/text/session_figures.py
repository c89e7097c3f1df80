"""Texts with the model, the limits, the context, the cost and the measured values of a session.

Invariant: the same figure has the same text in every client. A value that was not measured has no row.
"""

from typing import Final

from tui_agent.folds.context.meter import ContextMeterView
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import (
    format_bytes,
    format_cost,
    format_duration,
    format_estimate,
    format_number,
    format_percent,
    format_time_limit,
    format_tokens,
)

CHARS_PER_TOKEN: Final = 4


def describe_model(model: ModelInfo) -> str:
    """Return the model's name, its provider and its reasoning effort."""
    effort: str = model.effort or ""
    if model.effective_effort and model.effective_effort != model.effort:
        effort += f", sent as {model.effective_effort}"
    provider = f" ({model.provider})" if model.provider else ""
    return f"{model.model or 'none'}{provider}{f', reasoning {effort}' if effort else ''}"


def describe_sandbox(state: SessionStateView) -> str:
    """Describe the sandbox for commands, or say why there is none."""
    return state.sandbox or (
        f"none: {state.no_sandbox_reason}" if state.no_sandbox_reason else "not known yet"
    )


def describe_context(meter: ContextMeterView) -> str:
    """Return how much of the context is used, e.g. `3.9k of 200k tokens, 2 %`."""
    if not meter.used:
        return "empty"
    if not meter.window:
        return f"{format_tokens(meter.used)} tokens"
    share = format_percent(meter.fraction)
    return f"{format_tokens(meter.used)} of {format_tokens(meter.window)} tokens, {share}"


def describe_cost(state: SessionStateView) -> str:
    """Return the session's cost, the cost limit and the number of turns, e.g. `$0.097 of $2.50, 3 turns`."""
    limit = state.settings.budgets.max_cost_usd if state.settings is not None else None
    of_limit = "" if limit is None else f" of {format_cost(limit)}"
    unknown = "not known" if state.turn or state.undone.turns else "none yet"
    cost = format_cost(state.cost_usd, state.cost_precision) or unknown
    return f"{cost}{of_limit}, {format_count(state.turn, 'turn')}"


def describe_tokens(state: SessionStateView) -> str:
    """Return the tokens of all requests, e.g. `12k in (3k cached), 300 out`."""
    usage = state.usage
    cached = format_tokens(usage.cached_tokens)
    return (
        f"{format_tokens(usage.input_tokens)} in ({cached} cached), {format_tokens(usage.output_tokens)} out"
    )


def describe_limits(state: SessionStateView) -> str:
    """Return the session's limits, e.g. `20 turns, 600 s, $2.50`, or `none`."""
    if state.settings is None:
        return "none"
    budgets = state.settings.budgets
    limits = (
        (budgets.max_parts, "parts"),
        (budgets.max_iterations, "iterations"),
        (budgets.max_turns, "turns"),
    )
    texts = [f"{format_number(value)} {unit}" for value, unit in limits if value is not None]
    if budgets.timeout_seconds is not None:
        texts.append(format_time_limit(budgets.timeout_seconds))
    if budgets.max_cost_usd is not None:
        texts.append(format_cost(budgets.max_cost_usd))
    return ", ".join(texts) or "none"


def describe_instructions(state: SessionStateView) -> str:
    """Return the instruction files with their sizes."""
    return ", ".join(f"{file.path} ({format_estimate(file.tokens)} tokens)" for file in state.instructions)


def estimate_next_turn(
    meter: ContextMeterView, state: SessionStateView, draft_chars: int
) -> tuple[int, float | None]:
    """Return the estimated tokens and cost in USD (None: price unknown) of the next turn's first request.

    `draft_chars`: length of the user's next message in characters.
    """
    added = (state.unmeasured_shell_chars + draft_chars) // CHARS_PER_TOKEN
    price = state.settings.model.input_price if state.settings is not None else None
    usd = meter.next_cost_usd
    return meter.used + added, usd if usd is None else usd + added * (price or 0.0) / 1_000_000


def measure_rows(metrics: MetricsView) -> list[tuple[str, str]]:
    """Return rows of (name, text) for the measures of a session."""
    share = (
        ""
        if metrics.compression_ratio is None
        else f", {format_percent(metrics.compression_ratio)} sent to models"
    )
    artifacts = (
        f"{format_count(metrics.artifact_count, 'output')} stored, {format_bytes(metrics.artifact_bytes)}"
    )
    rows = [
        (
            "output",
            f"{format_count(metrics.raw_output_chars, 'character')}{share}"
            if metrics.raw_output_chars
            else "",
        ),
        ("context", _describe_requests(metrics) if metrics.context_peak_tokens else ""),
        ("observations", _describe_observations(metrics)),
        ("artifacts", artifacts if metrics.artifact_count else ""),
        ("map", _describe_map(metrics)),
        ("memory", format_count(metrics.memory_updates, "update") if metrics.memory_updates else ""),
        ("first edit", _describe_first_edit(metrics)),
    ]
    return [(name, value) for name, value in rows if value]


def describe_work(metrics: MetricsView) -> str:
    """Describe the numbers of turns, iterations and parts, e.g. `1 turn, 2 iterations, 5 parts`."""
    counts = (metrics.turns, "turn"), (metrics.iterations, "iteration"), (metrics.parts, "part")
    return ", ".join(format_count(count, noun) for count, noun in counts)


def _describe_requests(metrics: MetricsView) -> str:
    counted_tokens = metrics.context_real_tokens
    provider_note = "" if counted_tokens is None else f" (provider's count: {format_tokens(counted_tokens)})"
    return (
        f"peak about {format_tokens(metrics.context_peak_tokens)} tokens, "
        f"last request {format_tokens(metrics.context_estimated_tokens)} tokens{provider_note}; "
        f"{format_count(metrics.context_compression_count, 'summary', 'summaries')}, outputs shortened "
        f"{format_count(metrics.context_reduction_count, 'time')}"
    )


def _describe_observations(metrics: MetricsView) -> str:
    phrases = []
    if metrics.hot_observation_count:
        phrases.append(f"{format_count(metrics.hot_observation_count, 'tool result')} in full")
    if metrics.cold_summary_chars:
        phrases.append(
            f"older ones replaced by a summary of {format_count(metrics.cold_summary_chars, 'character')}"
        )
    if metrics.repeated_reads:
        phrases.append(f"{format_count(metrics.repeated_reads, 'repeated read')}")
    return ", ".join(phrases)


def _describe_map(metrics: MetricsView) -> str:
    if not metrics.repomap_builds and not metrics.repomap_uses:
        return ""
    tool_uses = metrics.repomap_uses - metrics.repomap_injections
    return (
        f"built {format_count(metrics.repomap_builds, 'time')}, added to "
        f"{format_count(metrics.repomap_injections, 'request')}, {format_count(tool_uses, 'tool call')}"
    )


def _describe_first_edit(metrics: MetricsView) -> str:
    if metrics.first_edit_part is None:
        return ""
    phrases = [f"part {metrics.first_edit_part}"]
    if metrics.seconds_to_first_edit is not None:
        phrases.append(f"after {format_duration(metrics.seconds_to_first_edit)}")
    if metrics.first_target_read_part is not None:
        phrases.append(f"first read of an edited file at part {metrics.first_target_read_part}")
    if metrics.search_to_edit_parts is not None:
        phrases.append(f"last search {format_count(metrics.search_to_edit_parts, 'part')} before the edit")
    if metrics.edit_to_test_parts is not None:
        phrases.append(f"tested {format_count(metrics.edit_to_test_parts, 'part')} after the edit")
    if metrics.seconds_to_first_test is not None:
        phrases.append(f"first test after {format_duration(metrics.seconds_to_first_test)}")
    return ", ".join(phrases)
