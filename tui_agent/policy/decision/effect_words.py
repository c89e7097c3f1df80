"""The words for the effects of commands, from `effects.toml`.

Invariant: data alone; every effect but reading has its words.
"""

import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tui_agent.policy.catalog.model import Effect


@dataclass(frozen=True, slots=True)
class EffectWords:
    """The words for one effect; empty where it has none. See `effects.toml`."""

    wish: str
    risk: str = ""
    warning: str = ""
    offer: str = ""
    row: tuple[str, ...] = ()


@cache
def effect_words() -> Mapping[Effect, EffectWords]:
    """Return the words for each effect, in the order in which they are shown."""
    found = tomllib.loads(Path(__file__).with_name("effects.toml").read_text(encoding="utf-8"))
    return {Effect(name): EffectWords(**words) for name, words in found.items()}


def words_for(effects: Set[Effect]) -> list[EffectWords]:
    """Return the words for some effects, in the order in which they are shown."""
    return [words for effect, words in effect_words().items() if effect in effects]
