"""L1: texts that are never covered, though a rule finds them.

Invariant: a text is allowed only if an entry matches the whole secret.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent.store.redaction.rule import compile_pattern

if TYPE_CHECKING:
    import re2


class Allowed:
    """The allow list of the configuration: plain texts, and patterns between slashes."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._texts = frozenset(entry.encode() for entry in entries if not is_pattern(entry))
        self._patterns = tuple(map(_compile_entry, filter(is_pattern, entries)))

    def allows(self, raw: bytes, start: int, end: int) -> bool:
        """Return True if a secret, given by its bytes, is on the list."""
        secret = raw[start:end]
        return secret in self._texts or any(pattern.fullmatch(secret) for pattern in self._patterns)


def _compile_entry(entry: str) -> "re2._Regexp[bytes]":
    try:
        return compile_pattern(entry[1:-1])
    except ValueError as error:
        raise ValueError(f"redaction.allow: {entry[:60]!r}: {error}") from error


def is_pattern(entry: str) -> bool:
    """Return True for an entry such as `/test-.*/`."""
    return len(entry) > 2 and entry.startswith("/") and entry.endswith("/")
