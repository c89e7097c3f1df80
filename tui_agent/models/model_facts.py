"""Facts about models (context windows, output limits, prices) from litellm's JSON file, read without importing litellm.

Invariant: the file is read at most once per process.
"""
# A profile's own values take precedence. Prices are in USD per million tokens.

import importlib.util
import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass

MAP_FILE = "model_prices_and_context_window_backup.json"
MILLION = 1_000_000
MAX_ENTRY_BYTES = 64 * 1024
"""Maximum size of one model's entry, in bytes."""

Entry = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a model; 0 and None mean unknown."""

    window: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
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
"""Maps the beginning of a model's name to facts about models that are not in litellm's price map.

The longest matching beginning is used.
"""


@lru_cache(maxsize=1)
def price_map() -> Mapping[str, Entry]:
    """Return the price map of litellm's package; empty if it is missing or unreadable."""
    try:
        entries = json.loads(_read_map_file())
    except ValueError:
        return {}
    return entries if isinstance(entries, dict) else {}


@lru_cache(maxsize=1)
def _read_map_file() -> bytes:
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return b""
    try:
        return (Path(spec.submodule_search_locations[0]) / MAP_FILE).read_bytes()
    except OSError:
        return b""


@lru_cache(maxsize=64)
def map_entry(model: str) -> Entry | None:
    """Return the entry for a model name in litellm's price map, or None."""
    # Parsing the whole file takes much longer than parsing one entry. If the key occurs twice, only parsing can tell
    # which one is the entry.
    content, key = _read_map_file(), json.dumps(model).encode() + b": {"
    position = content.find(key)
    if position < 0 or content.find(key, position + 1) >= 0:
        return price_map().get(model) if position >= 0 else None
    position += len(key) - 1
    try:
        entry, _ = json.JSONDecoder().raw_decode(
            content[position : position + MAX_ENTRY_BYTES].decode("utf-8", "replace")
        )
    except ValueError:
        return price_map().get(model)
    return cast(Entry, entry)


def facts(model: str, vendor: str = "") -> Facts:
    """Return the facts about a model from litellm's price map, completed from `FALLBACK`.

    `vendor`: litellm's name of the provider, if known.
    """
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
        images=entry.get("supports_vision") is True,
        reasoning=entry.get("supports_reasoning") is True,
        mode=str(entry.get("mode") or ""),
        known=True,
    )


def supports(model: str, vendor: str, feature: str) -> bool | None:
    """Return the value of a `supports_…` flag of a model in the price map, or None if there is no such flag."""
    entry = _entry(model, vendor)
    flag = None if entry is None else entry.get(f"supports_{feature}")
    return flag if isinstance(flag, bool) else None


def similar_models(name: str) -> list[str]:
    """Return up to three chat models in the price map with similar names, best first."""
    modes = ("chat", "responses", "completion")
    chat = {key: entry for key, entry in price_map().items() if entry.get("mode") in modes}
    full = {f"{entry.get('litellm_provider')}/{key}" for key, entry in chat.items() if "/" not in key}
    return get_close_matches(name, chat.keys() | full, n=3, cutoff=0.6)


def vendor_of(model: str) -> str:
    """Return litellm's name of a model's provider; empty if the price map does not have the model."""
    entry = map_entry(model)
    return str(entry.get("litellm_provider") or "") if entry else ""


@lru_cache(maxsize=1)
def providers() -> frozenset[str]:
    """Return the names of all providers in litellm's price map."""
    return frozenset(str(entry.get("litellm_provider")) for entry in price_map().values())


def _entry(model: str, vendor: str) -> Entry | None:
    bare = model.rsplit("/", 1)[-1]
    # The same name can have other prices at another provider, so a bare name must belong to this vendor or to OpenAI.
    for key in (f"{vendor}/{model}" if vendor else "", model, bare):
        entry = map_entry(key) if key else None
        if entry is not None and (
            not vendor or key != bare or entry.get("litellm_provider") in (vendor, "openai")
        ):
            return entry
    return None


def _fallback(model: str) -> Facts:
    bare = model.rsplit("/", 1)[-1].lower()
    prefixes = [name for name in FALLBACK if bare.startswith(name)]
    return FALLBACK[max(prefixes, key=len)] if prefixes else Facts()


def _count(entry: Entry, key: str) -> int:
    value = entry.get(key)
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return int(value) if isinstance(value, int | float) else 0


def _price(entry: Entry, key: str) -> float | None:
    value = entry.get(key)
    return round(float(value) * MILLION, 6) if isinstance(value, int | float) else None
