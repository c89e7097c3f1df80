"""Context windows, output limits and prices, from the JSON map inside litellm's package, without importing it.

Invariant: the map's file is read at most once a process, on first need; a profile's own figures win over everything.
Prices are USD for one million tokens.
"""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo

MAP_FILE = "model_prices_and_context_window_backup.json"
MILLION = 1_000_000
LONGEST_ENTRY = 64 * 1024
"""Bytes in which the entry of one model ends; the longest has a twentieth of it."""

Entry = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a model; 0 and None: unknown."""

    window: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    cache_write_price: float | None = None
    images: bool = False
    reasoning: bool | None = None
    mode: str = ""
    known: bool = False


FALLBACK: Mapping[str, Facts] = {
    "gemini-3-pro": Facts(window=1_048_576, max_output=65_536, images=True, reasoning=True),
    "gemini-3-flash": Facts(window=1_048_576, max_output=65_536, images=True, reasoning=True),
    "mimo-v2.5": Facts(window=1_048_576, max_output=32_000, images=True, reasoning=True),
    "mimo-v2.5-pro": Facts(window=1_048_576, max_output=32_000, reasoning=True),
    "claude": Facts(window=200_000, max_output=32_000, images=True, reasoning=True),
    "gpt-5": Facts(window=272_000, max_output=128_000, images=True, reasoning=True),
    "gpt-4": Facts(window=128_000, max_output=16_384, images=True, reasoning=False),
    "deepseek": Facts(window=131_072, max_output=8_192),
    "qwen3": Facts(window=131_072, max_output=16_384),
    "glm": Facts(window=131_072, max_output=16_384),
    "kimi": Facts(window=262_144, max_output=16_384),
    "grok": Facts(window=256_000, max_output=16_384),
    "llama": Facts(window=131_072, max_output=8_192),
    "mistral": Facts(window=131_072, max_output=8_192),
    "devstral": Facts(window=131_072, max_output=8_192),
    "gpt-oss": Facts(window=131_072, max_output=16_384, reasoning=True),
}
"""For models that the map does not know, or knows without limits; the longest matching beginning counts."""


@lru_cache(maxsize=1)
def price_map() -> Mapping[str, Entry]:
    """The map as it lies in litellm's package; empty where that is absent or unreadable."""
    try:
        found = json.loads(_written())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=1)
def _written() -> bytes:
    """The map's file; empty where it is absent or unreadable."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return b""
    try:
        return (Path(spec.submodule_search_locations[0]) / MAP_FILE).read_bytes()
    except OSError:
        return b""


@lru_cache(maxsize=64)
def named(model: str) -> Entry | None:
    """What the map says under a name; None where it says nothing.

    A session asks for one or two names of four thousand: they are read where they stand. The whole map, for lists and
    names that are near, takes 16 ms.
    """
    written, begin = _written(), json.dumps(model).encode() + b": {"
    at = written.find(begin)
    if at < 0 or written.find(begin, at + 1) >= 0:
        return price_map().get(model) if at >= 0 else None
    at += len(begin) - 1
    try:
        found, _ = json.JSONDecoder().raw_decode(written[at : at + LONGEST_ENTRY].decode("utf-8", "replace"))
    except ValueError:
        return price_map().get(model)
    return cast(Entry, found)


def facts(model: str, vendor: str = "") -> Facts:
    """What is known of a model. `vendor` is litellm's name of the provider, where it is known."""
    entry = _entry(model, vendor)
    spare = _fallback(model)
    if entry is None:
        return spare
    return Facts(
        window=_count(entry, "max_input_tokens") or _count(entry, "max_tokens") or spare.window,
        max_output=_count(entry, "max_output_tokens") or _count(entry, "max_tokens") or spare.max_output,
        input_price=_price(entry, "input_cost_per_token"),
        output_price=_price(entry, "output_cost_per_token"),
        cached_price=_price(entry, "cache_read_input_token_cost"),
        cache_write_price=_price(entry, "cache_creation_input_token_cost"),
        images=entry.get("supports_vision") is True,
        reasoning=entry.get("supports_reasoning") is True,
        mode=str(entry.get("mode") or ""),
        known=True,
    )


def supports(model: str, vendor: str, feature: str) -> bool | None:
    """A `supports_…` flag of the map; None where it does not say."""
    entry = _entry(model, vendor)
    flag = None if entry is None else entry.get(f"supports_{feature}")
    return flag if isinstance(flag, bool) else None


def near(name: str, limit: int = 3) -> list[str]:
    """Chat models of the map whose names are like `name`, best first."""
    chat = {
        key: key
        for key, entry in price_map().items()
        if entry.get("mode") in ("chat", "responses", "completion")
    }
    for key, entry in price_map().items():
        if key in chat and "/" not in key:
            chat[f"{entry.get('litellm_provider')}/{key}"] = key
    found = get_close_matches(name, chat, n=limit * 2, cutoff=0.6)
    return list(dict.fromkeys(found))[:limit]


def vendor_of(model: str) -> str:
    """Who offers a model of this bare name, as litellm calls them; empty where the map does not know it."""
    entry = named(model)
    return str(entry.get("litellm_provider") or "") if entry else ""


@lru_cache(maxsize=1)
def providers() -> frozenset[str]:
    """The names of all providers that the map has models of."""
    return frozenset(str(entry.get("litellm_provider")) for entry in price_map().values())


def models_of(vendor: str) -> list[str]:
    """The chat models of a vendor, as the map knows them."""
    return sorted(
        key.removeprefix(f"{vendor}/")
        for key, entry in price_map().items()
        if entry.get("litellm_provider") == vendor and entry.get("mode") in ("chat", "responses")
    )


def window(info: ModelInfo) -> int:
    """A model's context window in tokens; 0: unknown."""
    return info.window or facts(info.model).window


def price(info: ModelInfo) -> tuple[float | None, float | None, float | None]:
    """USD for a million tokens: input, output, read from the cache."""
    return info.input_price, info.output_price, info.cached_price


def cost(info: ModelInfo, usage: Usage) -> float | None:
    """What a call cost in USD, from the provider's own token counts; None where a price is unknown.

    Tokens read from the cache cost the cached price (else the full one); tokens written to it cost 1.25 times the
    input price (Anthropic's published rule; other vendors report none).
    """
    if info.input_price is None or info.output_price is None:
        return None
    cached_price = info.cached_price if info.cached_price is not None else info.input_price
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    total = fresh * info.input_price + usage.output_tokens * info.output_price
    total += usage.cached_tokens * cached_price + usage.cache_write_tokens * info.input_price * 1.25
    return total / MILLION


def _entry(model: str, vendor: str) -> Entry | None:
    bare = model.rsplit("/", 1)[-1]
    for key in (f"{vendor}/{model}" if vendor else "", model, bare):
        entry = named(key) if key else None
        if entry is not None and (
            not vendor or key != bare or entry.get("litellm_provider") in (vendor, "openai")
        ):
            return entry
    return None


def _fallback(model: str) -> Facts:
    bare = model.rsplit("/", 1)[-1].lower()
    fitting = [name for name in FALLBACK if bare.startswith(name)]
    return FALLBACK[max(fitting, key=len)] if fitting else Facts()


def _count(entry: Entry, key: str) -> int:
    value = entry.get(key)
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return int(value) if isinstance(value, int | float) else 0


def _price(entry: Entry, key: str) -> float | None:
    value = entry.get(key)
    return round(float(value) * MILLION, 6) if isinstance(value, int | float) else None
