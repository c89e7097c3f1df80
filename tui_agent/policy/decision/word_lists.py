"""The lists of names and words in `words.toml`.

Invariant: no word on these lists is a reason to allow a command.
"""

import re
import tomllib
from collections.abc import Mapping
from fnmatch import translate
from functools import cache
from pathlib import Path


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
