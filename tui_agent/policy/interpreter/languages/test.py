"""L3: reads the conditions of `test`, `[` and `[[`.

Invariant: only shapes of which the operators are certain; `-v` and sums, which evaluate texts, are doubts.
"""

import re
from collections.abc import Sequence

from tui_agent.policy.interpreter.languages.protocol import ArgumentReading, Call
from tui_agent.policy.interpreter.patterns import NUMBERS, prefix_of
from tui_agent.policy.interpreter.report import Certainty, FileUse, Value

_FILE_TESTS = frozenset({"-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h", "-b", "-c", "-p", "-S", "-g", "-u", "-k",
                         "-O", "-G", "-N"})  # fmt: skip
_TEXT_TESTS = frozenset({"-n", "-z", "-t"})
_FILE_COMPARISONS = frozenset({"-nt", "-ot", "-ef"})
_TEXT_COMPARISONS = frozenset({"=", "==", "!=", "<", ">"})
_SUMS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_BINARY = _FILE_COMPARISONS | _TEXT_COMPARISONS | _SUMS
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)", re.ASCII)
_JOINERS = {"]": frozenset({"-a", "-o"}), "]]": frozenset({"&&", "||"})}


def read_arguments(call: Call) -> ArgumentReading:
    """Read a call, with the closing bracket among its arguments where it has one."""
    words = list(call.arguments)
    closing = words[-1].known if words else ""
    if closing in ("]", "]]"):
        words.pop()
    condition = _Condition(words, double=closing == "]]")
    condition.read()
    return ArgumentReading(tuple(condition.files), doubt=condition.doubt)


class _Condition:
    def __init__(self, words: Sequence[Value], *, double: bool) -> None:
        self._words = words
        self._double = double
        self._joiners = _JOINERS["]]" if double else "]"]
        self._binary = _BINARY | {"=~"} if double else _BINARY
        self.files: list[FileUse] = []
        self.doubt = ""

    def read(self) -> None:
        """A short condition means what its number of words says, whatever they are; a longer one is split at its joiners,
        and then no other word may be an operator."""
        if any(word.many for word in self._words):
            self._doubt("it is not certain how many words are tested")
            return
        terms = self._split()
        if not all(map(self._read_term, terms)):
            self._doubt("it is not known what is tested")
        long = len(self._words) > 4 or len(terms) > 1
        if long and not self._double and any(map(_may_be_operator, self._words)):
            self._doubt("a word that is tested may be an operator")

    def _split(self) -> list[list[Value]]:
        if len(self._words) <= 3 and not self._double:
            return [list(self._words)]
        terms: list[list[Value]] = [[]]
        for word in self._words:
            if word.known in self._joiners:
                terms.append([])
            else:
                terms[-1].append(word)
        return terms

    def _read_term(self, term: list[Value]) -> bool:
        while len(term) > 1 and term[0].known == "!" and not self._is_binary(term):
            term = term[1:]
        if len(term) > 2 and term[0].known == "(" and term[-1].known == ")" and not self._is_binary(term):
            return self._read_term(term[1:-1])
        match term:
            case []:
                return not self._words
            case [_]:
                return True
            case [operator, operand]:
                return self._read_unary(operator.known or "", operand)
            case [left, operator, right]:
                return self._read_binary(left, operator.known or "", right)
            case _:
                return False

    def _is_binary(self, term: list[Value]) -> bool:
        return len(term) == 3 and term[1].known in self._binary | self._joiners

    def _read_unary(self, operator: str, operand: Value) -> bool:
        if operator in _FILE_TESTS:
            self._note_file(operand)
        elif operator in ("-v", "-R"):
            self._doubt(f"{operator} evaluates the name that it is given")
        return operator in _FILE_TESTS or operator in _TEXT_TESTS

    def _read_binary(self, left: Value, operator: str, right: Value) -> bool:
        if operator in _FILE_COMPARISONS:
            self._note_file(left)
            self._note_file(right)
        elif operator in _SUMS and self._double and not (_is_number(left) and _is_number(right)):
            self._doubt(f"[[ evaluates the words around {operator}")
        return operator in self._binary

    def _note_file(self, value: Value) -> None:
        certainty = value.certainty
        self.files.append(
            FileUse(value.text if certainty is not Certainty.UNKNOWN else "", "list", certainty)
        )

    def _doubt(self, reason: str) -> None:
        self.doubt = self.doubt or reason


def _is_number(value: Value) -> bool:
    if value.known is None:
        return value.text == NUMBERS and not value.names_files
    return _NUMBER.fullmatch(value.known) is not None


def _may_be_operator(value: Value) -> bool:
    """Return True if a word of a long condition may stand for an operator that evaluates texts, or shift the others."""
    if value.known is not None:
        return value.known in ("-v", "-R")
    return value.may_be_option or not (value.text == NUMBERS or re.match(r"[\w./]", prefix_of(value)))
