"""Placeholders that redaction puts in the place of secrets, such as `[redacted: secret]`."""

import re
from collections import Counter
from typing import Final

PLACEHOLDER_START: Final = "[redacted: "
_PLACEHOLDER: Final = re.compile(r"\[redacted: [^\]\n]+\]")


def find_new_placeholder(text: str, original: str) -> str:
    """Return a placeholder that `text` contains more often than `original`, or an empty string."""
    if PLACEHOLDER_START not in text:
        return ""
    new = Counter(_PLACEHOLDER.findall(text)) - Counter(_PLACEHOLDER.findall(original))
    return next(iter(new), "")
