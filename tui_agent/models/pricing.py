"""The cost of a model call, from the token counts that the provider reports."""

from typing import Any

from tui_agent.models.model_facts import MILLION
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo


def cost(info: ModelInfo, usage: Usage) -> float | None:
    """Compute a request's cost in USD from the provider's token counts. Return None if a price is unknown."""
    # Tokens written to the cache cost 1.25 times the input price (Anthropic's published price).
    if info.input_price is None or info.output_price is None:
        return None
    cached_price = info.cached_price if info.cached_price is not None else info.input_price
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    total = fresh * info.input_price + usage.output_tokens * info.output_price
    total += usage.cached_tokens * cached_price + usage.cache_write_tokens * info.input_price * 1.25
    return total / MILLION


def parse_usage(raw: dict[str, Any]) -> Usage:
    """Parse token counts, in the form of the Chat Completions API, its variants, or the Responses API."""
    input_details = raw.get("prompt_tokens_details") or raw.get("input_tokens_details") or {}
    output_details = raw.get("completion_tokens_details") or raw.get("output_tokens_details") or {}
    return Usage(
        input_tokens=int(raw.get("prompt_tokens") or raw.get("input_tokens") or 0),
        output_tokens=int(raw.get("completion_tokens") or raw.get("output_tokens") or 0),
        cached_tokens=int(input_details.get("cached_tokens") or raw.get("prompt_cache_hit_tokens") or 0),
        cache_write_tokens=int(input_details.get("cache_write_tokens") or 0),
        reasoning_tokens=int(output_details.get("reasoning_tokens") or 0),
    )
