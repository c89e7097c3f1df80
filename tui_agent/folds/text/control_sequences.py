"""Removal of a terminal's control sequences from the output of programs.

Invariant: a known sequence is removed completely.
"""

import re

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_a-z]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)


def strip_control_sequences(text: str) -> str:
    """Remove control sequences. If carriage returns overwrote a line, keep only the line's last text."""
    plain = _CONTROL.sub("", text).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(_last_state(line) if "\r" in line else line for line in plain.split("\n"))


def _last_state(line: str) -> str:
    return next((piece for piece in reversed(line.split("\r")) if piece), "")
