"""L3: whether an awk program only computes, and prints to where its caller looks.

Invariant: what runs a program, reads or writes a file or looks at the environment is never harmless; nor is what
different awks would read differently.
"""

import re

_NEVER = frozenset(
    {
        "system",
        "getline",
        "ENVIRON",
        "ARGV",
        "ARGC",
        "SYMTAB",
        "extension",
        "close",
        "nextfile",
        "include",
        "load",
    }
)
_CONDITIONS = frozenset({"if", "while", "for"})
_WORDS = _CONDITIONS | {
    "in",
    "do",
    "else",
    "return",
    "delete",
    "exit",
    "next",
    "print",
    "printf",
    "case",
    "BEGIN",
    "END",
}
_BLANK = " \t\r"
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][0-9]+)?")
_GOES_ON_BEHIND = ",&|?:"
"""Signs behind which a line break ends no statement."""


def only_prints(script: str) -> bool:
    """True for programs without files, pipes, other programs and the environment."""
    return _Awk(script).harmless()


class _Awk:
    """One pass over a program. `_before` is what stood before: it says whether a slash begins a pattern."""

    def __init__(self, script: str) -> None:
        self._text = script
        self._at = 0
        self._before = "start"
        self._open: list[bool] = []
        """A bracket each; whether it holds the condition of a statement."""
        self._last = ""
        """The last character that was no blank and in no comment."""
        self._printing: int | None = None
        """How many brackets are open around a `print` that has not ended."""

    def harmless(self) -> bool:
        """Read it to its end."""
        while self._at < len(self._text):
            if not self._token(self._text[self._at]):
                return False
        return not self._open

    def _token(self, char: str) -> bool:
        if char in _BLANK:
            self._at += 1
            return True
        if char == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
            return True
        last, self._last = self._last, char if char != "\n" else self._last
        if char == "\n" and last and last in _GOES_ON_BEHIND:
            return self._move("sign")
        if char == '"':
            return self._literal('"')
        if char == "/" and self._before != "operand":
            return self._literal("/")
        if char.isascii() and (char.isalnum() or char in "_."):
            return self._word()
        if char in "([":
            self._open.append(self._before == "condition")
            return self._move("sign")
        if char in ")]":
            return self._close()
        if char in ";{}\n":
            self._printing = None if self._printing == len(self._open) else self._printing
            return self._move("start")
        return self._sign(char)

    def _move(self, before: str, count: int = 1) -> bool:
        self._at += count
        self._before = before
        return True

    def _sign(self, char: str) -> bool:
        two = self._text[self._at : self._at + 2]
        if two in ("++", "--"):
            return self._move(self._before if self._before == "operand" else "sign", 2)
        if two in ("||", ">="):
            return self._move("sign", 2)
        if char == ">" and self._printing == len(self._open):
            return False
        if char in "|@\\'`" or two == ">>" or not char.isascii():
            return False
        return self._move("sign")

    def _word(self) -> bool:
        end = self._at
        while (
            end < len(self._text)
            and self._text[end].isascii()
            and (self._text[end].isalnum() or self._text[end] in "_.")
        ):
            end += 1
        word = self._text[self._at : end]
        self._at = end
        plain = not (word[0].isdigit() or "." in word)
        if word in _NEVER or not (
            plain or _NUMBER.fullmatch(word)
        ):  # a name that is glued to a number is a name
            return False
        if word in ("print", "printf"):
            self._printing = len(self._open)
        if word == "length" and self._text[end:].lstrip(_BLANK)[:1] == "/":
            return False
        self._before = "condition" if word in _CONDITIONS else "sign" if word in _WORDS else "operand"
        return True

    def _close(self) -> bool:
        if not self._open or (self._printing is not None and self._printing >= len(self._open)):
            return False
        return self._move("sign" if self._open.pop() else "operand")

    def _literal(self, mark: str) -> bool:
        """A string or a pattern; a slash in the brackets of a pattern ends it for some awks and not for others."""
        at = self._at + 1
        bracket = False
        while at < len(self._text):
            char = self._text[at]
            if char == "\n" or (mark == "/" and bracket and char == mark):
                return False
            if char == "\\":
                at += 2
                continue
            if char == mark:
                self._at = at + 1
                self._before = "operand"
                return True
            bracket = mark == "/" and (bracket or char == "[") and char != "]"
            at += 1
        return False
