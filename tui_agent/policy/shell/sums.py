"""L3: arithmetic of a shell script: bash takes a variable's text for an expression, and an index in it for code.

Invariant: a variable counts as a number only where the script sets it, and everywhere to a number.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tui_agent.policy.shell.script import Word
from tui_agent.policy.shell.tree import FILLING

if TYPE_CHECKING:
    from tree_sitter import Node

_SUMS = frozenset(
    {
        "number",
        "binary_expression",
        "unary_expression",
        "postfix_expression",
        "parenthesized_expression",
        "ternary_expression",
    }
)
_NAMES = frozenset({"variable_name", "word"})
_ALWAYS = frozenset({"RANDOM", "LINENO", "SECONDS", "BASHPID", "EPOCHSECONDS", "#", "?", "$", "!"})
_COUNTERS: tuple[tuple[str, ...], ...] = (
    ("wc", "-l"), ("wc", "-c"), ("wc", "-w"), ("wc", "-m"), ("grep", "-c"), ("git", "rev-list", "--count"), ("nproc",),
    ("date", "+%s"), ("date", "+%Y"), ("date", "+%j"), ("date", "+%u"),
)  # fmt: skip
"""Commands that print one number: with nothing behind them but, for the last ones, what they count."""
_DEPTH = 40
_COUNTING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_OPERATORS = ("-v", "-R", "-a", "-o", "!", "(")
_ASKING = frozenset({"-v", "-R", "-N"})


def numbers(setting: "Sequence[Node]") -> frozenset[str]:
    """The variables that hold nothing but numbers wherever the script sets them."""
    sure: dict[str, bool] = {}
    for node in setting:
        if node.type == "variable_assignment":
            name = _text(node.child_by_field_name("name"))
            value = node.child_by_field_name("value")
            sure[name] = sure.get(name, True) and value is not None and _number(value)
        elif node.type == "for_statement":
            name = _text(node.child_by_field_name("variable"))
            words = node.children_by_field_name("value")
            sure[name] = sure.get(name, True) and bool(words) and all(_number(word) for word in words)
        elif node.type in ("declaration_command", "unset_command"):
            for child in node.named_children:
                if child.type == "variable_name":
                    sure[_text(child)] = False
        elif node.type == "command" and _text(node.child_by_field_name("name")) in FILLING:
            for child in node.named_children:
                sure[_text(child)] = False
    return frozenset(name for name, found in sure.items() if found and name.isascii() and name.isidentifier())


def several(setting: "Sequence[Node]") -> frozenset[str]:
    """The variables that hold more than one number, below each other, where they hold numbers."""
    found = (
        (node.child_by_field_name("name"), [node.child_by_field_name("value")])
        if node.type == "variable_assignment"
        else (node.child_by_field_name("variable"), _quoted(node.children_by_field_name("value")))
        for node in setting
        if node.type in ("variable_assignment", "for_statement")
    )
    return frozenset(_text(name) for name, values in found if any(map(many_numbers, values)))


def _quoted(nodes: "Sequence[Node]") -> "list[Node]":
    return [node for node in nodes if node.type == "string"]


def many_numbers(node: "Node | None") -> bool:
    """Whether a text of numbers may hold more than one."""
    text = _text(node)
    return any(word in text for word in ("seq", "cut", "awk")) and _ONE.search(text) is None


def prints_numbers(node: "Node") -> bool:
    """Whether a substitution stands for numbers and nothing else, one or several below each other."""
    return _number(node)


def only_numbers(node: "Node", known: frozenset[str], *, itself: bool = False) -> bool:
    """Whether an expression is made of numbers, signs and variables that are numbers: all in `node`, or it `itself`."""
    if itself:
        return _term(node, known)
    return all(_term(child, known) for child in node.named_children)


def safe_test(operator: "Node", test: "Node", known: frozenset[str], *, computes: bool) -> bool:
    """Whether an operator of a test runs nothing with its operands. `computes`: it stands in `[[`, which takes numbers for
    expressions; `[` does not, but both take the name behind -v for one."""
    operands = [child for child in test.named_children if child.type != "test_operator"]
    if _text(operator) in _ASKING:
        return all(child.type == "word" and _text(child).isidentifier() for child in operands)
    if _text(operator) not in _COUNTING or not computes:
        return True
    return all(_text(child).strip("\"'-").isdecimal() or _term(child, known) for child in operands)


def may_ask(word: Word) -> bool:
    """Whether a word of `[` may bring an operator with it, such as one that takes its operand for an expression."""
    return word.many or (
        word.spreads and any(fnmatchcase(one, value) for value in word.values or () for one in _OPERATORS)
    )


def _term(node: "Node", known: frozenset[str], depth: int = 0) -> bool:
    if depth > _DEPTH:
        return False
    if node.type in _NAMES:
        name = _text(node)
        return name in known or name in _ALWAYS or name.isdecimal()
    if node.type == "variable_assignment":
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        return (
            _text(target) in known
            and value is not None
            and (_number(value) or _term(value, known, depth + 1))
        )
    if node.type in ("simple_expansion", "string", "string_content"):
        return (
            all(_term(child, known, depth + 1) for child in node.named_children)
            and node.type != "string_content"
        )
    if node.type == "special_variable_name":
        return _text(node) in _ALWAYS
    if node.type == "expansion":
        plain = all(child.type in ("${", "}", "#", "variable_name", "subscript") for child in node.children)
        counts = any(child.type == "#" for child in node.children[:2])
        return plain and (counts or all(_term(child, known, depth + 1) for child in node.named_children))
    if node.type == "command_substitution":
        return _number(node)
    return node.type in _SUMS and all(_term(child, known, depth + 1) for child in node.named_children)


def _number(node: "Node") -> bool:
    """Whether a value is a number, whatever happens; an expression counts: what is in it is judged where it stands."""
    if node.type in ("number", "arithmetic_expansion"):
        return True
    if node.type in ("word", "concatenation", "string", "raw_string"):
        text = _text(node).strip("\"'")
        only = node.named_children[0] if node.named_child_count == 1 else None
        if (
            only is not None
            and only.type in ("command_substitution", "arithmetic_expansion")
            and node.type == "string"
        ):
            return _number(only)
        return text.removeprefix("-").isdecimal() and text.isascii()
    if node.type == "simple_expansion":
        return _text(node).removeprefix("$") in _ALWAYS
    if node.type == "brace_expression":
        return all(child.type == "number" for child in node.named_children)
    if node.type == "command_substitution":
        return node.named_child_count == 1 and _counts(node.named_children[0])
    return False


def _counts(node: "Node") -> bool:
    """Whether a command prints a number and nothing else."""
    if node.type == "pipeline":
        last = node.named_children[-1]
        if _lines_found([_words(child) for child in node.named_children]):
            return True
        if _words(last) == ["tr", "-d", "' '"] and node.named_child_count > 1:
            last = node.named_children[-2]
        return last.type == "command" and _counts(last)
    redirected = node.type == "redirected_statement"
    command = node.named_children[0] if redirected and node.named_children else node
    if command.type != "command" or any(child.type == "herestring_redirect" for child in command.children):
        return False
    words = _words(command)
    for counter in _COUNTERS:
        if tuple(words[: len(counter)]) == counter:
            rest = words[len(counter) :]
            loose = any(
                not word.startswith(("'", '"')) and any(char in "*?[{$`~" for char in word)
                for word in rest[1:]
            )
            if loose:
                return False
            limit = 2 if words[0] == "grep" else 1 if words[0] == "git" else 0
            return len(rest) <= limit and not any(word.startswith("-") for word in rest)
    if words[:1] == ["seq"]:
        return all(word.isdecimal() for word in words[1:])
    return False


def _lines_found(commands: Sequence[list[str]]) -> bool:
    """Whether a pipeline prints in which lines of one file a text stands: `grep -n x a.py | head -1 | cut -d: -f1`."""
    searched, *others = commands
    options = [word for word in searched[1:] if word.startswith("-")]
    operands = [word for word in searched[1:] if not word.startswith("-")]
    found = (
        searched[:1] == ["grep"]
        and len(operands) == 2
        and searched[1 : 1 + len(options)] == options
        and all(map(_OF_GREP.fullmatch, options))
        and any("n" in option for option in options)
        and _LITERAL.fullmatch(operands[0]) is not None
        and _FILE.fullmatch(operands[1]) is not None
    )
    cut = [words for words in others if " ".join(words).replace("'", "").replace('"', "") in _FIRST]
    return found and len(cut) == 1 and all(words in cut or _some(words) for words in others)


def _some(words: Sequence[str]) -> bool:
    """`head -1`, `tail -n 2`."""
    return words[:1] in (["head"], ["tail"]) and _SOME.fullmatch(" ".join(words[1:])) is not None


_OF_GREP = re.compile(r"-(?:[niwxFEP]+|m\d+)")
_LITERAL = re.compile(r"'[^'-][^']*'|\"[^\"$`\\-][^\"$`]*\"|\w+")
_FILE = re.compile(r"[\w./][\w./-]*", re.ASCII)
_ONE = re.compile(r"\b(?:head|tail) (?:-n ?|-)1\b|-m ?1\b")
_SOME = re.compile(r"(?:-?\d+|-n ?\d+)?")
_FIRST = frozenset({"cut -d: -f1", "cut -f1 -d:", "cut -d : -f 1", "cut -d : -f1", "awk -F: {print $1}"})
"""What leaves of `12:text` the number."""


def _words(node: "Node") -> list[str]:
    return [_text(child) for child in node.named_children if not child.type.endswith("_redirect")]


def _text(node: "Node | None") -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""
