"""Texts that the checks know by their form, from `rules/shapes.toml`, which explains the fields.

Invariant: a pattern is compiled when a text is first compared with it.
"""

import re
from collections.abc import Callable
from functools import cache

from tui_agent.store.redaction.fragments import rules_table

_WAYS = {"whole": r"\A\s*(?:{})\s*\Z", "part": "{}", "start": r"\A(?:{})"}


@cache
def _matcher(name: str) -> Callable[[str], object]:
    shape = rules_table("shapes")[name]
    flags = f"(?{shape['flags']})" if "flags" in shape else ""
    return re.compile(flags + _WAYS[shape["fits"]].format("|".join(shape["pattern"]))).search


def has_shape(text: str, *names: str) -> bool:
    """Return True if a text, or the part of it that counts, has one of the forms of these names."""
    for name in names:  # noqa: SIM110 - a generator is slower, and this runs often for every candidate
        if _matcher(name)(text):
            return True
    return False
