"""Check of a fork's model. A separate module because it loads plugins."""

from pathlib import Path

from tui_agent.errors import UsageError
from tui_agent.session.fork_request import Beginning
from tui_agent.session.fork_workspace import state_of
from tui_agent.wiring.base import Ground
from tui_agent.wiring.models import model_factory


def check(base: Ground, parent: Path, wish: Beginning) -> None:
    """Raise `ConfigError` if the model is not found or does not support the effort."""
    state = state_of(parent, wish.at_seq)
    if state.settings is None:
        raise UsageError(f"The log of {parent.name} does not contain its model at that event.")
    known, change = state.settings.model, wish.change
    base_url = "" if change.model else known.base_url
    effort = change.reasoning_effort or known.effort
    model_factory(base).resolve(change.model or known.profile, base_url, effort)
