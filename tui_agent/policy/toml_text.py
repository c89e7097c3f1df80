"""The parser for TOML written by users, projects and plugins: rules, and tables of programs.

Invariant: within a second, a text of any size and content is parsed, or refused with a reason.
"""

import re
import tomllib
from typing import Final

from tui_agent.units import format_number

MAX_CHARACTERS: Final = 200_000
_LONG_KEY: Final = re.compile(r"""(?<![\w-])(?:(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){20}""")
"""Matches a dotted key of many parts: for thousands of parts, `tomllib` takes a minute."""


def parse_toml(text: str) -> dict[str, object]:
    """Parse a TOML text. Raise `ValueError` with the fault and, if known, its line."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it is longer than {format_number(MAX_CHARACTERS)} characters")
    if _LONG_KEY.search(text):
        raise ValueError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not valid TOML: {error}") from error
