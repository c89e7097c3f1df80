"""L3: reads sed scripts that only print, delete and replace text.

Invariant: a character that is not recognised is a doubt, and so is what GNU sed and BSD sed would read differently.
"""

import re
from functools import lru_cache

from tui_agent.policy.interpreter.languages.protocol import ScriptReading
from tui_agent.policy.interpreter.languages.script_scanner import ScriptScanner, UnreadError

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
    return _Script(script).read()


class _Script(ScriptScanner):
    unknown = "it is not known what this sed script does"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._behind_label = False
        """BSD sed takes the rest of this line as part of a label."""
        self._loops: list[set[str]] = [set()]
        """For each block that is open: labels behind which nothing has ended a loop so far."""

    def _read_piece(self) -> None:
        if not self._skip_to_command():
            return
        addressed = self._skip_addresses()
        command = self._text[self._place : self._place + 1]
        self._place += 1
        if command in _ENDING and not addressed:
            self._loops[-1].clear()
        self._read_command(command)

    def _skip_to_command(self) -> bool:
        while True:
            between = self._expect(_BETWEEN)[0]
            self._behind_label = self._behind_label and "\n" not in between
            del self._loops[max(1, len(self._loops) - between.count("}")) :]
            if not self._text.startswith("#", self._place):
                return self._place < len(self._text)
            self._expect(_COMMENT)

    def _read_command(self, command: str) -> None:
        if command == "{":
            self._loops.append(set(self._loops[-1]))
        elif command in _PLAIN:
            self._expect(_END)
        elif command in _WITH_NUMBER:
            self._expect(_NUMBER)
            self._expect(_END)
        elif command in ("a", "i", "c"):
            if _ONE_LINE.match(self._text, self._place):
                self._expect(_ONE_LINE)
            else:
                self._skip_lines(self._expect(_LINES)[0])
        elif command in (":", "b", "t"):
            self._read_label(command)
        elif command in ("s", "y"):
            self._read_replacement(command)
        else:
            raise UnreadError(_REASONS.get(command, self.unknown))

    def _skip_addresses(self) -> bool:
        """Skip `1,/x/!` in front of a command; return True if there is any."""
        start = self._place
        if self._skip_address(_FIRST):
            self._expect(_BLANKS)
            if self._text.startswith(",", self._place):
                self._place += 1
                self._expect(_BLANKS)
                if not self._skip_address(_SECOND):
                    raise UnreadError("an address of this sed script is not understood")
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

    def _read_label(self, command: str) -> None:
        label = self._expect(_LABEL)[1]
        if command == ":":
            if not label:
                raise UnreadError("a label of this sed script has no name")
            self._loops[-1].add(label)
        elif command in ("b", "t") and label in self._loops[-1]:
            raise UnreadError("this sed script may never end")
        self._behind_label = True

    def _read_replacement(self, command: str) -> None:
        mark = self._mark()
        self._expect(_delimited(mark, regex=command == "s"))
        self._skip_lines(self._expect(_delimited(mark, regex=False))[0])
        if command == "s":
            self._expect(_FLAGS)
        flag = self._text[self._place : self._place + 1]
        if command == "s" and flag in _REASONS:
            raise UnreadError(_REASONS[flag])
        self._expect(_END)

    def _mark(self) -> str:
        """Skip the character that stands around patterns."""
        mark = self._text[self._place : self._place + 1]
        if mark not in _MARKS:
            raise UnreadError("it is not certain where a pattern of this sed script ends")
        self._place += 1
        return mark

    def _skip_lines(self, text: str) -> None:
        if self._behind_label and "\n" in text:
            raise UnreadError("sed programs read what is behind this label differently")


@lru_cache(maxsize=64)
def _delimited(mark: str, *, regex: bool) -> re.Pattern[str]:
    """Match up to and with the closing mark. A mark in brackets, and a backslash before `]` in them, ends a pattern for
    some sed programs only, so neither is taken."""
    end = re.escape(mark)
    if not regex:
        return re.compile(rf"(?:\\.|[^\\\n{end}])*+{end}", re.DOTALL)
    bracket = rf"\[\^?+\]?+(?:\[:[a-z]++:\]|[^\]\\\[\n{end}]|\\[^\]\n])*+\]"
    return re.compile(rf"(?:\\[^\n]|[^\[\\\n{end}]|{bracket})*+{end}")
