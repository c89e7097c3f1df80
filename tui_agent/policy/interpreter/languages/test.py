"""The reader of conditions in `test`, `[` and `[[`.

Invariant: only conditions with known operators are accepted.
"""
# `-v` raises a doubt, because it evaluates its operand.

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from tui_agent.policy.interpreter.command_report import FileUse, Value
from tui_agent.policy.interpreter.languages.protocol import ArgumentReport, Call

_FILE_TESTS: Final = frozenset(f"-{letter}" for letter in "efdsrwxLhbcpSgukOGN")
_TEXT_TESTS: Final = frozenset({"-n", "-z", "-t"})
_FILE_COMPARISONS: Final = frozenset({"-nt", "-ot", "-ef"})
_EQUALITIES: Final = frozenset({"=", "==", "!="})
"""Operators that compare texts."""
# For all other operators, `[[` evaluates the operands as arithmetic.
_COMPARISONS: Final = _EQUALITIES | {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "<", ">"}
_JOINERS: Final = _FILE_COMPARISONS | _COMPARISONS | {"-a", "-o"}
"""Binary operators of a condition, such as `-nt` and `-a`."""


def read_arguments(call: Call) -> ArgumentReport:
    """Interpret a call of `test`, `[` or `[[`."""
    words = list(call.arguments)
    double = bool(words) and words[-1].known == "]]"
    if words and words[-1].known in ("]", "]]"):
        words.pop()
    if any(word.many for word in words):
        return ArgumentReport(doubt="it is not certain how many words are tested")
    # Only `[[` has `&&` and `||`.
    parts = groupby(words, lambda word: word.known in ("&&", "||"))
    terms = [_read_term(list(part), double=double) for joins, part in parts if not joins]
    doubt = next((term.doubt for term in terms if term.doubt), "")
    return ArgumentReport(tuple(use for term in terms for use in term.files), doubt=doubt)


def _read_term(term: Sequence[Value], *, double: bool) -> ArgumentReport:
    """Interpret one condition without `&&` and `||`, inside `[[ … ]]` if `double`."""
    while len(term) > 1 and term[0].known == "!" and not (len(term) == 3 and term[1].known in _JOINERS):
        term = term[1:]
    if len(term) == 1:
        return ArgumentReport()
    operator = term[-2].known if len(term) in (2, 3) else None
    alone = len(term) == 2
    if operator in (_FILE_TESTS if alone else _FILE_COMPARISONS):
        return ArgumentReport(_look_at((*term[:-2], *term[-1:])))
    if operator in (_TEXT_TESTS if alone else _EQUALITIES if double else _COMPARISONS):
        return ArgumentReport()
    return ArgumentReport(
        _look_at(term), doubt=f"it is not known what {' '.join(word.source for word in term)} tests"
    )


def _look_at(words: Sequence[Value]) -> tuple[FileUse, ...]:
    return tuple(FileUse(word.text, "list", word.certainty) for word in words)
