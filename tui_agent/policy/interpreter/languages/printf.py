"""The reader of printf formats.

Invariant: accepts only conversions that print their arguments. `%n` sets the variable that an argument names, which may
run code.
"""

import re
from typing import Final

_FORMAT: Final = re.compile(
    r"(?:[^%]|%%|%[-+ #0']*(?:\*|[0-9]{1,4})?(?:\.(?:\*|[0-9]{0,4}))?[diouxXeEfFgGaAcsbq])*+", re.DOTALL
)


def find_doubt(script: str) -> str:
    """Read a format of printf; return a reason why it may be harmful, or an empty string if it is harmless."""
    return "" if _FORMAT.fullmatch(script) else "printf may set a variable with this format"
