"""The reader of jq filters. It accepts filters that only compute from their input.

Invariant: no accepted function reads another file or the environment, or runs forever.
"""

import re

from tui_agent.policy.interpreter.languages.script_scanner import ScriptScanner, UnreadError

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n]++)
    |(?P<comment>\#[^\n\\\r]*+(?=\n|\Z))
    |(?P<number>\d{1,7}+(?:\.\d++)?+(?![\w.]))
    |(?P<variable>\$[A-Za-z_]\w*+(?!::))
    |(?P<format>@(?:text|json|csv|tsv|html|uri|sh|base64d?|base32d?)(?!\w))
    |(?P<name>[A-Za-z_]\w*+(?!::))
    |(?P<field>\.[A-Za-z_]\w*+|\.\.(?![\w."])|\.(?![\w.]))
    |(?P<quote>")
    |(?P<sign>\?//|//=?|[|+*/%=!<>-]=|[-+*/%<>=|,:;?()\[\]{}])""",
    re.VERBOSE | re.ASCII,
)
_STRING = re.compile(r'(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+("|\\\()')
_KEY = re.compile(r"[ \t\n]*+(?::(?!:)|[,}])")
_ARGUMENTS = re.compile(r"[ \t\n]*+\(")
_LITERAL = re.compile(r'[ \t\n]*+\([ \t\n]*+"((?:[^"\\(]|\\[^(])*+)"')
"""Matches the first argument of a function, if it is a string."""
_CONSUMES = re.compile(
    r"\^?(?:[\w ,:;/@=#'<>&%!~\-]|\\\\[sSdDwW.+*?|()\[\]{}^$/-]|\\[nrt]|\[\^?[\w \-.]+\])[^|*?({]*", re.ASCII
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def find_doubt(script: str) -> str:
    """Return a reason why a jq filter can be harmful, or an empty string."""
    return _Filter(script).find_doubt()


class _Filter(ScriptScanner):
    """A scanner for one jq filter.

    - `_open`: the stack of open brackets. A `"` stands for code inside a string.
    - `_before`: the previous token.
    """

    language = "jq"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._open: list[str] = []
        self._before = ""

    def _read_piece(self) -> None:
        token = self._expect(_TOKEN)
        kind, text = token.lastgroup, token[0]
        if kind == "name":
            self._read_name(text)
        elif kind == "quote":
            self._read_string()
        elif kind == "sign":
            self._read_sign(text)
        elif kind == "variable" and (text == "$ENV" or (text.startswith("$__") and text != "$__loc__")):
            raise UnreadError(self._doubt_about("env"))
        if kind not in ("blank", "comment"):
            self._before = text

    def _read_end(self) -> None:
        if self._open:
            raise UnreadError(self._words["unknown"])

    def _read_name(self, name: str) -> None:
        is_key = self._before in ("{", ",") and self._open[-1:] == ["{"]
        if is_key and _KEY.match(self._text, self._place):
            return
        recurses = name == "recurse" and _ARGUMENTS.match(self._text, self._place)
        if recurses or (name in ("sub", "gsub") and not self._consumes()):
            raise UnreadError("this jq filter may never end")
        if name not in self._words["functions"] and name not in self._words["keywords"]:
            raise UnreadError(self._doubt_about(name, f"it is not known what {name} does in this jq filter"))

    def _consumes(self) -> bool:
        """Return True if the pattern of `sub` or `gsub`, which comes next, never matches the empty text."""
        # Old versions of jq replace an empty match forever.
        pattern = _LITERAL.match(self._text, self._place)
        return pattern is not None and all(map(_CONSUMES.fullmatch, pattern[1].split("|")))

    def _read_string(self) -> None:
        if self._expect(_STRING)[1] != '"':
            self._open.append('"')

    def _read_sign(self, sign: str) -> None:
        if sign in ("(", "[", "{"):
            self._open.append(sign)
        elif sign in _PAIRS:
            opened = self._open.pop() if self._open else ""
            if opened == '"' and sign == ")":
                self._read_string()
            elif opened != _PAIRS[sign]:
                raise UnreadError(self._words["unknown"])
