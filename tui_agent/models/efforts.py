"""Conversion of the user's reasoning effort to the value sent to each provider.

Invariant: an effort that a provider does not support is rejected, never dropped silently; `none` is always allowed.
"""

from tui_agent.config.vendors import ClientName
from tui_agent.errors import ConfigError
from tui_agent.models import pricing
from tui_agent.protocol.settings import EFFORTS, Effort


def effective(client: ClientName, model: str, vendor: str, effort: Effort | None) -> str | None:
    """Return the value to send, or None to send nothing. Raises `ConfigError` if the effort is not supported.

    The Responses API gets `low` for `minimal`; a Chat Completions server gets no effort at all.
    """
    if effort is None or client in ("scripted", "replay", "chaos"):
        return None
    if client == "openai-responses":
        return "low" if effort == "minimal" else effort
    if effort == "none":
        return None
    if client == "openai-chat":
        raise ConfigError(
            f"The provider openai-chat cannot send a reasoning effort ('{effort}') to {model}.",
            hint="Remove the reasoning effort, or use the provider openai-responses or litellm.",
        )
    return _litellm_effort(model, vendor, effort)


def checked(text: str) -> Effort:
    """Return the text as an effort. Raises `ConfigError` with the valid values."""
    for effort in EFFORTS:
        if effort == text:
            return effort
    raise ConfigError(f"'{text}' is not a reasoning effort.", hint=f"Choose one of: {', '.join(EFFORTS)}.")


def _litellm_effort(model: str, vendor: str, effort: Effort) -> str:
    known = pricing.facts(model, vendor)
    if known.known and not known.reasoning:
        raise ConfigError(
            f"The model {model} does not support a reasoning effort ('{effort}').",
            hint="Remove the reasoning effort.",
        )
    if effort == "xhigh" and pricing.supports(model, vendor, "xhigh_reasoning_effort") is not True:
        return "high"
    if effort == "minimal" and pricing.supports(model, vendor, "minimal_reasoning_effort") is not True:
        return "low"
    return effort
