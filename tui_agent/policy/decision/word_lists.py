"""The lists of names and words in `words.toml`, and the wording of command effects in `effects.toml`.

Invariant: no list allows a command. Every effect except reading has its wording.
"""

import re
import tomllib
from collections.abc import Mapping, Set
from fnmatch import translate
from functools import cache
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect


@cache
def word_list(key: str) -> frozenset[str]:
    """Return the words of one list in `words.toml`."""
    return frozenset(_data()[key])


@cache
def name_patterns(key: str) -> re.Pattern[str]:
    """Compile the shell patterns under `key` in `words.toml` into a regex for whole names."""
    return re.compile("|".join(map(translate, _data()[key])))


@cache
def word_search(key: str) -> re.Pattern[str]:
    """Compile a pattern that finds the words of a list in `words.toml`, in upper or lower case."""
    listed = "|".join(re.escape(word) for word in sorted(word_list(key), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{listed})(?![\w-])", re.IGNORECASE)


@cache
def _data() -> Mapping[str, list[str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


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
