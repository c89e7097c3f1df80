"""Whether the model that a fork is to have can be used. Apart from `session_fork`, since it loads plugins."""

from pathlib import Path

from tui_agent.errors import UsageError
from tui_agent.session.fork_request import Beginning
from tui_agent.session.fork_workspace import state_of
from tui_agent.wiring.base import Ground
from tui_agent.wiring.models import model_factory


def check(base: Ground, parent: Path, wish: Beginning) -> None:
    """Raise `ConfigError` where the model is not there, or does not take the effort; nothing is made then."""
    state = state_of(parent, wish.at_seq)
    if state.settings is None:
        raise UsageError(f"The session {parent.name} does not say which model it has there.")
    known, change = state.settings.model, wish.change
    base_url = "" if change.model else known.base_url
    effort = change.reasoning_effort or known.effort
    model_factory(base).resolve(change.model or known.profile, base_url, effort)
