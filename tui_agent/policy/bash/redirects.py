"""The parser for redirections and here-documents of bash.

Invariant: in the body of a here-document, only variables and substitutions are expanded.
"""

import re
from typing import cast

from tui_agent.policy.bash.cursor import DELIMITER, Cursor
from tui_agent.policy.bash.lexer import Role, WordReader
from tui_agent.policy.bash.syntax import Redirect, RedirectOperator, Text, Word

_START = re.compile(r"[0-9]*[<>](?!\()|&>")
_OPERATOR = re.compile(r"([0-9]?)(<<<|<<(?!-)|<&|<(?![<>(&])|>>|>&|>\||>(?!\()|&>>|&>)")
_DESCRIPTOR = re.compile(r"[0-9]" + DELIMITER)
_HERE_DELIMITER = re.compile(
    rf"(?:'([A-Za-z0-9_.-]+)'|\"([A-Za-z0-9_.-]+)\"|([A-Za-z_][A-Za-z0-9_]*)){DELIMITER}"
)
_ESCAPING = frozenset("`\\")
_MISREAD_IN_SUBSTITUTION = frozenset("()'\"`\\")
"""Characters in a here-document that make older versions of bash find the wrong end of a substitution."""


class RedirectReader:
    """Parses the redirections of a script, such as `2>&1`, `< file` or `<<END`."""

    def __init__(self, cursor: Cursor, words: WordReader) -> None:
        self._cursor = cursor
        self._words = words

    def at_redirect(self) -> bool:
        return self._cursor.match(_START) is not None

    def read_all(self) -> tuple[Redirect, ...]:
        """Parse any redirections after a loop, group, condition or test."""
        redirects: list[Redirect] = []
        self._cursor.skip_blanks()
        while self.at_redirect():
            redirects.append(self.read())
            self._cursor.skip_blanks()
        return tuple(redirects)

    def read(self) -> Redirect:
        """Parse the redirection at the current position."""
        cursor, start = self._cursor, self._cursor.position
        found = cursor.match(_OPERATOR)
        if found is None:
            raise cursor.refusal("a redirection is not supported: `<>`, `<<-`, or a descriptor above 9")
        descriptor = int(found[1]) if found[1] else None
        operator = cast(RedirectOperator, found[2])
        cursor.position = found.end()
        cursor.skip_blanks()
        target: Word | None = None
        body: Word | None = None
        if operator == "<<":
            body = self._read_here_document()
        else:
            if operator in ("<&", ">&") and cursor.match(_DESCRIPTOR) is None:
                raise cursor.refusal(f"no descriptor follows `{operator}`")
            (target,) = self._words.read(Role.TARGET)
        return Redirect(cursor.text[start : cursor.position], operator, descriptor, target, body)

    def _read_here_document(self) -> Word:
        cursor = self._cursor
        if cursor.awaits_body:
            raise cursor.refusal("two here-documents begin on one line")
        delimiter = cursor.match(_HERE_DELIMITER)
        if delimiter is None:
            raise cursor.refusal("a here-document's delimiter is not a plain word")
        cursor.position = delimiter.end()
        name = re.escape(delimiter[1] or delimiter[2] or delimiter[3])
        found = cursor.match(re.compile(rf"[^\n]*\n((?:(?!{name})[^\n]*\n)*+){name}(?:\n|\Z)"))
        if found is None:
            raise cursor.refusal("a here-document has no end, or one of its lines begins with its end word")
        body, (start, end) = found[1], found.span(1)
        if delimiter[3] is not None and not _ESCAPING.isdisjoint(body):
            raise cursor.refusal("an unquoted here-document has a backslash or a backquote", start)
        if cursor.substitutions and not _MISREAD_IN_SUBSTITUTION.isdisjoint(body):
            raise cursor.refusal("a here-document in a substitution has quotes or brackets", start)
        word = Word(body, start, (Text(body, quoted=True),))
        if delimiter[3] is not None and "$" in body:
            word = self._words.read_body(start, end)
        cursor.await_body(found)
        return word
