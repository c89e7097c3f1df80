"""Placeholders that redaction puts in the place of secrets, such as `[redacted: secret]`."""

import re
from collections import Counter
from typing import Final

PLACEHOLDER_START: Final = "[redacted: "
HIDDEN_DIFFERENCE: Final = " [a hidden value differs]"
"""Note on a line of a diff that looks unchanged because redaction hides the difference."""
_PLACEHOLDER: Final = re.compile(r"\[redacted: [^\]\n]+\]")


def find_new_placeholder(text: str, original: str) -> str:
    """Return a placeholder that `text` contains more often than `original`, or an empty string."""
    if PLACEHOLDER_START not in text:
        return ""
    new = Counter(_PLACEHOLDER.findall(text)) - Counter(_PLACEHOLDER.findall(original))
    return next(iter(new), "")


def note_hidden_differences(diff: str) -> str:
    """Return a unified diff with a note on each added line that looks like a line removed at the same place.

    The lines differ only in values that redaction hides.
    """
    if PLACEHOLDER_START not in diff:
        return diff
    lines, removed = diff.split("\n"), set[str]()
    for index, line in enumerate(lines):
        if line.startswith("-"):
            removed.add(line[1:])
        elif line.startswith("+") and line[1:] in removed and PLACEHOLDER_START in line:
            text = line.removesuffix("\r")
            lines[index] = f"{text}{HIDDEN_DIFFERENCE}{line[len(text) :]}"
        elif line.startswith((" ", "@")):
            removed.clear()
    return "\n".join(lines)
