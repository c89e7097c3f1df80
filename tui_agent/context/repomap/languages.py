"""L3: which language a file is in, and how its symbols are found.

Invariant: a grammar is loaded when the first file of its language is parsed, never before; where it is not installed,
the table of patterns stands in for it. One parser and one compiled query for each language are kept in a process.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tui_agent.context.repomap.patterns import PATTERNS, SUFFIXES, Patterns
from tui_agent.errors import PluginError

if TYPE_CHECKING:
    from tree_sitter import Parser, QueryCursor

QUERIES = Path(__file__).with_name("queries")
Loader = Callable[[], object]
"""Returns a grammar as its package gives it: a capsule or a pointer for `tree_sitter.Language`."""


class Grammar(NamedTuple):
    """Where a language's grammar is: a module's function, and the name of its query."""

    module: str
    function: str
    query: str


class Ready(NamedTuple):
    """A language that can be parsed."""

    parser: "Parser"
    cursor: "QueryCursor"


GRAMMARS: dict[str, Grammar] = {
    "python": Grammar("tree_sitter_python", "language", "python"),
    "javascript": Grammar("tree_sitter_javascript", "language", "javascript"),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript", "typescript"),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", "typescript"),
    "go": Grammar("tree_sitter_go", "language", "go"),
    "rust": Grammar("tree_sitter_rust", "language", "rust"),
    "java": Grammar("tree_sitter_java", "language", "java"),
    "c": Grammar("tree_sitter_c", "language", "c"),
    "cpp": Grammar("tree_sitter_cpp", "language", "cpp"),
    "ruby": Grammar("tree_sitter_ruby", "language", "ruby"),
    "markdown": Grammar("tree_sitter_markdown", "language", "markdown"),
    "csharp": Grammar("tree_sitter_c_sharp", "language", "csharp"),
    "php": Grammar("tree_sitter_php", "language_php", "php"),
    "kotlin": Grammar("tree_sitter_kotlin", "language", "kotlin"),
    "swift": Grammar("tree_sitter_swift", "language", "swift"),
    "scala": Grammar("tree_sitter_scala", "language", "scala"),
    "lua": Grammar("tree_sitter_lua", "language", "lua"),
}
_SUFFIXES: dict[str, str] = {
    **SUFFIXES,
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "cu", "cuh"), "cpp"),
    **dict.fromkeys(("rb", "rake", "gemspec"), "ruby"),
    **dict.fromkeys(("sh", "bash"), "bash"),
    **dict.fromkeys(("md", "markdown"), "markdown"),
}
_NAMES = {
    "Makefile": "make",
    "GNUmakefile": "make",
    "makefile": "make",
    "Dockerfile": "docker",
    "Containerfile": "docker",
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "CMakeLists.txt": "cmake",
}
_FIRST_LINES = (
    (b"python", "python"),
    (b"bash", "bash"),
    (b"/sh", "bash"),
    (b"node", "javascript"),
    (b"ruby", "ruby"),
)


class _Added(NamedTuple):
    load: Loader | None
    query: str
    patterns: Patterns


_added: dict[str, _Added] = {}


def register(
    suffixes: Sequence[str],
    *,
    name: str,
    load: Loader | None = None,
    query: str = "",
    patterns: Patterns = (),
) -> None:
    """Teach the map a language: a grammar's loader with a query, or patterns alone, or both (the patterns stand in where
    the grammar cannot be loaded). A query captures `@name` and the whole definition by its kind, such as `@function`.

    Holds for this process and for the workers that it starts only where they register it too; a map that has been built
    is built anew, for the languages are a part of its key. Raises `PluginError` for a suffix with a dot or a slash, and
    for a language without a grammar and without patterns.
    """
    if any(not suffix or set("./\\") & set(suffix) for suffix in suffixes):
        raise PluginError(f"A language's suffixes are given without a dot: {', '.join(suffixes)}.")
    if not patterns and not (load and query):
        raise PluginError(f"The language {name} has neither a grammar with a query nor patterns.")
    _added[name] = _Added(load, query, tuple(patterns))
    _SUFFIXES.update((suffix.lower(), name) for suffix in suffixes)
    ready.cache_clear()


def unregister(name: str) -> None:
    """Forget a language that was registered."""
    _added.pop(name, None)
    for suffix in [suffix for suffix, known in _SUFFIXES.items() if known == name]:
        del _SUFFIXES[suffix]
    ready.cache_clear()


def language_of(path: str, head: bytes = b"") -> str:
    """The language of a file by its name, else by its first line; empty where it is not known."""
    base = path.rpartition("/")[2]
    found = _NAMES.get(base) or _SUFFIXES.get(base.rpartition(".")[2].lower() if "." in base else "")
    if found:
        return found
    if base.startswith("Dockerfile."):
        return "docker"
    if head.startswith(b"#!"):
        line = head[:100].partition(b"\n")[0]
        return next((name for sign, name in _FIRST_LINES if sign in line), "")
    return ""


@cache
def ready(name: str) -> Ready | None:
    """The parser and the query of a language; None where there is no grammar for it here."""
    loaded = _loaded(name)
    if loaded is None:
        return None
    from tree_sitter import Language, Parser, Query, QueryCursor  # noqa: PLC0415 - slow: only what parses needs it

    grammar, query = loaded
    language = Language(grammar)
    return Ready(Parser(language), QueryCursor(Query(language, query)))


def _loaded(name: str) -> tuple[object, str] | None:
    added = _added.get(name)
    if added is not None and added.load is not None:
        return added.load(), added.query
    known = GRAMMARS.get(name)
    if known is None:
        return None
    try:
        module = import_module(known.module)
    except ImportError:
        return None
    return getattr(module, known.function)(), (QUERIES / f"{known.query}.scm").read_text(encoding="utf-8")


def patterns_of(name: str) -> Patterns:
    """The patterns of a language; none where only its words are known."""
    added = _added.get(name)
    return added.patterns if added is not None else PATTERNS.get(name, ())


def digest() -> str:
    """What decides which symbols are found in the same file: queries, patterns, which grammars are installed, what is registered."""
    found = hashlib.sha256()
    for path in sorted(QUERIES.glob("*.scm")):
        found.update(path.read_bytes())
    found.update(
        repr(
            [(name, [(kind, each.pattern) for kind, each in PATTERNS[name]]) for name in sorted(PATTERNS)]
        ).encode()
    )
    found.update(repr(sorted(_SUFFIXES.items())).encode())
    found.update(repr([name for name, one in GRAMMARS.items() if find_spec(one.module) is None]).encode())
    found.update(
        repr([(name, one.query, len(one.patterns)) for name, one in sorted(_added.items())]).encode()
    )
    return found.hexdigest()[:16]
