"""Languages of files, and how their symbols are found.

Invariant: a grammar is loaded when the first file of its language is parsed; if it is not installed, regular
expressions replace it. A process keeps one parser and one compiled query per language.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tui_agent.context.repomap.patterns import PATTERNS, SUFFIXES, Patterns, compile_patterns
from tui_agent.ports.repomap import MapLanguage

if TYPE_CHECKING:
    from tree_sitter import Parser, QueryCursor

QUERIES = Path(__file__).with_name("queries")


class Grammar(NamedTuple):
    """The module, function and query of a language's grammar.

    `most`: maximum bytes of a file, 0 for any; longer files use patterns. `ascii`: it accepts ASCII only. `idle`: a pattern
    whose first group never contains anything that the query looks for.
    """

    module: str
    function: str
    query: str
    most: int = 0
    ascii: bool = False
    idle: bytes = b""


class Ready(NamedTuple):
    """A language ready for parsing. `most`, `ascii` and `idle`: see `Grammar`."""

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
"""Python brackets that contain only expressions; strings and comments are skipped."""
_COMMENTS = rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_STATEMENTS = rb"(?s)%b|%b|%b|\)\s*+\{((?:[^{}\"'/]++|%b|%b|/)*+)\}" % (
    _LONG_STRINGS,
    _STRINGS,
    _COMMENTS,
    _STRINGS,
    _COMMENTS,
)
"""Java blocks after parameters or a condition: without nested braces they define nothing."""

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
    # Its time grows with the square of the heredocs in a line, and it looks characters up in a table of bytes.
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
    """The known languages: built-in ones, and those `added` by plugins, which win for their suffixes.

    An added language uses its patterns if its grammar cannot be loaded.
    """

    def __init__(self, added: Sequence[MapLanguage] = ()) -> None:
        self.added = tuple(added)
        self._added = {language.name: language for language in added}
        added_suffixes = {suffix.lower(): language.name for language in added for suffix in language.suffixes}
        self._suffixes = {**_SUFFIXES, **added_suffixes}
        self._ready: dict[str, Ready | None] = {}
        self._patterns: dict[str, Patterns] = {}

    def language_of(self, path: str, head: bytes = b"") -> str:
        """Return a file's language by its name, else by its first line; empty if unknown."""
        base = path.rpartition("/")[2]
        suffix = base.rpartition(".")[2].lower() if "." in base else ""
        language = _NAMES.get(base) or self._suffixes.get(suffix)
        if language:
            return language
        if base.startswith("Dockerfile."):
            return "docker"
        if head.startswith(b"#!"):
            line = head[:100].partition(b"\n")[0]
            return next((name for sign, name in _FIRST_LINES if sign in line), "")
        return ""

    def ready(self, name: str) -> Ready | None:
        """Return the parser and query of a language; None if its grammar is not available."""
        language = self._added.get(name)
        if language is None:
            return _builtin(name)
        if name not in self._ready:
            self._ready[name] = _load_added(language)
        return self._ready[name]

    def patterns_of(self, name: str) -> Patterns:
        """Return the patterns of a language; empty if only its words are indexed."""
        patterns = self._patterns.get(name)
        if patterns is None:
            language = self._added.get(name)
            texts = language.patterns if language is not None else PATTERNS.get(name, ())
            patterns = self._patterns[name] = compile_patterns(texts)
        return patterns

    def digest(self) -> str:
        """Return a hash of everything that decides a file's symbols: queries, patterns, grammars, added languages."""
        return f"{_builtin_digest()}{self.added_digest}"

    @property
    def added_digest(self) -> str:
        """A hash of the added languages only; empty if there are none."""
        modules = [language.grammar.partition(":")[0] for language in self.added if language.grammar]
        installed = [(name, _is_installed(name)) for name in modules]
        return _short_hash(repr((self.added, installed))) if self.added else ""


KNOWN = Languages()
"""The built-in languages."""


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
    ready = _make_ready(getattr(module, known.function)(), query)
    idle = re.compile(known.idle) if known.idle else None
    return ready._replace(most=known.most, ascii=known.ascii, idle=idle)


def _load_added(language: MapLanguage) -> Ready | None:
    """Load an added grammar; None also if it is for another tree-sitter or its query does not match."""
    module, _, function = language.grammar.partition(":")
    if not module:
        return None
    try:
        grammar = getattr(import_module(module), function)()
        return None if isinstance(grammar, int) else _make_ready(grammar, language.query)
    except (ImportError, AttributeError, TypeError, ValueError, SyntaxError):
        return None


def _make_ready(grammar: object, query: str) -> Ready:
    from tree_sitter import Language, Parser, Query, QueryCursor  # noqa: PLC0415 - slow; needed only for parsing

    language = Language(grammar)
    return Ready(Parser(language), QueryCursor(Query(language, query)))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@cache
def _builtin_digest() -> str:
    parts = [path.read_text(encoding="utf-8") for path in sorted(QUERIES.glob("*.scm"))]
    parts += [
        repr(sorted(PATTERNS.items())),
        repr(sorted(_SUFFIXES.items())),
        repr([name for name, grammar in GRAMMARS.items() if find_spec(grammar.module) is None]),
        repr([grammar.idle for grammar in GRAMMARS.values()]),
    ]
    return _short_hash("\n".join(parts))
