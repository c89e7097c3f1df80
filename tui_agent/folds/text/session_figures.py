"""Texts with the model, the limits, the context and the cost of a session.

Invariant: the same figure has the same text in every client.
"""

from tui_agent.folds.context.meter import ContextMeterView
from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import (
    format_cost,
    format_estimate,
    format_number,
    format_percent,
    format_time_limit,
    format_tokens,
)


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
