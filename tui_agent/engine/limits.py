"""Budget limits, checked before each model call and each tool call. Pure."""

from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_cost


def reached_limit(state: SessionStateView) -> tuple[TurnEnd, str] | None:
    """Return the reached limit with a sentence for the user, or None.

    Message parts and iterations are counted per turn, cost per session. The time limit is not checked here: a cancel
    scope enforces it.
    """
    if state.settings is None:
        return None
    budgets = state.settings.budgets
    if budgets.max_parts is not None and state.parts - state.turn_start_part >= budgets.max_parts:
        return (
            "part_limit",
            f"Stopped at {format_count(budgets.max_parts, 'message part')}, the limit for one turn.",
        )
    cost = state.totals.cost_usd
    if budgets.max_cost_usd is not None and cost is not None and cost >= budgets.max_cost_usd:
        amount = format_cost(cost, digits=2)
        return "cost_limit", f"Stopped at {amount}, the limit of this session. /cost raises it."
    if budgets.max_iterations is not None and state.turn_iterations >= budgets.max_iterations:
        iterations = format_count(budgets.max_iterations, "iteration")
        return "iteration_limit", f"Stopped at {iterations}, the limit for one turn."
    return None


def is_budget_exhausted(state: SessionStateView) -> bool:
    """Return True if no further tool of the running iteration may start."""
    limit = reached_limit(state)
    return limit is not None and limit[0] != "iteration_limit"
