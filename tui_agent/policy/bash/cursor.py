"""L3: the position in a script that is read, with the characters between words: blanks, comments and line ends.

Invariant: a line end is passed only in `next_line`, which also passes the here-document that starts behind it.
"""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tui_agent.letters import concealed

MAX_CHARS: Final = 10_000
MAX_DEPTH: Final = 40
MAX_TABS: Final = 12
"""Tabs in a row; more may push what follows out of sight."""

WORD_ENDS: Final = frozenset(" \t\n;&|<>()")
DELIMITER: Final = r"(?=[ \t\n;&|<>()]|\Z)"
_BLANKS = re.compile(r"[ \t]*")
_TO_LINE_END = re.compile(r"[^\n]*")


class RefusedError(Exception):
    """The text is outside the subset; `parse_script` turns it into a `Refusal`."""

    def __init__(self, reason: str, start: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start


class Cursor:
    """A text and the place up to which it has been read. Everything that is not recognised is refused."""

    __slots__ = ("_body_end", "_body_line", "bodies", "depth", "position", "substitutions", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.substitutions = 0
        self.bodies = 0
        self._body_line = -1
        self._body_end = -1

    @property
    def character(self) -> str:
        """The next character, empty at the end of the text."""
        return self.text[self.position : self.position + 1]

    def has(self, token: str) -> bool:
        """Return True if the next characters are `token`."""
        return self.text.startswith(token, self.position)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the text at the position; pass nothing."""
        return pattern.match(self.text, self.position)

    def at_word_end(self) -> bool:
        """Return True if no word goes on here."""
        return self.position >= len(self.text) or self.text[self.position] in WORD_ENDS

    def refusal(self, reason: str, start: int | None = None) -> RefusedError:
        """Return the error that gives the whole text up. `start` is the offset of the cause, by default the position."""
        return RefusedError(reason, self.position if start is None else start)

    def enter(self) -> None:
        """Count one more level of nesting; the caller leaves it by `depth -= 1`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.refusal("it is nested too deeply")

    def skip_blanks(self) -> None:
        """Pass blanks, and a comment up to the end of its line."""
        blanks = _BLANKS.match(self.text, self.position)
        assert blanks is not None
        self.position = blanks.end()
        if self.character == "#":
            self._skip_comment()

    def _skip_comment(self) -> None:
        # Older releases of bash look for quotes and `)` in a comment that stands in a substitution.
        if self.substitutions:
            raise self.refusal("a comment stands in a command substitution")
        comment = _TO_LINE_END.match(self.text, self.position)
        assert comment is not None
        if comment[0].endswith("\\"):
            raise self.refusal("a comment ends with a backslash", comment.end() - 1)
        self.position = comment.end()

    def skip_lines(self) -> None:
        """Pass blanks, comments and line ends."""
        self.skip_blanks()
        while self.character == "\n":
            self.next_line()
            self.skip_blanks()

    def next_line(self) -> None:
        """Pass a line end, and the here-document that starts behind it."""
        if self.position == self._body_line:
            self.position, self._body_line = self._body_end, -1
        else:
            self.position += 1

    @property
    def awaits_body(self) -> bool:
        """True if a here-document starts behind the next line end."""
        return self._body_line >= 0

    def pass_quotes(self, end: int) -> None:
        """Go to `end`, behind quoted text, which must not hold the line end that a here-document starts behind."""
        if self.position <= self._body_line < end:
            raise self.refusal("quotes go on beyond the line in which a here-document begins")
        self.position = end

    @contextmanager
    def inside_body(self) -> Iterator[None]:
        """Read in the body that was found last, as if it were not waited for."""
        body, self._body_line = (self._body_line, self._body_end), -1
        yield
        self._body_line, self._body_end = body

    def read_body(self, delimiter: str) -> tuple[int, int]:
        """Find the body of a here-document that begins behind this line. Return its offsets; the position stays."""
        if self.awaits_body:
            raise self.refusal("two here-documents begin in one line")
        line_end = self.text.find("\n", self.position)
        start = line = line_end + 1
        while line_end >= 0 and line < len(self.text):
            line_stop = self.text.find("\n", line)
            line_stop = len(self.text) if line_stop < 0 else line_stop
            if self.text.startswith(delimiter, line):
                if line_stop - line != len(delimiter):
                    raise self.refusal("a line of a here-document begins like its last line", line)
                self.bodies += 1
                self._body_line, self._body_end = line_end, min(line_stop + 1, len(self.text))
                return start, line
            line = line_stop + 1
        raise self.refusal("a here-document has no end")


def check_characters(text: str) -> None:
    """Refuse a text that is too long, or in which a person cannot see every character."""
    if len(text) > MAX_CHARS:
        raise RefusedError(f"it is longer than {MAX_CHARS:,} characters", MAX_CHARS)
    hidden = concealed(text)
    if hidden:
        raise RefusedError(f"it holds {hidden}", 0)
    if "\t" * MAX_TABS in text:
        raise RefusedError("it holds a long row of tabs", text.index("\t" * MAX_TABS))
    if not text.isascii():
        for offset, character in enumerate(text):
            if character > "\x7f" and unicodedata.category(character) == "Zs":
                raise RefusedError("it holds a blank that bash takes for a letter", offset)
