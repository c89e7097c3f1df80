"""The state as plain JSON and back, with the figures that follow from it. Nothing is ever unpickled.

Invariant: `state_from_json(state_to_json(state)) == state`.
"""

from functools import cache

from pydantic import TypeAdapter

from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.base import JsonMap

DERIVED = ("confirmation_mode", "budget", "file_summaries")
"""What `state_to_json` adds for a reader; it follows from the rest."""


@cache
def _adapter() -> TypeAdapter[SessionStateView]:
    return TypeAdapter(SessionStateView)


def state_to_json(state: SessionStateView) -> JsonMap:
    """Every field by its name, and the derived ones."""
    plain: JsonMap = _adapter().dump_python(state, mode="json")
    budgets = state.settings.budgets.model_dump(mode="json") if state.settings is not None else {}
    plain["confirmation_mode"] = state.confirmation_mode
    plain["budget"] = {
        **budgets,
        "parts_used": state.parts - state.turn_start_part,
        "iterations_used": state.turn_iterations,
        "turns_used": state.turn,
        "cost_used_usd": state.totals.cost_usd,
    }
    plain["file_summaries"] = {
        path: f"{'read whole' if known.whole else 'read in part'}, content {known.digest[:12]}"
        for path, known in state.read_files.items()
    }
    return plain


def state_from_json(plain: JsonMap) -> SessionStateView:
    """The state that `state_to_json` gave. Raises `pydantic.ValidationError` where it is none."""
    return _adapter().validate_python({key: value for key, value in plain.items() if key not in DERIVED})
