"""Check of a fork's model. A separate module because it loads plugins."""

from pathlib import Path

from tui_agent.errors import UsageError
from tui_agent.session.fork_request import ForkStart
from tui_agent.session.fork_workspace import load_state
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.startup_context import StartupContext


def check(base: StartupContext, parent: Path, wish: ForkStart) -> None:
    """Raise `ConfigError` if the model is not found or does not support the effort."""
    state = load_state(parent, wish.at_seq)
    if state.settings is None:
        raise UsageError(f"The log of {parent.name} does not contain its model at that event.")
    known, change = state.settings.model, wish.change
    base_url = "" if change.model else known.base_url
    effort = change.reasoning_effort or known.effort
    build_model_factory(base).resolve(change.model or known.profile, base_url, effort)
