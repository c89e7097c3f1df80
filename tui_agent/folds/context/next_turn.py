"""Estimate of the first request of the next turn: the newest request, and the text that will be added."""

from typing import Final

from tui_agent.folds.context.meter import ContextMeterView
from tui_agent.folds.session.view import SessionStateView

CHARS_PER_TOKEN: Final = 4


def estimate_next_turn(
    meter: ContextMeterView, state: SessionStateView, draft_chars: int
) -> tuple[int, float | None]:
    """Return the estimated tokens and cost in USD (None: price unknown) of the next turn's first request.

    `draft_chars`: length of the user's next message in characters.
    """
    added = (state.unsent_shell_chars + draft_chars) // CHARS_PER_TOKEN
    price = state.settings.model.input_price if state.settings is not None else None
    usd = meter.next_cost_usd
    return meter.used + added, usd if usd is None else usd + added * (price or 0.0) / 1_000_000
