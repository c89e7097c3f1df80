"""The reader of sed scripts. It accepts scripts that only print, delete and replace text.

Invariant: a script raises a doubt if it is not recognised, or if GNU sed and BSD sed parse it differently.
"""

import re
from functools import lru_cache

from tui_agent.policy.interpreter.languages.script_scanner import ScriptScanner

_BETWEEN = re.compile(r"(?:[ \t;\n}]|#[^\n\\]*+(?=\n|\Z))*+")
"""Matches separators and comments."""
# A backslash in a comment does not match: in some versions of sed, it continues the comment.
_END = re.compile(r"[ \t]*+(?=[;\n}#]|\Z)")
_MARK = re.compile(r"[/|,#:@!%_~+=;&<>'\"]")
_FLAGS = re.compile(r"[gpiI0-9]*+")
_COMMAND = re.compile(
    r"""[{sy]
    |(?:[pdnNgGhHxP=]|[qQl][ \t]*+\d*+)[ \t]*+(?=[;\n}#]|\Z)
    |[aic][ \t]*+(?:\\?+[ \t]*+[^\s\\][^\\\n]*+|\\\n(?:[^\\\n]++\\\n)*+[^\\\n]++)(?=\n|\Z)""",
    re.VERBOSE,
)
"""Matches a command of sed with its number or text. For `s` and `y`, only the letter matches."""
_ALL_LINES = re.compile(
    r":(\w) *+; *+(?:N *+; *+\$!b\1|\$! *+\{ *+N *+; *+b\1 *+;?+ *+\})(?=;[^\n]*\Z|\Z)", re.ASCII
)
"""Matches the usual loop that joins all lines into one (`:a;N;$!ba`). No other loop is accepted."""


@lru_cache(maxsize=64)
def _delimiter_pattern(mark: str, *, regex: bool) -> re.Pattern[str]:
    """Compile a pattern for the text up to the closing delimiter `mark`.

    The pattern does not match a text in which versions of sed find different ends.
    """
    end = re.escape(mark)
    if not regex:
        return re.compile(rf"(?:\\.|[^\\\n{end}])*+{end}", re.DOTALL)
    bracket = rf"\[\^?+\]?+(?:\[:[a-z]++:\]|[^\]\\\[\n{end}]|\\[^\]\n])*+\]"
    return re.compile(rf"(?:\\[^\n]|[^\[\\\n{end}]|{bracket})*+{end}")


_ADDRESS = rf"(?:\d++(?:~\d++)?+|\$|/{_delimiter_pattern('/', regex=True).pattern}I?+)[ \t]*+"
_ADDRESSES = re.compile(rf"(?:{_ADDRESS}(?:,[ \t]*+(?:[+~]\d++[ \t]*+|{_ADDRESS}))?+)?+(?:![ \t]*+)*+")


def find_doubt(script: str) -> str:
    """Return a reason why a sed script can be harmful, or an empty string."""
    return _Script(script).find_doubt()


class _Script(ScriptScanner):
    language = "sed"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        loop = _ALL_LINES.match(text)
        self._place = loop.end() if loop else 0

    def _read_piece(self) -> None:
        self._expect(_BETWEEN)
        if self._place < len(self._text):
            self._expect(_ADDRESSES)
            command = self._expect(_COMMAND)[0]
            if command in ("s", "y"):
                self._read_replacement(command)

    def _read_replacement(self, command: str) -> None:
        uncertain = "it is not certain where a pattern of this sed script ends"
        mark = self._expect(_MARK, uncertain)[0]
        self._expect(_delimiter_pattern(mark, regex=command == "s"), uncertain)
        self._expect(_delimiter_pattern(mark, regex=False), uncertain)
        if command == "s":
            self._expect(_FLAGS)
        self._expect(_END)
