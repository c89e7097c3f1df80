"""Files, functions, classes and constructors stay small enough to be read at one sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import Source, product

FILE_LINES = 500
FUNCTION_LINES = 60
CLASS_METHODS = 25
CONSTRUCTOR_ARGUMENTS = 7

EXCEPTIONS: frozenset[str] = frozenset()
"""What may be larger, as the messages below name it. It starts empty and may only shrink."""


def lines(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = node.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) - 1


def measures(source: Source) -> Iterator[tuple[str, int, int, str]]:
    """Name, size, budget and unit of everything that has a budget."""
    yield source.name, len(source.text.splitlines()), FILE_LINES, "lines"
    for function in source.functions():
        yield f"{source.name} {function.name}", lines(function), FUNCTION_LINES, "lines"
    for cls in source.classes():
        methods = [node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        yield f"{source.name} {cls.name}", len(methods), CLASS_METHODS, "methods"
        for method in methods:
            if method.name == "__init__":
                yield (
                    f"{source.name} {cls.name}",
                    arguments(method),
                    CONSTRUCTOR_ARGUMENTS,
                    "constructor arguments",
                )


def too_large(source: Source) -> list[str]:
    return [
        f"{name}: {size} {unit} of {budget}" for name, size, budget, unit in measures(source) if size > budget
    ]


@pytest.mark.slow
def test_everything_is_within_its_size_budget() -> None:
    found = {message for source in product() for message in too_large(source)}
    assert not sorted(found - EXCEPTIONS)


@pytest.mark.slow
def test_the_exception_list_names_only_what_is_still_too_large() -> None:
    found = {message for source in product() for message in too_large(source)}
    assert not sorted(EXCEPTIONS - found)


def test_the_budgets_would_notice() -> None:
    body = "\n".join("        x = 1" for _ in range(61))
    methods = "\n".join(f"    def m{n}(self): ..." for n in range(26))
    large = f"class A:\n    def __init__(self, a, b, c, d, e, f, g, h):\n{body}\n{methods}\n" + "\n" * 500
    measured = Source(Path(__file__).resolve())
    measured.__dict__["text"] = large
    assert sorted(message.rsplit(": ", 1)[1].split(" of ")[0] for message in too_large(measured)) == [
        "27 methods",
        "589 lines",
        "62 lines",
        "8 constructor arguments",
    ]
