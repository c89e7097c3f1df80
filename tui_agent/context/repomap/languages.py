"""Which language a file is in, and how its symbols are found.

Invariant: a grammar is loaded when the first file of its language is parsed, never before; where it is not installed,
the table of patterns stands in for it. One parser and one compiled query for each language are kept in a process.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tui_agent.context.repomap.patterns import PATTERNS, SUFFIXES, Patterns, compiled
from tui_agent.ports.repomap import MapLanguage

if TYPE_CHECKING:
    from tree_sitter import Parser, QueryCursor

QUERIES = Path(__file__).with_name("queries")


class Grammar(NamedTuple):
    """Where a language's grammar is: a module's function, and the name of its query.

    `most`: bytes up to which it is used, 0 for any; patterns read what is longer. `ascii`: it takes no other characters.
    `idle`: a pattern in whose first group nothing stands that the query asks for, whatever is in it.
    """

    module: str
    function: str
    query: str
    most: int = 0
    ascii: bool = False
    idle: bytes = b""


class Ready(NamedTuple):
    """A language that can be parsed. `most`, `ascii` and `idle` as in `Grammar`."""

    parser: "Parser"
    cursor: "QueryCursor"
    most: int = 0
    ascii: bool = False
    idle: re.Pattern[bytes] | None = None


_STRINGS = rb'"(?:[^"\\\n]++|\\.)*+"' rb"|'(?:[^'\\\n]++|\\.)*+'"
_LONG_STRINGS = rb'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?' rb"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?"
_EXPRESSION = rb"(?:[^()\[\]{}\"'#\\]++|%b)" % _STRINGS
_ARGUMENTS = rb"(?s)%b|%b|#[^\n]*+|\((?<!import \()((?:%b|\(%b*+\)|\[%b*+\])*+)\)" % (
    _LONG_STRINGS,
    _STRINGS,
    *(_EXPRESSION,) * 3,
)
"""Brackets of Python, which hold expressions only; strings and comments are passed over."""
_COMMENTS = rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_STATEMENTS = rb"(?s)%b|%b|%b|\)\s*+\{((?:[^{}\"'/]++|%b|%b|/)*+)\}" % (
    _LONG_STRINGS,
    _STRINGS,
    _COMMENTS,
    _STRINGS,
    _COMMENTS,
)
"""What stands in Java behind parameters or a condition: without brackets of its own it defines nothing."""

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar("tree_sitter_python", "language", "python", idle=_ARGUMENTS),
    "javascript": Grammar("tree_sitter_javascript", "language", "javascript"),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript", "typescript"),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", "typescript"),
    "go": Grammar("tree_sitter_go", "language", "go"),
    "rust": Grammar("tree_sitter_rust", "language", "rust"),
    "java": Grammar("tree_sitter_java", "language", "java", idle=_STATEMENTS),
    "c": Grammar("tree_sitter_c", "language", "c"),
    "cpp": Grammar("tree_sitter_cpp", "language", "cpp"),
    "ruby": Grammar("tree_sitter_ruby", "language", "ruby"),
    # It needs squared time for many heredocs in one line, and looks characters up in a table of bytes.
    "bash": Grammar("tree_sitter_bash", "language", "bash", most=40_000, ascii=True),
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


class Languages:
    """The languages that are known: the product's, and those that plugins `added`, which win for their suffixes.

    The patterns of an added language stand in where its grammar cannot be loaded here.
    """

    def __init__(self, added: Sequence[MapLanguage] = ()) -> None:
        self.added = tuple(added)
        self._added = {one.name: one for one in added}
        taught = {suffix.lower(): one.name for one in added for suffix in one.suffixes}
        self._suffixes = {**_SUFFIXES, **taught}
        self._ready: dict[str, Ready | None] = {}
        self._patterns: dict[str, Patterns] = {}

    def language_of(self, path: str, head: bytes = b"") -> str:
        """The language of a file by its name, else by its first line; empty where it is not known."""
        base = path.rpartition("/")[2]
        suffix = base.rpartition(".")[2].lower() if "." in base else ""
        found = _NAMES.get(base) or self._suffixes.get(suffix)
        if found:
            return found
        if base.startswith("Dockerfile."):
            return "docker"
        if head.startswith(b"#!"):
            line = head[:100].partition(b"\n")[0]
            return next((name for sign, name in _FIRST_LINES if sign in line), "")
        return ""

    def ready(self, name: str) -> Ready | None:
        """The parser and the query of a language; None where there is no grammar for it here."""
        one = self._added.get(name)
        if one is None:
            return _builtin(name)
        if name not in self._ready:
            self._ready[name] = _taught(one)
        return self._ready[name]

    def patterns_of(self, name: str) -> Patterns:
        """The patterns of a language; none where only its words are known."""
        found = self._patterns.get(name)
        if found is None:
            one = self._added.get(name)
            texts = one.patterns if one is not None else PATTERNS.get(name, ())
            found = self._patterns[name] = compiled(texts)
        return found

    def digest(self) -> str:
        """What decides which symbols are found in the same file: queries, patterns, which grammars are installed, what
        was added."""
        return f"{_builtin_digest()}{self.added_digest}"

    @property
    def added_digest(self) -> str:
        """The same for what was added alone; empty where nothing was."""
        modules = [one.grammar.partition(":")[0] for one in self.added if one.grammar]
        there = [(name, _is_installed(name)) for name in modules]
        return _short(repr((self.added, there))) if self.added else ""


KNOWN = Languages()
"""The product's own."""


@cache
def _builtin(name: str) -> Ready | None:
    known = GRAMMARS.get(name)
    if known is None:
        return None
    try:
        module = import_module(known.module)
    except ImportError:
        return None
    query = (QUERIES / f"{known.query}.scm").read_text(encoding="utf-8")
    made = _made(getattr(module, known.function)(), query)
    idle = re.compile(known.idle) if known.idle else None
    return made._replace(most=known.most, ascii=known.ascii, idle=idle)


def _taught(one: MapLanguage) -> Ready | None:
    """None also where the grammar is for another tree-sitter, is a bare address, or the query does not fit it."""
    module, _, function = one.grammar.partition(":")
    if not module:
        return None
    try:
        grammar = getattr(import_module(module), function)()
        return None if isinstance(grammar, int) else _made(grammar, one.query)
    except (ImportError, AttributeError, TypeError, ValueError, SyntaxError):
        return None


def _made(grammar: object, query: str) -> Ready:
    from tree_sitter import Language, Parser, Query, QueryCursor  # noqa: PLC0415 - slow: only what parses needs it

    language = Language(grammar)
    return Ready(Parser(language), QueryCursor(Query(language, query)))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@cache
def _builtin_digest() -> str:
    parts = [path.read_text(encoding="utf-8") for path in sorted(QUERIES.glob("*.scm"))]
    parts += [
        repr(sorted(PATTERNS.items())),
        repr(sorted(_SUFFIXES.items())),
        repr([name for name, one in GRAMMARS.items() if find_spec(one.module) is None]),
        repr([one.idle for one in GRAMMARS.values()]),
    ]
    return _short("\n".join(parts))
