"""The session state as JSON, with derived values added for readers.

Invariant: no field is lost, so the state can be read back.
"""

from functools import cache

from pydantic import TypeAdapter

from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.base import JsonMap


@cache
def _adapter() -> TypeAdapter[SessionStateView]:
    return TypeAdapter(SessionStateView)


def state_to_json(state: SessionStateView) -> JsonMap:
    """Return the state as a JSON object, with all fields and some derived values."""
    plain: JsonMap = _adapter().dump_python(state, mode="json")
    budgets = state.settings.budgets.model_dump(mode="json") if state.settings is not None else {}
    plain |= {name: getattr(state, name) for name in ("almost_stuck", "turn_cost_usd")}
    plain["open_questions"] = list(state.open_questions)
    plain["confirmation_mode"] = state.asks_before_acting
    plain["budget"] = {**budgets, "used": state.used.model_dump()}
    plain["file_summaries"] = {
        path: f"{'fully read' if read_file.complete else 'partly read'}, content {read_file.digest[:12]}"
        for path, read_file in state.read_files.items()
    }
    return plain
