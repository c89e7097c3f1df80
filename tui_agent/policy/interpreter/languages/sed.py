"""L3: reads sed scripts that only print, delete and replace text.

Invariant: a character that is not recognised is a doubt, and so is what GNU sed and BSD sed would read differently. No
script that is read repeats a command without reading a line.
"""

import re
from functools import lru_cache

from tui_agent.policy.interpreter.languages.script_scanner import ScriptScanner, UnreadError

_MARKS = frozenset("/|,#:@!%_~+=;&<>'\"")
_REASONS = {
    "e": "sed may run a program",
    "w": "sed may write a file",
    "W": "sed may write a file",
    "r": "sed may read another file",
    "R": "sed may read another file",
    ":": "this sed script may never end",
    "b": "this sed script may never end",
    "t": "this sed script may never end",
    "D": "this sed script may never end",
}
_BETWEEN = re.compile(r"[ \t;\n}]*+")
_END = re.compile(r"[ \t]*+(?=[;\n}#]|\Z)")
_FLAGS = re.compile(r"[gpiI0-9]*+")
_COMMAND = re.compile(
    r"""\{
    |(?:[pdnNgGhHxP=]|[qQl][ \t]*+\d*+)[ \t]*+(?=[;\n}#]|\Z)
    |[aic][ \t]*+(?:\\?+[ \t]*+[^\s\\][^\\\n]*+|\\\n(?:[^\\\n]++\\\n)*+[^\\\n]++)(?=\n|\Z)""",
    re.VERBOSE,
)
"""All commands that take no pattern, with their numbers or texts."""
_ALL_LINES = re.compile(
    r":(\w) *+; *+(?:N *+; *+\$!b\1|\$! *+\{ *+N *+; *+b\1 *+;?+ *+\})(?=;[^\n]*\Z|\Z)", re.ASCII
)
"""Takes all lines together: the only loop that is read. BSD sed takes the rest of its line as the label."""
_COMMENT = re.compile(r"#[^\n\\]*+(?=\n|\Z)")


@lru_cache(maxsize=64)
def _delimited(mark: str, *, regex: bool) -> re.Pattern[str]:
    """Match up to and with the closing mark. A mark in brackets, and a backslash before `]` in them, ends a pattern for
    some sed programs only, so neither is taken."""
    end = re.escape(mark)
    if not regex:
        return re.compile(rf"(?:\\.|[^\\\n{end}])*+{end}", re.DOTALL)
    bracket = rf"\[\^?+\]?+(?:\[:[a-z]++:\]|[^\]\\\[\n{end}]|\\[^\]\n])*+\]"
    return re.compile(rf"(?:\\[^\n]|[^\[\\\n{end}]|{bracket})*+{end}")


_ADDRESS = rf"(?:\d++(?:~\d++)?+|\$|/{_delimited('/', regex=True).pattern}I?+)[ \t]*+"
_ADDRESSES = re.compile(rf"(?:{_ADDRESS}(?:,[ \t]*+(?:[+~]\d++[ \t]*+|{_ADDRESS}))?+)?+(?:![ \t]*+)*+")


def find_doubt(script: str) -> str:
    """Read a whole script, or one of several that `-e` gives."""
    return _Script(script).find_doubt()


class _Script(ScriptScanner):
    unknown = "it is not known what this sed script does"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        loop = _ALL_LINES.match(text)
        self._place = loop.end() if loop else 0

    def _read_piece(self) -> None:
        self._expect(_BETWEEN)
        if self._text.startswith("#", self._place):
            self._expect(_COMMENT)
        elif self._place < len(self._text):
            self._expect(_ADDRESSES)
            self._read_command(self._text[self._place : self._place + 1])

    def _read_command(self, command: str) -> None:
        if _COMMAND.match(self._text, self._place):
            self._expect(_COMMAND)
        elif command in ("s", "y"):
            self._place += 1
            self._read_replacement(command)
        else:
            raise UnreadError(_REASONS.get(command, self.unknown))

    def _read_replacement(self, command: str) -> None:
        mark = self._text[self._place : self._place + 1]
        if mark not in _MARKS:
            raise UnreadError("it is not certain where a pattern of this sed script ends")
        self._place += 1
        self._expect(_delimited(mark, regex=command == "s"))
        self._expect(_delimited(mark, regex=False))
        if command == "s":
            self._expect(_FLAGS)
            flag = self._text[self._place : self._place + 1]
            if flag in _REASONS:
                raise UnreadError(_REASONS[flag])
        self._expect(_END)
