"""The wording of command effects, from `effects.toml`.

Invariant: every effect except reading has its wording.
"""

import tomllib
from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect


@dataclass(frozen=True, slots=True)
class EffectWords:
    """The wording of one effect of a command; see `effects.toml`."""

    wish: str
    risk: str = ""
    warning: str = ""
    offer: str = ""
    row: tuple[str, ...] = ()


@cache
def effect_words() -> Mapping[Effect, EffectWords]:
    """Return the wording of each effect of a command, in display order."""
    wordings = tomllib.loads(Path(__file__).with_name("effects.toml").read_text(encoding="utf-8"))
    return {Effect(name): EffectWords(**words) for name, words in wordings.items()}


def words_for(effects: Set[Effect]) -> list[EffectWords]:
    """Return the wording of some effects of a command, in display order."""
    return [words for effect, words in effect_words().items() if effect in effects]
