"""The position of the bash parser in a script, and the skipping of blanks, comments and line breaks.

Invariant: only `skip_lines` moves past a line break.
"""

import re
from typing import Final

from tui_agent.protocol.unicode_text import describe_invisible
from tui_agent.units import format_number

MAX_CHARS: Final = 10_000
MAX_TABS: Final = 12
"""Maximum number of tabs in a row. More tabs could push the rest of the line out of sight."""

DELIMITER: Final = r"(?=[ \t\n;&|<>()]|\Z)"
"""Pattern that matches at the end of a word. The match itself is empty."""
_DELIMITER = re.compile(DELIMITER)
_BLANKS_AND_COMMENT = re.compile(r"[ \t]*(#[^\n]*)?")
_FOREIGN_BLANK = re.compile(r"[^\S\x00-\x7f]")
_UNREAD: Final = (
    (re.compile(r"(?<==)\("), "it uses an array"),
    (re.compile(r"\([ \t]*\)"), "it defines a function"),
    (re.compile(r"[<>]\("), "it uses `<(…)` or `>(…)`"),
    (re.compile(r"\n|\Z"), "a line ends in the middle of a command"),
)
"""Bash syntax that the parser does not support, with descriptions for the user."""


class RefusedError(Exception):
    """Raised for a script that uses unsupported bash syntax; `parse_script` returns it as a `Refusal`."""

    def __init__(self, reason: str, start: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start


class Cursor:
    """A bash script with the parser's current position."""

    __slots__ = ("_body_end", "_body_line", "position", "substitutions", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.substitutions = 0
        self._body_line = -1
        self._body_end = -1

    @property
    def character(self) -> str:
        """The character at the current position; empty at the end of the script."""
        return self.text[self.position : self.position + 1]

    def has(self, token: str) -> bool:
        """Return True if `token` begins at the current position."""
        return self.text.startswith(token, self.position)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the current position, without moving the position."""
        return pattern.match(self.text, self.position)

    def at_word_end(self) -> bool:
        """Return True if a word of the script would end at the current position."""
        return self.match(_DELIMITER) is not None

    def refusal(self, reason: str, start: int | None = None) -> RefusedError:
        """Return an error that refuses the whole script.

        `start`: offset that the error points at; by default, the current position.
        """
        return RefusedError(reason, self.position if start is None else start)

    def unexpected_text_error(self) -> RefusedError:
        """Return an error that refuses the script because of the text at the current position."""
        reasons = (reason for pattern, reason in _UNREAD if self.match(pattern) is not None)
        return self.refusal(next(reasons, f"unexpected `{self.character}`"))

    def skip_blanks(self) -> None:
        """Skip blanks, and a comment up to the end of its line."""
        skipped = _BLANKS_AND_COMMENT.match(self.text, self.position)
        assert skipped is not None
        # In a substitution, older versions of bash interpret quotes and `)` even in a comment.
        if skipped[1] and self.substitutions:
            raise self.refusal("a command substitution has a comment", skipped.start(1))
        if skipped[0].endswith("\\"):
            raise self.refusal("a comment ends with a backslash", skipped.end() - 1)
        self.position = skipped.end()

    def skip_lines(self) -> None:
        """Skip blanks, comments, line breaks and the body of a here-document."""
        self.skip_blanks()
        while self.character == "\n":
            self.check_body()
            if self.position == self._body_line:
                self.position, self._body_line = self._body_end, -1
            else:
                self.position += 1
            self.skip_blanks()

    def check_body(self) -> None:
        """Refuse the script if a quoted text begins on the line of a `<<END` and ends on a later line."""
        if self.awaits_body and self.position > self._body_line:
            raise self.refusal("quoted text continues past the line in which a here-document begins")

    @property
    def awaits_body(self) -> bool:
        """Return True if the body of a here-document starts on the next line."""
        return self._body_line >= 0

    def await_body(self, body: re.Match[str]) -> None:
        """Record that the body of a here-document starts after the current line. Group 1 of `body` is the body's text."""
        self._body_line, self._body_end = body.start(1) - 1, body.end()


def check_characters(text: str) -> None:
    """Raise `RefusedError` if a script is too long or contains invisible characters."""
    if len(text) > MAX_CHARS:
        raise RefusedError(f"it is longer than {format_number(MAX_CHARS)} characters", MAX_CHARS)
    hidden = describe_invisible(text)
    if hidden:
        raise RefusedError(f"it contains {hidden}", 0)
    if "\t" * MAX_TABS in text:
        raise RefusedError("it contains a long run of tabs", text.index("\t" * MAX_TABS))
    blank = _FOREIGN_BLANK.search(text)
    if blank is not None:
        raise RefusedError("it contains a Unicode space that bash treats as part of a word", blank.start())
