"""L3: reads the conditions of `test`, `[` and `[[`.

Invariant: only shapes of which the operators are certain; `-v` and sums, which evaluate texts, are doubts.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from tui_agent.policy.interpreter.languages.protocol import ArgumentReading, Call
from tui_agent.policy.interpreter.report import FileUse, Value

_FILE_TESTS: Final = frozenset(f"-{letter}" for letter in "efdsrwxLhbcpSgukOGN")
_TEXT_TESTS: Final = frozenset({"-n", "-z", "-t"})
_FILE_COMPARISONS: Final = frozenset({"-nt", "-ot", "-ef"})
_SUMS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_COMPARISONS: Final = _SUMS | {"=", "==", "!=", "<", ">"}
_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9]\d*)", re.ASCII)


def read_arguments(call: Call) -> ArgumentReading:
    """Read a call, with the closing bracket among its arguments where it has one."""
    words = list(call.arguments)
    double = bool(words) and words[-1].known == "]]"
    if words and words[-1].known in ("]", "]]"):
        words.pop()
    if any(word.many for word in words):
        return ArgumentReading(doubt="it is not certain how many words are tested")
    # `&&` and `||` join conditions of `[[`; those of `[` are not joined.
    parts = groupby(words, lambda word: double and word.known in ("&&", "||"))
    terms = [_read_term(list(part), double=double) for joins, part in parts if not joins]
    doubt = next((term.doubt for term in terms if term.doubt), "")
    return ArgumentReading(tuple(use for term in terms for use in term.files), doubt=doubt)


def _read_term(term: Sequence[Value], *, double: bool) -> ArgumentReading:
    """Read a condition that joins no others: it means what the number of its words says."""
    binary = _FILE_COMPARISONS | _COMPARISONS | ({"=~"} if double else {"-a", "-o"})
    while len(term) > 1 and term[0].known == "!" and not (len(term) == 3 and term[1].known in binary):
        term = term[1:]
    if len(term) == 1:
        return ArgumentReading()
    operator = term[-2].known if len(term) in (2, 3) else None
    operands = (*term[:-2], *term[-1:])
    alone = len(term) == 2
    if operator in (_FILE_TESTS if alone else _FILE_COMPARISONS):
        return ArgumentReading(_look_at(operands))
    if double and operator in _SUMS and not all(map(_is_number, operands)):
        return ArgumentReading(doubt=f"[[ evaluates the words around {operator}")
    if operator in (_TEXT_TESTS if alone else binary - {"-a", "-o"}):
        return ArgumentReading()
    return ArgumentReading(
        _look_at(term), doubt=f"it is not known what {' '.join(word.source for word in term)} tests"
    )


def _look_at(words: Sequence[Value]) -> tuple[FileUse, ...]:
    return tuple(FileUse(word.text, "list", word.certainty) for word in words)


def _is_number(value: Value) -> bool:
    if value.known is None:
        return value.content == "number"
    return _NUMBER.fullmatch(value.known) is not None
