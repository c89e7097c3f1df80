"""The building blocks of redaction rules and checks: named pattern fragments, and the files in `rules`.

Invariant: a pattern that names an unknown fragment is refused.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_RULES = Path(__file__).parent / "rules"
_NAMED = re.compile(r"\{\{(\w+)\}\}")


@cache
def rules_table(name: str) -> Mapping[str, Any]:
    """Return the content of a bundled TOML file of rules, given by its name without extension."""
    return tomllib.loads(read_rules_file(name))


def read_rules_file(name: str) -> str:
    """Return the text of a bundled file of rules, given by its name without extension."""
    return (_RULES / f"{name}.toml").read_text(encoding="utf-8")


def expand(pattern: str) -> str:
    """Replace each `{{name}}` in a pattern by the fragment of that name. Raise `ValueError` for an unknown name."""
    pieces = rules_table("fragments")["fragments"]

    def fill(match: re.Match[str]) -> str:
        if match[1] not in pieces:
            raise ValueError(f"unknown fragment {match[0]}; the known ones are {', '.join(sorted(pieces))}")
        return expand(pieces[match[1]])

    return _NAMED.sub(fill, pattern)
