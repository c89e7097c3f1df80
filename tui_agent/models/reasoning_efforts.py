"""Reasoning efforts: which efforts a model accepts, and which effort is sent to its provider."""

from collections.abc import Mapping, Sequence

from tui_agent.config.settings.providers import ClientName
from tui_agent.errors import ConfigError
from tui_agent.models import model_facts
from tui_agent.protocol.settings import EFFORTS, Effort

NEAREST_EFFORTS: Mapping[Effort, Effort] = {"minimal": "low", "xhigh": "high"}
"""Maps an effort to its replacement for models that lack the effort."""


def supported_efforts(client: ClientName, model: str, vendor: str) -> tuple[Effort, ...]:
    """Return the reasoning efforts that a model accepts as they are. Other efforts are converted before sending.

    `vendor`: litellm's name of the provider.
    """
    if client == "openai-responses":
        return tuple(effort for effort in EFFORTS if effort != "minimal")
    known = model_facts.facts(model, vendor)
    if client != "litellm" or (known.known and not known.reasoning):
        return ()
    return tuple(
        effort
        for effort in EFFORTS
        if effort not in NEAREST_EFFORTS
        or model_facts.supports(model, vendor, f"{effort}_reasoning_effort") is True
    )


def provider_effort(
    client: ClientName, model: str, supported: Sequence[Effort], effort: Effort | None
) -> Effort | None:
    """Return the reasoning effort to send to a provider, or None to send no effort.

    Raise `ConfigError` if the model supports no effort.
    """
    if effort is None or (effort == "none" and client != "openai-responses"):
        return None
    if supported:
        return effort if effort in supported else NEAREST_EFFORTS[effort]
    if client == "openai-chat":
        raise ConfigError(
            f"The provider openai-chat cannot send a reasoning effort ('{effort}') to {model}.",
            hint="Remove the reasoning effort, or use the provider openai-responses or litellm.",
        )
    raise ConfigError(
        f"The model {model} does not support a reasoning effort ('{effort}').",
        hint="Remove the reasoning effort.",
    )
