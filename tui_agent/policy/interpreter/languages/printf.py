"""Checks formats of printf.

Invariant: all conversions in a harmless format just print their arguments.
"""
# `%n` is not harmless: it sets a variable, and bash can run code in the variable's name.

import re
from typing import Final

_FORMAT: Final = re.compile(
    r"(?:[^%]|%%|%[-+ #0']*(?:\*|[0-9]{1,4})?(?:\.(?:\*|[0-9]{0,4}))?[diouxXeEfFgGaAcsbq])*+", re.DOTALL
)


def find_doubt(script: str) -> str:
    """Return a reason why a format of printf can be harmful, or an empty string."""
    return "" if _FORMAT.fullmatch(script) else "printf may set a variable with this format"
