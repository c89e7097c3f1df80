"""L3: reads formats of printf.

Invariant: positive: only conversions that show their words; `%n` sets the variable that a word names, which may run code.
"""

import re
from typing import Final

from tui_agent.policy.interpreter.languages.protocol import ScriptReading

_FORMAT: Final = re.compile(
    r"(?:[^%]|%%|%[-+ #0']*(?:\*|[0-9]{1,4})?(?:\.(?:\*|[0-9]{0,4}))?[diouxXeEfFgGaAcsbq])*+", re.DOTALL
)


def read_script(script: str) -> ScriptReading:
    """Read a format."""
    if _FORMAT.fullmatch(script):
        return ScriptReading()
    return ScriptReading(doubt="printf may set a variable with such a format")
