"""The product's source as the architecture tests look at it: files, trees, and what they import."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """One Python file, by its path from the repository's root."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.name)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: every rule reads them, and to walk takes longer than to look."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[tuple[str, int]]:
        """Every imported module's full name and line, wherever in the file the import stands."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(alias.name, node.lineno) for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.append((node.module, node.lineno))
        return found

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                yield node


@cache
def product() -> list[Source]:
    """tui_agent/ and the bundled plugins, read once for all rules (`conftest` lets go of them)."""
    return [
        Source(path) for folder in ("tui_agent", "plugins") for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def package() -> list[Source]:
    return [source for source in product() if source.name.startswith("tui_agent/")]


def plugins() -> list[Source]:
    return [source for source in product() if source.name.startswith("plugins/")]


@cache
def tooling() -> list[Source]:
    """Tests and benchmarks: they follow fewer rules."""
    return [
        Source(path) for folder in ("tests", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def dotted_name(node: ast.expr) -> str:
    """Return `a.b.c` for a chain of names, and the source of any other expression. Quicker than `ast.unparse`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return ast.unparse(node)
