"""Budget limits, which are checked before each model call and each tool call.

Invariant: all functions are pure functions of the session's state.
"""

from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_cost

COMMAND_LINE_CLIENTS = ("headless", "eval", "sim")
"""Clients that are shell commands such as `tui-agent run`. The full-screen app is not one of them."""


def reached_limit(state: SessionStateView) -> tuple[TurnEnd, str] | None:
    """Return the reached limit and a sentence for the user, or None if no limit is reached.

    The time limit of the turn is not checked here.
    """
    if state.own_iteration_limit is not None and state.local_iteration >= state.own_iteration_limit:
        return "iteration_limit", f"Stopped at {format_count(state.own_iteration_limit, 'iteration')}."
    if state.settings is None:
        return None
    budgets, used = state.settings.budgets, state.used
    if budgets.max_parts is not None and used.parts >= budgets.max_parts:
        parts = format_count(budgets.max_parts, "message part")
        return "part_limit", f"Stopped at {parts}, the limit of this session. --max-parts raises it."
    if budgets.max_cost_usd is not None and used.cost_usd >= budgets.max_cost_usd:
        cost = format_cost(used.cost_usd, used.cost_precision, short=True)
        limit = format_cost(budgets.max_cost_usd)
        raises = "--max-cost" if state.client in COMMAND_LINE_CLIENTS else "/cost"
        return "cost_limit", f"Stopped at {cost}; the limit of this session is {limit}. {raises} raises it."
    if budgets.max_iterations is not None and used.iterations >= budgets.max_iterations:
        iterations = format_count(budgets.max_iterations, "iteration")
        return (
            "iteration_limit",
            f"Stopped at {iterations}, the limit of this session. --max-iterations raises it.",
        )
    return None


def is_budget_exhausted(state: SessionStateView) -> bool:
    """Return True if a limit other than the iteration limit is reached, so that no further tool may start."""
    limit = reached_limit(state)
    return limit is not None and limit[0] != "iteration_limit"
