"""Reasoning effort: what the user set to what is sent, provider by provider.

Invariant: an effort that a provider has no place for is refused, never dropped in silence; `none` fits everywhere.
"""

from tui_agent.config.vendors import ClientName
from tui_agent.errors import ConfigError
from tui_agent.models import pricing
from tui_agent.protocol.settings import EFFORTS, Effort


def effective(client: ClientName, model: str, vendor: str, effort: Effort | None) -> str | None:
    """The word that goes out for an effort, or None: nothing is sent. Raises `ConfigError` where there is none.

    The Responses API gets `minimal` as `low`; a Chat Completions server gets none at all.
    """
    if effort is None or client in ("scripted", "replay", "chaos"):
        return None
    if client == "openai-responses":
        return "low" if effort == "minimal" else effort
    if effort == "none":
        return None
    if client == "openai-chat":
        raise ConfigError(
            f"A reasoning effort ('{effort}') cannot be sent to {model} by openai-chat.",
            hint="Take the reasoning effort away, or use the provider openai-responses or litellm.",
        )
    return _by_litellm(model, vendor, effort)


def checked(text: str) -> Effort:
    """A word as an effort. Raises `ConfigError` naming the six that there are."""
    for effort in EFFORTS:
        if effort == text:
            return effort
    raise ConfigError(f"'{text}' is no reasoning effort.", hint=f"Choose one of: {', '.join(EFFORTS)}.")


def _by_litellm(model: str, vendor: str, effort: Effort) -> str:
    known = pricing.facts(model, vendor)
    if known.known and not known.reasoning:
        raise ConfigError(
            f"The model {model} takes no reasoning effort ('{effort}').",
            hint="Take the reasoning effort away.",
        )
    if effort == "xhigh" and pricing.supports(model, vendor, "xhigh_reasoning_effort") is not True:
        return "high"
    if effort == "minimal" and pricing.supports(model, vendor, "minimal_reasoning_effort") is not True:
        return "low"
    return effort
