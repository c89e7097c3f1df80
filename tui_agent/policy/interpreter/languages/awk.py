"""L3: reads awk programs that only compute and print.

Invariant: every token is recognised, each slash is certainly a division or certainly a pattern, and no token runs a
program, opens a file or looks at the environment; what different awk programs read differently is a doubt.
"""

import re

from tui_agent.policy.interpreter.languages.protocol import ScriptReading
from tui_agent.policy.interpreter.languages.script_scanner import ScriptScanner, UnreadError

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]++)
    |(?P<comment>\#[^\n\\]*+(?=\n|\Z))
    |(?P<newline>\n)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*+")
    |(?P<number>(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?+\d++)?+(?![A-Za-z0-9_.]))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<slash>/)
    |(?P<sign>\+\+|--|\*\*=?+|&&|\|\||!~|[-+*%^=!<>]=|[-+*%^~!<>=?:,;$(){}\[\]])""",
    re.VERBOSE | re.ASCII,
)
_REGEX = re.compile(
    r"/(?!=)(?:\\[^\n]|[^\[\\/\n]|\[\^?+(?!\])(?:\[:[a-z]++:\]|[^\]\\\[/\n]|\\[^\]\[\n])*+\])*+/"
)
"""A pattern whose end is the same for awk programs that see brackets in it and for those that do not."""
_CALL = re.compile(r"[ \t]*+\(")
_KEYWORDS = frozenset({"if", "else", "while", "for", "do", "break", "continue", "next", "exit", "delete", "in",
                       "print", "printf", "BEGIN", "END"})  # fmt: skip
_FUNCTIONS = frozenset({"length", "substr", "index", "split", "sub", "gsub", "gensub", "match", "sprintf", "tolower",
                        "toupper", "int", "sqrt", "exp", "log", "sin", "cos", "atan2", "rand", "srand", "strftime",
                        "systime", "mktime", "strtonum"})  # fmt: skip
_OWN_VARIABLES = frozenset({"NR", "NF", "FNR", "FS", "OFS", "RS", "ORS", "FILENAME", "SUBSEP", "RSTART", "RLENGTH",
                            "CONVFMT", "OFMT", "IGNORECASE", "FPAT", "FIELDWIDTHS", "RT"})  # fmt: skip
_REASONS = {
    "system": "awk may run a program",
    "getline": "awk may read a file or run a program",
    "ENVIRON": "awk may print the environment",
    "PROCINFO": "awk may change how it runs",
    "ARGV": "awk may read other files",
    "ARGC": "awk may read other files",
}
_RESERVED = frozenset({*_REASONS, "close", "fflush", "nextfile", "function", "func", "return", "extension", "switch",
                       "case", "default", "namespace", "eval", "include", "load", "asort", "asorti"})  # fmt: skip
_BEFORE_PATTERN = frozenset(
    {"", "\n", ";", "{", "}", "(", ",", "!", "&&", "||", "~", "!~", "=", "?", ":", "print"}
)
"""Tokens behind which a slash begins a pattern, in every awk."""
_OPERAND = "operand"
_UNKNOWN = "it is not known what this awk program does"


def read_script(script: str) -> ScriptReading:
    """Read a whole program."""
    return _Program(script).read()


class _Program(ScriptScanner):
    """`_before` is the token before, `operand` for all that can be divided. `_open` are the brackets that are open:
    `(`, `[`, `{`, or the keyword of a condition. `_printing` is their number where a `print` began, None outside one."""

    unknown = _UNKNOWN

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._before = ""
        self._open: list[str] = []
        self._printing: int | None = None
        self._clause = 1
        """Which clause of a condition this is."""
        self._bounded = True
        """A name stands in this clause, so that it need not be true for ever."""

    def _read_end(self) -> None:
        if self._open:
            raise UnreadError("a bracket of this awk program is not closed")

    def _read_piece(self) -> None:
        found = _TOKEN.match(self._text, self._place)
        if found is None:
            raise UnreadError(_reason_for(self._text[self._place]))
        text = found[0]
        if found.lastgroup == "slash":
            self._read_slash()
            return
        self._place = found.end()
        if self._before in ("if", "while", "for") and found.lastgroup not in ("blank", "sign"):
            raise UnreadError(_UNKNOWN)
        match found.lastgroup:
            case "newline":
                self._end_line()
            case "string" | "number":
                self._before = _OPERAND
            case "name":
                self._read_name(text)
            case "sign":
                self._read_sign(text)

    def _read_slash(self) -> None:
        if self._before == _OPERAND:
            self._place += 2 if self._text.startswith("/=", self._place) else 1
            self._before = "/"
            return
        found = _REGEX.match(self._text, self._place)
        if self._before not in _BEFORE_PATTERN or found is None:
            raise UnreadError("it is not certain what a slash of this awk program means")
        self._place = found.end()
        self._before = _OPERAND

    def _read_name(self, name: str) -> None:
        called = _CALL.match(self._text, self._place) is not None
        if name in _KEYWORDS:
            self._read_keyword(name)
            return
        self._bounded = True
        if name in _FUNCTIONS:
            if not called and name != "length":
                raise UnreadError(_UNKNOWN)
            self._before = name
            return
        own = name in _OWN_VARIABLES or len(name) == 1 or not name.isupper()
        if name in _RESERVED or called or not own or not name.strip("_"):
            raise UnreadError(_REASONS.get(name, f"it is not known what {name} does in this awk program"))
        self._before = _OPERAND

    def _read_keyword(self, name: str) -> None:
        if name in ("print", "printf"):
            if self._printing is not None:
                raise UnreadError(_UNKNOWN)
            self._printing = len(self._open)
            name = "print"
        self._before = name

    def _read_sign(self, sign: str) -> None:
        if self._before in ("if", "while", "for") and sign != "(":
            raise UnreadError(_UNKNOWN)
        if sign in ("(", "["):
            self._open_bracket(sign)
        elif sign in (")", "]"):
            self._close_bracket(sign)
        elif sign in ("{", "}", ";"):
            self._end_statement(sign)
        elif sign == ">" and self._printing is not None and "(" not in self._open[self._printing :]:
            raise UnreadError("awk may write a file")
        else:
            self._before = sign

    def _open_bracket(self, sign: str) -> None:
        condition = self._before in ("if", "while", "for")
        if condition:
            self._clause, self._bounded = 1, self._before == "if"
        self._open.append(self._before if condition else sign)
        self._before = "("

    def _close_bracket(self, sign: str) -> None:
        opened = self._open.pop() if self._open else ""
        if self._printing is not None and len(self._open) < self._printing:
            raise UnreadError(_UNKNOWN)
        if opened not in (("[",) if sign == "]" else ("(", "if", "while", "for")):
            raise UnreadError("a bracket of this awk program is not closed")
        if not self._bounded and (opened == "while" or (opened == "for" and self._clause == 2)):
            raise UnreadError("this awk program may never end")
        self._before = _OPERAND if opened in ("(", "[") else "condition"

    def _end_statement(self, sign: str) -> None:
        inner = self._open[-1] if self._open else ""
        if inner == "for" and sign == ";":
            if self._clause == 2 and not self._bounded:
                raise UnreadError("this awk program may never end")
            self._clause += 1
            self._bounded = self._clause > 2
        elif inner not in ("", "{"):
            raise UnreadError(_UNKNOWN)
        elif sign == "{":
            self._open.append(sign)
        elif sign == "}":
            if not self._open:
                raise UnreadError("a bracket of this awk program is not closed")
            self._open.pop()
        self._printing = None
        self._before = sign

    def _end_line(self) -> None:
        """A newline ends a statement, but not behind `,`, `&&` and `||`; gawk also goes on behind `?` and `:`."""
        if self._before in (",", "&&", "||"):
            return
        if (self._open and self._open[-1] != "{") or (
            self._printing is not None and self._before not in (_OPERAND, "print", "length", "++", "--")
        ):
            raise UnreadError("it is not certain where a statement of this awk program ends")
        self._printing = None
        self._before = "\n"


def _reason_for(character: str) -> str:
    """Return the doubt for a character that begins no token."""
    match character:
        case "|":
            return "awk may run a program"
        case "@":
            return "awk may load code or call a function by its name"
        case "." | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
            return "it is not certain where a number of this awk program ends"
        case _:
            return _UNKNOWN
