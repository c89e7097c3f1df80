"""The search for the line with a fault in a TOML text.

Invariant: the search never raises.
"""

import re
from typing import Final

from tui_agent.policy.catalog.entries import TableFault

_AT_LINE: Final = re.compile(r"at line (\d+)")


def place_of(fault: TableFault, text: str, source: str) -> str:
    """Return a fault's source and line ("programs.toml:12"), or its source if the line is not found."""
    named = _AT_LINE.search(fault.reason)
    line = int(named[1]) if named else _line_of(text.splitlines(), fault.keys)
    return f"{source}:{line}" if line else source


def _line_of(lines: list[str], keys: tuple[str, ...]) -> int:
    """Follow `keys` from table to table, and return the line number of the last key found."""
    found = 0
    for place, key in enumerate(keys):
        # An index into an array of tables: skip that many further headers of the same name.
        count, name, further = (int(key), keys[place - 1], 1) if key.isdigit() else (1, key, 0)
        for _ in range(count):
            start = max(found - 1 + further, 0)
            later = (number for number in range(start, len(lines)) if _sets_key(name, lines[number]))
            number = next(later, None)
            if number is None or (further and not lines[number].startswith("[[")):
                return found
            found = number + 1
    return found


def _sets_key(key: str, line: str) -> bool:
    """Return True if a line of TOML assigns a value to `key`, or is a table header with `key` in the name."""
    return key in line and bool(re.search(rf"""(?:^|[\[.{{,\s])["']?{re.escape(key)}["']?\s*[\].=]""", line))
