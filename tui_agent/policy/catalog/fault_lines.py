"""Finds the line of a text of TOML that a fault is about.

Invariant: a text of any content is answered, with 0 where the line is not found.
"""

import re
from typing import Final

from tui_agent.policy.catalog.entries import TableFault

_AT_LINE: Final = re.compile(r"at line (\d+)")


def place_of(fault: TableFault, text: str, source: str) -> str:
    """Return the source of a text with the line that a fault in it is about ("programs.toml:12")."""
    named = _AT_LINE.search(fault.reason)
    line = int(named[1]) if named else _line_of(text.splitlines(), fault.keys)
    return f"{source}:{line}" if line else source


def _line_of(lines: list[str], keys: tuple[str, ...]) -> int:
    """Return the number of the line in which the last key stands behind those in front of it. Where it is not found, as a
    missing one, that of the key before; 0 for none."""
    found = 0
    for place, key in enumerate(keys):
        # The index of a table in an array: the header in front of it is found so many times more.
        count, name, further = (int(key), keys[place - 1], 1) if key.isdigit() else (1, key, 0)
        for _ in range(count):
            start = max(found - 1 + further, 0)
            later = (number for number in range(start, len(lines)) if _stands_in(name, lines[number]))
            number = next(later, None)
            if number is None or (further and not lines[number].startswith("[[")):
                return found
            found = number + 1
    return found


def _stands_in(key: str, line: str) -> bool:
    """Return True if a line of TOML has this key, or the header of a table does."""
    return key in line and bool(re.search(rf"""(?:^|[\[.{{,\s])["']?{re.escape(key)}["']?\s*[\].=]""", line))
