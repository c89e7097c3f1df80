"""Named patterns (shapes), such as `placeholder`, for redaction checks. `rules/shapes.toml` defines them.

Invariant: a pattern is compiled when it is first needed.
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
    """Return True if a text has one of the named shapes."""
    for name in names:  # noqa: SIM110 - a generator is slower, and this runs often for every candidate
        if _matcher(name)(text):
            return True
    return False
