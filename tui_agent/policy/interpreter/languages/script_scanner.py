"""Base of the script readers: a position in a script, which advances over known tokens.

Invariant: a reader stops at the end of its text or with a doubt, never with an exception.
"""

import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

MAX_CHARACTERS: Final = 100_000
"""Maximum number of characters in a script."""


class UnreadError(Exception):
    """Raised for an unsupported script. The message is the doubt."""


class ScriptScanner(ABC):
    """A scanner for one script of sed, awk, jq or printf. A subclass reads the tokens.

    `language`: the name of the language's table in `words.toml`.
    """

    language: ClassVar[str]

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._words = _words()[self.language]

    def find_doubt(self) -> str:
        """Return a reason why the script can be harmful, or an empty string."""
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
        """Read the next token or command of the script, and advance past it."""

    def _read_end(self) -> None:  # noqa: B027 - most have nothing to check
        """Check that no bracket or string is open at the end of the script."""

    def _expect(self, pattern: re.Pattern[str], doubt: str = "") -> re.Match[str]:
        """Match the pattern at the current position and advance past the match; otherwise raise `UnreadError`."""
        match = pattern.match(self._text, self._place)
        if match is None:
            raise UnreadError(doubt or self._doubt_about(self._text[self._place : self._place + 1]))
        self._place = match.end()
        return match

    def _doubt_about(self, word: str, otherwise: str = "") -> str:
        reason: str = self._words["reasons"].get(word, otherwise or self._words["unknown"])
        return reason


@cache
def _words() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
