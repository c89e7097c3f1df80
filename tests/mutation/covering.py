"""Which tests run which lines of the modules that are broken on purpose, and how long each takes.

Invariant: a test that is not named for a line does not run it in its own process. For what runs while a module is
imported, every test that runs anything of the module is named.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.mutation.mutants import Mutant

IMPORTING = ""
"""What coverage calls the time in which no test runs."""
_ONCE = ("cache", "lru_cache", "cached_property")


@dataclass(frozen=True, slots=True)
class Covered:
    """`lines` names the tests (and `IMPORTING`) of each line of each module; `seconds` are a test's."""

    lines: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]

    def tests_of(self, path: str, source: str, mutant: Mutant) -> list[str]:
        """Those that could notice a mutant, the quickest first."""
        known = self.lines.get(path, {})
        found = _named(known.get(line, frozenset()) for line in places(source, mutant))
        if IMPORTING in found:
            found = _named(known.values())
        return sorted(found - {IMPORTING}, key=lambda test: (self.seconds.get(test, 0.0), test))


def _named(found: Iterable[frozenset[str]]) -> set[str]:
    return {test for tests in found for test in tests}


def places(source: str, mutant: Mutant) -> set[int]:
    """The lines of which at least one is run whenever the mutant is: those of its statement, without the statements in
    it; the whole function where its outcome is kept, since only the first to ask for it runs it."""
    tree = ast.parse(source)
    wanted = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    around = _around(tree)
    chain = [wanted]
    while chain[-1] in around:
        chain.append(around[chain[-1]])
    if any(_kept(node) for node in chain):
        return {node.lineno for node in tree.body}  # run while the module is imported
    statement = next(node for node in chain if isinstance(node, ast.stmt))
    lines = set(_head(statement))
    if mutant.line not in lines:  # of a `case` or an `except`, which are no statements of their own
        lines = {mutant.line, statement.lineno}
    return lines


def _around(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}


def _kept(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    names = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return any(getattr(each, "id", getattr(each, "attr", "")) in _ONCE for each in names)


def _head(statement: ast.stmt) -> range:
    body: list[ast.AST] = getattr(statement, "body", None) or getattr(statement, "cases", [])
    if not body:
        return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    first = body[0]
    begins = first.pattern.lineno if isinstance(first, ast.match_case) else getattr(first, "lineno", 0)
    return range(statement.lineno, max(begins, statement.lineno + 1))
