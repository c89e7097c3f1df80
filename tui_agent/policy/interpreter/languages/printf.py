"""Reads formats of printf.

Invariant: positive: only conversions that show their words; `%n` sets the variable that a word names, which may run code.
"""

import re
from typing import Final

_FORMAT: Final = re.compile(
    r"(?:[^%]|%%|%[-+ #0']*(?:\*|[0-9]{1,4})?(?:\.(?:\*|[0-9]{0,4}))?[diouxXeEfFgGaAcsbq])*+", re.DOTALL
)


def find_doubt(script: str) -> str:
    """Read a format."""
    return "" if _FORMAT.fullmatch(script) else "printf may set a variable with such a format"
