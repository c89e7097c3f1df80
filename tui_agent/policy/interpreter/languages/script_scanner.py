"""L3: the common part of the readers of scripts: a place in a text that moves on over what is recognised.

Invariant: a reader ends at the end of its text or with a doubt, never with an exception.
"""

import re
from abc import ABC, abstractmethod
from typing import Final

MAX_CHARACTERS: Final = 100_000
"""Longer scripts are not read."""


class UnreadError(Exception):
    """The script leaves the subset that is read; the text is the doubt."""


class ScriptScanner(ABC):
    """Scans one script. A subclass reads one piece of it after the other; `unknown` is the doubt for all that has none of
    its own."""

    unknown = "it is not known what this script does"

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def find_doubt(self) -> str:
        """Read the whole script; return a doubt, empty where there is none."""
        if len(self._text) > MAX_CHARACTERS:
            return "the script is too long to be read"
        try:
            while self._place < len(self._text):
                self._read_piece()
            self._read_end()
        except UnreadError as error:
            return str(error)
        return ""

    @abstractmethod
    def _read_piece(self) -> None:
        """Read the next token or command, and move behind it."""

    def _read_end(self) -> None:  # noqa: B027 - most have nothing to check
        """Check what must not be open at the end."""

    def _expect(self, pattern: re.Pattern[str], doubt: str = "") -> re.Match[str]:
        """Move behind what the pattern matches here, or raise the doubt."""
        found = pattern.match(self._text, self._place)
        if found is None:
            raise UnreadError(doubt or self.unknown)
        self._place = found.end()
        return found
