"""docs/architecture.md names functions that exist, and draws the layers of the import contract."""

import ast
import re
import tomllib
from functools import cache
from itertools import pairwise

import pytest

from tests.architecture.source import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "tui_agent"
NAMED = sorted(set(re.findall(r"`([\w/]+\.py):([\w.]+)`", PAGE)))
WALKS = re.findall(r"^## Walk \d.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)


@cache
def functions_of(path: str) -> frozenset[str]:
    """Return the module's functions by name, and its classes' methods as `Class.method`."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            methods = (
                node for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            )
            found |= {f"{owner.name}.{method.name}" for method in methods}
    return frozenset(found)


def test_each_of_the_three_walks_names_functions() -> None:
    assert [len(re.findall(r"`[\w/]+\.py:[\w.]+`", walk)) >= 8 for walk in WALKS] == [True] * 3


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}:{name}" for path, name in NAMED])
def test_each_named_function_exists(path: str, name: str) -> None:
    assert (PACKAGE / path).is_file(), f"docs/architecture.md names a module that is not there: {path}"
    assert name in functions_of(path)


def test_the_picture_has_the_layers_of_the_import_contract() -> None:
    drawn = [
        label.split(" · ") for _, label in sorted(dict(re.findall(r'(L\d\d)\["([^"]+)"\]', PAGE)).items())
    ]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [contract["layers"] for contract in contracts["contracts"] if contract["name"] == "layers"]
    names = [re.findall(r"\(?tui_agent\.[\w.]+\)?", layer) for layer in layers]
    built = [[name.strip("()").removeprefix("tui_agent.") for name in row if exists(name)] for row in names]
    assert drawn == built


def test_the_arrows_of_the_picture_lead_one_layer_down() -> None:
    arrows = re.findall(r'(L\d\d)(?:\["[^"]+"\])? --> (L\d\d)', PAGE)
    layers = sorted(set(re.findall(r"\bL\d\d\b", PAGE)))
    assert arrows == list(pairwise(layers))


def exists(layer: str) -> bool:
    """Return True unless the layer is optional and not built yet."""
    path = PACKAGE.parent / layer.strip("()").replace(".", "/")
    return not layer.startswith("(") or path.is_dir() or path.with_suffix(".py").is_file()
