"""L1: texts that the checks know by their form, from `rules/shapes.toml`.

Invariant: a pattern is compiled when a text is first compared with it.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypedDict

from tui_agent.store.redaction.fragments import read_rules_file

_WAYS = {"whole": r"\A\s*(?:{})\s*\Z", "part": "{}", "start": r"\A(?:{})"}


class Shape(TypedDict, total=False):
    """An entry of the file, which explains the fields."""

    what: str
    fits: str
    flags: str
    pattern: list[str]
    examples: list[str]
    not_examples: list[str]


@cache
def shapes() -> Mapping[str, Shape]:
    """Return the shapes by name."""
    table: dict[str, Shape] = tomllib.loads(read_rules_file("shapes"))
    return table


@cache
def _matcher(name: str) -> Callable[[str], object]:
    shape = shapes()[name]
    flags = f"(?{shape['flags']})" if "flags" in shape else ""
    return re.compile(flags + _WAYS[shape["fits"]].format("|".join(shape["pattern"]))).search


def has_shape(text: str, *names: str) -> bool:
    """Return True if a text, or the part of it that counts, has one of the forms of these names."""
    for name in names:  # noqa: SIM110 - a generator is slower, and this runs often for every candidate
        if _matcher(name)(text):
            return True
    return False
