"""Budgets, checked before each model call and each tool. Pure."""

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.protocol.events.turn import TurnEnd


def reached(state: SessionStateView) -> tuple[TurnEnd, str] | None:
    """The limit that the session has reached, with a sentence for the user; None while there is room.

    Parts and iterations count over the running turn, cost over the session. Time is a cancel scope, not a check.
    """
    if state.settings is None:
        return None
    budgets = state.settings.budgets
    if budgets.max_parts is not None and state.parts - state.turn_start_part >= budgets.max_parts:
        return "part_limit", f"Stopped at {_counted(budgets.max_parts, 'part')}, the limit of a turn."
    cost = state.totals.cost_usd
    if budgets.max_cost_usd is not None and cost is not None and cost >= budgets.max_cost_usd:
        return "cost_limit", f"Stopped at ${cost:.2f}, the limit of this session. /cost raises it."
    if budgets.max_iterations is not None and state.turn_iterations >= budgets.max_iterations:
        said = _counted(budgets.max_iterations, "iteration")
        return "iteration_limit", f"Stopped at {said}, the limit of a turn."
    return None


def exhausted(state: SessionStateView) -> bool:
    """No further tool of the running iteration may start."""
    limit = reached(state)
    return limit is not None and limit[0] != "iteration_limit"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
