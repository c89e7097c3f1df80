"""Composition: when a history is made smaller, and the words that a summary is asked for with."""

from tui_agent.context.compaction_limits import Shrinking
from tui_agent.engine.middleware.prompts import PromptTexts
from tui_agent.wiring.base import Ground

REDUCED_BY = 0.7
"""What is left of a context whose old outputs were put away, where there are enough of them."""


def shrinking(base: Ground) -> Shrinking:
    """As the configuration says. Raises `ConfigError` where the prompt cannot be read."""
    wanted = base.config.context
    return Shrinking(
        reduce_at=wanted.reduce_at,
        reduce_to=wanted.reduce_at * REDUCED_BY,
        compact_at=wanted.compact_at,
        keep=wanted.keep,
        prompt=PromptTexts((base.config.paths.config_dir / "prompts",)).get("compact"),
    )
