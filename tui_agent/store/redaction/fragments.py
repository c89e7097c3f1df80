"""L1: the pieces that patterns are made of, from `rules/fragments.toml`.

Invariant: a pattern that names an unknown piece is refused.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_RULES = Path(__file__).parent / "rules"
_NAMED = re.compile(r"\{\{(\w+)\}\}")


@cache
def fragments() -> Mapping[str, str]:
    """Return the pieces by name."""
    table: dict[str, str] = tomllib.loads(read_rules_file("fragments"))["fragments"]
    return table


def expand(pattern: str) -> str:
    """Fill in the pieces that a pattern names as `{{name}}`. Raises `ValueError` for an unknown name."""

    def fill(match: re.Match[str]) -> str:
        if match[1] not in fragments():
            raise ValueError(
                f"unknown piece {{{{{match[1]}}}}}; the known ones are {', '.join(sorted(fragments()))}"
            )
        return expand(fragments()[match[1]])

    return _NAMED.sub(fill, pattern)


def read_rules_file(name: str) -> str:
    """Return the text of one of the bundled files, given without its ending."""
    return (_RULES / f"{name}.toml").read_text(encoding="utf-8")
