"""L3: reads sed scripts that only print, delete and replace text.

Invariant: a character that is not recognised is a doubt, and so is what GNU sed and BSD sed would read differently.
"""

import re
from functools import lru_cache

from tui_agent.policy.interpreter.languages.protocol import ScriptReading

_PLAIN = frozenset("pdnNgGhHxPD=")
_WITH_NUMBER = frozenset("qQl")
_ENDING = frozenset("nNdDqQ")
"""Commands that sooner or later end a loop: the input has an end."""
_MARKS = frozenset("/|,#:@!%_~+=;&<>'\"")
_REASONS = {
    "e": "sed may run a program",
    "w": "sed may write a file",
    "W": "sed may write a file",
    "r": "sed may read another file",
    "R": "sed may read another file",
}
_FIRST = re.compile(r"\d++(?:~\d++)?+|\$")
_SECOND = re.compile(r"[+~]?+\d++|\$")
_BLANKS = re.compile(r"[ \t]*+")
_BETWEEN = re.compile(r"[ \t;\n}]*+")
_LABEL = re.compile(r"[ \t]*+(\w*+)[ \t]*+(?=[;\n}]|\Z)", re.ASCII)
_END = re.compile(r"[ \t]*+(?=[;\n}#]|\Z)")
_NUMBER = re.compile(r"[ \t]*+\d*+")
_FLAGS = re.compile(r"[gpiI0-9]*+")
_ONE_LINE = re.compile(r"[ \t]*+\\?+[ \t]*+[^\s\\][^\\\n]*+(?=\n|\Z)")
_LINES = re.compile(r"[ \t]*+\\\n(?:[^\\\n]++\\\n)*+[^\\\n]++(?=\n|\Z)")
_COMMENT = re.compile(r"#[^\n\\]*+(?=\n|\Z)")


def read_script(script: str) -> ScriptReading:
    """Read a whole script, or one of several that `-e` gives."""
    try:
        _Script(script).read()
    except _UnreadError as error:
        return ScriptReading(doubt=str(error))
    return ScriptReading()


class _UnreadError(Exception):
    """The script leaves the subset; the text is the doubt."""


class _Script:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._behind_label = False
        """BSD sed takes the rest of this line as part of a label."""
        self._depth = 0
        self._loops: set[str] = set()
        """Labels behind which nothing has ended a loop so far."""

    def read(self) -> None:
        while self._skip_to_command():
            addressed = self._skip_addresses()
            command = self._text[self._place : self._place + 1]
            self._place += 1
            if command in _ENDING and not addressed and not self._depth:
                self._loops.clear()
            self._read_command(command, addressed)

    def _skip_to_command(self) -> bool:
        while True:
            between = self._expect(_BETWEEN)
            self._behind_label = self._behind_label and "\n" not in between
            self._depth = max(0, self._depth - between.count("}"))
            if not self._text.startswith("#", self._place):
                return self._place < len(self._text)
            self._expect(_COMMENT)

    def _read_command(self, command: str, addressed: bool) -> None:
        if command == "{":
            self._depth += 1
        elif command in _PLAIN:
            self._expect(_END)
        elif command in _WITH_NUMBER:
            self._expect(_NUMBER)
            self._expect(_END)
        elif command in ("a", "i", "c"):
            if _ONE_LINE.match(self._text, self._place):
                self._expect(_ONE_LINE)
            else:
                self._skip_lines(self._expect(_LINES))
        elif command in (":", "b", "t"):
            self._read_label(command, addressed)
        elif command in ("s", "y"):
            self._read_replacement(command)
        else:
            raise _UnreadError(_REASONS.get(command, "it is not known what this sed script does"))

    def _skip_addresses(self) -> bool:
        """Skip `1,/x/!` in front of a command; return True if there is any."""
        start = self._place
        if self._skip_address(_FIRST):
            self._expect(_BLANKS)
            if self._text.startswith(",", self._place):
                self._place += 1
                self._expect(_BLANKS)
                if not self._skip_address(_SECOND):
                    raise _UnreadError("an address of this sed script is not understood")
                self._expect(_BLANKS)
        while self._text.startswith("!", self._place):
            self._place += 1
            self._expect(_BLANKS)
        return self._place > start

    def _skip_address(self, number: re.Pattern[str]) -> bool:
        if number.match(self._text, self._place):
            self._expect(number)
            return True
        escaped = self._text.startswith("\\", self._place)
        if not escaped and not self._text.startswith("/", self._place):
            return False
        self._place += escaped
        self._expect(_delimited(self._mark(), regex=True))
        if self._text.startswith("I", self._place):
            self._place += 1
        return True

    def _read_label(self, command: str, addressed: bool) -> None:
        label = self._expect(_LABEL).strip()
        if command == ":":
            if not label:
                raise _UnreadError("a label of this sed script has no name")
            self._loops.add(label)
        elif command == "b" and label in self._loops and not addressed and not self._depth:
            raise _UnreadError("this sed script may never end")
        self._behind_label = True

    def _read_replacement(self, command: str) -> None:
        mark = self._mark()
        self._expect(_delimited(mark, regex=command == "s"))
        self._skip_lines(self._expect(_delimited(mark, regex=False)))
        if command == "s":
            self._expect(_FLAGS)
        flag = self._text[self._place : self._place + 1]
        if command == "s" and flag in _REASONS:
            raise _UnreadError(_REASONS[flag])
        self._expect(_END)

    def _mark(self) -> str:
        """Skip the character that stands around patterns."""
        mark = self._text[self._place : self._place + 1]
        if mark not in _MARKS:
            raise _UnreadError("it is not certain where a pattern of this sed script ends")
        self._place += 1
        return mark

    def _skip_lines(self, text: str) -> None:
        if self._behind_label and "\n" in text:
            raise _UnreadError("sed programs read what is behind this label differently")

    def _expect(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._place)
        if found is None:
            raise _UnreadError("it is not known what this sed script does")
        self._place = found.end()
        return found[0]


@lru_cache(maxsize=64)
def _delimited(mark: str, *, regex: bool) -> re.Pattern[str]:
    """Match up to and with the closing mark. A mark in brackets, and a backslash before `]` in them, ends a pattern for
    some sed programs only, so neither is taken."""
    end = re.escape(mark)
    if not regex:
        return re.compile(rf"(?:\\.|[^\\\n{end}])*+{end}", re.DOTALL)
    bracket = rf"\[\^?+\]?+(?:\[:[a-z]++:\]|[^\]\\\[\n{end}]|\\[^\]\n])*+\]"
    return re.compile(rf"(?:\\[^\n]|[^\[\\\n{end}]|{bracket})*+{end}")
