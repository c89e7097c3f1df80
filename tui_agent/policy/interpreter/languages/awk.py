"""The reader of awk programs. It accepts programs that only compute and print, and that stop at the end of their input.

Invariant: no accepted token runs a program, opens a file or reads the environment.
"""

import re
from typing import Final

from tui_agent.policy.interpreter.languages.script_scanner import ScriptScanner, UnreadError

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]++|\#[^\n\\]*+(?=\n|\Z))
    |(?P<newline>\n)
    |(?P<literal>"(?:[^"\\\n]|\\[^\n])*+"|(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?+\d++)?+(?![A-Za-z0-9_.]))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<slash>/)
    |(?P<sign>\+\+|--|\*\*=?+|&&|\|\||!~|[-+*%^=!<>]=|[-+*%^~!<>=?:,;$(){}\[\]])""",
    re.VERBOSE | re.ASCII,
)
_REGEX = re.compile(
    r"/(?!=)(?:\\[^\n]|[^\[\\/\n]|\[\^?+(?!\])(?:\[:[a-z]++:\]|[^\]\\\[/\n]|\\[^\]\[\n])*+\])*+/"
)
"""Matches a regex that ends at the same place in every version of awk."""
_BRACKET = re.compile(r"[ \t]*+\(")
_OVER_ELEMENTS = re.compile(r"[ \t]*+\([ \t]*+[a-z]\w*+[ \t]++in[ \t]++[a-z]\w*+[ \t]*+\)", re.ASCII)
_OPERAND: Final = "an operand"
_BEFORE_PATTERN = frozenset(
    {"", ";", "{", "}", "(", ",", "!", "&&", "||", "~", "!~", "=", "?", ":", "print", "printf"}
)
"""Tokens after which every awk reads a slash as the start of a regex."""
_COMPLETE = frozenset({"", ";", "{", "}", _OPERAND, ") of if", "++", "--", "length"})
"""Tokens after which a newline ends the statement in every version of awk. Keywords are not listed here."""
_OPENING = {"]": ("[",), ")": ("(", "if"), "}": ("{",)}


def find_doubt(script: str) -> str:
    """Return a reason why an awk program can be harmful, or an empty string."""
    return _Program(script).find_doubt()


class _Program(ScriptScanner):
    """A scanner for one awk program.

    - `_before`: the previous token, or `_OPERAND` for an operand. After an operand, a slash is a division.
    - `_open`: the open brackets. The bracket of a condition is stored as `if`.
    - `_printing`: True while the current statement prints.
    """

    language = "awk"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._before = ""
        self._open: list[str] = []
        self._printing = False

    def _read_end(self) -> None:
        if self._open:
            raise UnreadError("a bracket of this awk program is not closed")

    def _read_piece(self) -> None:
        token = self._expect(_TOKEN)
        match token.lastgroup:
            case "literal":
                self._before = _OPERAND
            case "newline" if self._before not in (",", "&&", "||"):
                if self._before not in _COMPLETE and self._before not in self._words["keywords"]:
                    raise UnreadError("it is not certain where a statement of this awk program ends")
                self._read_sign(";")
            case "name":
                self._read_name(token[0])
            case "slash":
                self._read_slash(token.start())
            case "sign":
                self._read_sign(token[0])

    def _read_slash(self, start: int) -> None:
        if self._before == _OPERAND:
            self._before = "/"
            return
        pattern = _REGEX.match(self._text, start)
        if self._before not in _BEFORE_PATTERN or pattern is None:
            raise UnreadError("it is not certain what a slash of this awk program means")
        self._place = pattern.end()
        self._before = _OPERAND

    def _read_name(self, name: str) -> None:
        if name == "if":
            self._expect(_BRACKET)
            self._open.append(name)
            self._before = "("
        elif name == "for":
            self._expect(_OVER_ELEMENTS, "this awk program may never end")
            self._before = ") of if"
        elif name in self._words["keywords"]:
            self._printing = self._printing or name.startswith("print")
            self._before = name
        else:
            called = _BRACKET.match(self._text, self._place) is not None
            if not self._is_harmless(name, called=called):
                raise UnreadError(
                    self._doubt_about(name, f"it is not known what {name} of this awk program does")
                )
            self._before = name if name in self._words["functions"] else _OPERAND

    def _read_sign(self, sign: str) -> None:
        if sign in ("{", ";", "}"):
            if self._open[-1:] not in ([], ["{"]):
                raise UnreadError("a bracket of this awk program is not closed")
            self._printing = False
        if sign in ("(", "[", "{"):
            self._open.append(sign)
        elif sign in _OPENING:
            opened = self._open.pop() if self._open else ""
            if opened not in _OPENING[sign]:
                raise UnreadError("this awk program has an unmatched closing bracket")
            sign = {"{": "}", "if": ") of if"}.get(opened, _OPERAND)
        elif sign == ">" and self._printing:
            raise UnreadError("awk may write a file")
        self._before = "(" if sign == "[" else sign

    def _is_harmless(self, name: str, *, called: bool) -> bool:
        """Return True for an awk function that only computes, and for a variable without a special meaning."""
        if name in self._words["functions"]:
            return called or name == "length"
        own = name in self._words["variables"] or len(name) == 1 or not name.isupper()
        return own and not called and name not in self._words["reasons"] and bool(name.strip("_"))
