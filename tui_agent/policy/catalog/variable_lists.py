"""Lists of environment variables: names that are safe to set, and names that hold no secrets.

Invariant: a name on the list `never` of variables.toml is refused in any letter case, but the exact names on the list
`harmless` are allowed.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import translate
from functools import cache
from pathlib import Path

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Variables:
    """Lists of environment variables.

    `harmless`: names that are safe to set. In an item `NAME=value`, only this value is safe.
    """

    harmless: frozenset[str]
    own: frozenset[str]
    never: re.Pattern[str]
    shown: frozenset[str]

    def with_harmless(self, names: Iterable[str]) -> "Variables":
        """Return a copy of the lists with `names` added to the harmless ones."""
        return replace(self, harmless=self.harmless | frozenset(names))

    def may_change_programs(self, name: str, value: str | None, *, exported: bool) -> bool:
        """Return True if setting the environment variable `name` can change what programs do.

        - `value`: the new value; None if the value is not certain.
        - `exported`: True if the variable is certainly passed on to programs.
        """
        if name in self.harmless or (value is not None and f"{name}={value}" in self.harmless):
            return False
        if self.never.fullmatch(name.lower()):
            return True
        return not (name == name.lower() or (name in self.own and not exported))

    def may_hold_secret(self, name: str) -> bool:
        """Return True if an environment variable of this name can hold a secret."""
        return name not in self.shown and name not in self.harmless


@cache
def load_variables() -> Variables:
    """Return the product's lists of environment variables."""
    data = tomllib.loads(Path(__file__).with_name("variables.toml").read_text(encoding="utf-8"))
    never = re.compile("|".join(translate(pattern) for pattern in data["never"]))
    locales = {f"{name}={value}" for name in data["locale_names"] for value in data["locale_values"]}
    harmless = frozenset({*data["harmless"], *locales})
    return Variables(harmless, frozenset(data["own"]), never, frozenset(data["shown"]))
