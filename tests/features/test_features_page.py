"""The page of features names only tests that exist and run to their end wherever they run."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.stubs.rows import rows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def definitions_of(path: str) -> dict[str, ast.AST]:
    """Return the test functions, and the classes that are tests, of a file by their names."""
    found: dict[str, ast.AST] = {}
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]):
                found[name] = node
    return {name: node for name, node in found.items() if name.lower().startswith("test")}


def ways_out(test: ast.AST) -> list[str]:
    """Return the ways in which a test may end before its last line without having failed."""
    nested = {
        node
        for inner in ast.walk(test)
        if inner is not test and isinstance(inner, Function | ast.Lambda)
        for node in ast.walk(inner)
    }
    own = [node for node in ast.walk(test) if node not in nested]
    names = [ast.unparse(node) for node in own if isinstance(node, ast.Attribute)]
    found = [
        name for name in names if re.fullmatch(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)", name)
    ]
    return found + [ast.unparse(node) for node in own if isinstance(node, ast.Return)]


@rows("path", sorted({path for path, _ in NAMED}))
def test_every_named_test_exists_and_runs_to_its_end(path: str) -> None:
    tests = definitions_of(path)
    names = [name for named, name in NAMED if named == path and name] or list(tests)
    assert names
    assert [name for name in names if name not in tests] == []
    assert {name: found for name in names if (found := ways_out(tests[name]))} == {}


def test_a_test_that_skips_or_returns_is_noticed() -> None:
    for text in (
        "@pytest.mark.skipif(True, reason='')\ndef test_a(): assert 1",
        "def test_a():\n    if other: return  # the other demo\n    assert 1",
        "async def test_a():\n    pytest.skip('not here')",
    ):
        assert len(ways_out(ast.parse(text).body[0])) == 1, text
    assert ways_out(ast.parse("def test_a():\n    def inner(): return 1\n    assert inner()").body[0]) == []
