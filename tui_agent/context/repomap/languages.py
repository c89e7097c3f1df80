"""Languages of files, with their parsers, queries and patterns. The built-in languages are in `languages.toml`.

Invariant: a grammar is loaded when the first file of its language is parsed.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from re import Pattern
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tui_agent.ports.repomap import MapLanguage

if TYPE_CHECKING:
    from tree_sitter import Parser, QueryCursor

TABLE = Path(__file__).with_name("languages.toml")
QUERIES = Path(__file__).with_name("queries")
Patterns: TypeAlias = Sequence[tuple[str, Pattern[bytes]]]
"""Pairs of (kind of symbol, pattern), applied in this order to the whole file."""
_MODIFIERS = (
    r"^[ \t]*(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|override|async|virtual|partial"
    r"|inline|data|suspend|fileprivate|mutating|const|lazy|case|implicit) +){0,6}"
)
_IDENTIFIER = r"(?P<name>[A-Za-z_]\w*)"


class BuiltinLanguage(NamedTuple):
    """A language in the table `languages.toml`.

    `ascii`: True if the grammar accepts only ASCII.
    `max_bytes`: maximum size of files for the parser. 0 means no limit.
    """

    suffixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    grammar: str = ""
    query: str = ""
    max_bytes: int = 0
    ascii: bool = False
    patterns: Sequence[tuple[str, str]] = ()


class BuiltinTable(NamedTuple):
    """The built-in languages by name.

    `by_suffix`, `by_file_name`: map a file suffix, or a complete file name, to the name of a language.
    """

    languages: Mapping[str, BuiltinLanguage]
    by_suffix: Mapping[str, str]
    by_file_name: Mapping[str, str]


class LoadedLanguage(NamedTuple):
    """A language with its loaded parser and query.

    `max_bytes`, `ascii`: see `BuiltinLanguage`.
    `idle`: pattern with a group for text without symbols, such as a call's arguments. Before parsing, this text is
    replaced with spaces.
    """

    parser: "Parser"
    cursor: "QueryCursor"
    max_bytes: int = 0
    ascii: bool = False
    idle: Pattern[bytes] | None = None


# Possessive quantifiers (`++`) do not backtrack, so the time is linear even for a broken file.
_STRINGS = rb'"(?:[^"\\\n]++|\\.)*+"' rb"|'(?:[^'\\\n]++|\\.)*+'"
_LONG_STRINGS = rb'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?' rb"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?"
_EXPRESSION = rb"(?:[^()\[\]{}\"'#\\]++|%b)" % _STRINGS
_ARGUMENTS = rb"(?s)%b|%b|#[^\n]*+|\((?<!import \()((?:%b|\(%b*+\)|\[%b*+\])*+)\)" % (
    _LONG_STRINGS,
    _STRINGS,
    *(_EXPRESSION,) * 3,
)
"""Matches Python brackets that contain only expressions."""
_COMMENTS = rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_STATEMENTS = rb"(?s)%b|%b|%b|\)\s*+\{((?:[^{}\"'/]++|%b|%b|/)*+)\}" % (
    _LONG_STRINGS,
    _STRINGS,
    _COMMENTS,
    _STRINGS,
    _COMMENTS,
)
"""Matches a Java block that defines no symbols."""

_IDLE = {"python": _ARGUMENTS, "java": _STATEMENTS}
_FIRST_LINES = (
    (b"python", "python"),
    (b"bash", "bash"),
    (b"/sh", "bash"),
    (b"node", "javascript"),
    (b"ruby", "ruby"),
)


class Languages:
    """The built-in languages, and the languages `added` by plugins.

    A plugin's language replaces a built-in language with the same file suffix.
    """

    def __init__(self, added: Sequence[MapLanguage] = ()) -> None:
        self.added = tuple(added)
        self._added = {language.name: language for language in added}
        self._suffixes = {suffix.lower(): language.name for language in added for suffix in language.suffixes}
        self._ready: dict[str, LoadedLanguage | None] = {}
        self._patterns: dict[str, Patterns] = {}

    def language_of(self, path: str, head: bytes = b"") -> str:
        """Return a file's language; empty if unknown.

        `head`: the start of the file, used if the path does not tell the language.
        """
        base = path.rpartition("/")[2]
        suffix = base.rpartition(".")[2].lower() if "." in base else ""
        table = builtin_table()
        language = table.by_file_name.get(base) or self._suffixes.get(suffix) or table.by_suffix.get(suffix)
        if language:
            return language
        if base.startswith("Dockerfile."):
            return "docker"
        if head.startswith(b"#!"):
            line = head[:100].partition(b"\n")[0]
            return next((name for sign, name in _FIRST_LINES if sign in line), "")
        return ""

    def load_language(self, name: str) -> LoadedLanguage | None:
        """Return a language's parser and query, or None if the language's grammar is not available."""
        language = self._added.get(name)
        if language is None:
            return _load_builtin(name)
        if name not in self._ready:
            self._ready[name] = _load_added(language)
        return self._ready[name]

    def patterns_of(self, name: str) -> Patterns:
        """Return the patterns that find a language's symbols."""
        patterns = self._patterns.get(name)
        if patterns is None:
            language = self._added.get(name)
            known = language or builtin_table().languages.get(name)
            patterns = self._patterns[name] = compile_patterns(known.patterns if known else ())
        return patterns

    def digest(self) -> str:
        """Return a hash of everything that determines a file's symbols, such as queries, patterns and grammars."""
        return f"{_builtin_digest()}{self.added_digest}"

    @property
    def added_digest(self) -> str:
        """A hash of the added languages only; empty if there are none."""
        modules = [language.grammar.partition(":")[0] for language in self.added if language.grammar]
        installed = [(name, _is_installed(name)) for name in modules]
        return _short_hash(repr((self.added, installed))) if self.added else ""


KNOWN = Languages()
"""The built-in languages, without languages of plugins."""


def compile_patterns(pairs: Iterable[tuple[str, str]]) -> Patterns:
    """Compile the patterns; `^` matches at the start of each line."""
    return tuple((kind, re.compile(text.encode(), re.MULTILINE)) for kind, text in pairs)


@cache
def builtin_table() -> BuiltinTable:
    """Return the built-in languages, read from `languages.toml`."""
    languages = {
        name: _read_language(name, fields) for name, fields in tomllib.loads(TABLE.read_text()).items()
    }
    return BuiltinTable(
        languages,
        {suffix: name for name, language in languages.items() for suffix in language.suffixes},
        {file: name for name, language in languages.items() for file in language.names},
    )


def _read_language(name: str, fields: Mapping[str, Any]) -> BuiltinLanguage:
    patterns = [
        (kind, text.replace("{modifiers}", _MODIFIERS).replace("{id}", _IDENTIFIER))
        for kind, text in fields.get("patterns", ())
    ]
    return BuiltinLanguage(
        tuple(fields.get("suffixes", "").split()),
        tuple(fields.get("names", "").split()),
        fields.get("grammar", ""),
        fields.get("query", name),
        fields.get("max_bytes", 0),
        fields.get("ascii", False),
        patterns,
    )


@cache
def _load_builtin(name: str) -> LoadedLanguage | None:
    language = builtin_table().languages.get(name)
    if language is None or not language.grammar:
        return None
    module, _, function = language.grammar.partition(":")
    try:
        grammar = getattr(import_module(module), function)()
    except ImportError:
        return None
    ready = _make_ready(grammar, (QUERIES / f"{language.query}.scm").read_text(encoding="utf-8"))
    idle = re.compile(_IDLE[name]) if name in _IDLE else None
    return ready._replace(max_bytes=language.max_bytes, ascii=language.ascii, idle=idle)


def _load_added(language: MapLanguage) -> LoadedLanguage | None:
    """Load the grammar of a plugin's language."""
    module, _, function = language.grammar.partition(":")
    if not module:
        return None
    try:
        grammar = getattr(import_module(module), function)()
        # Old grammar packages return a pointer as an int, and tree-sitter would use any int as an address.
        return None if isinstance(grammar, int) else _make_ready(grammar, language.query)
    except (ImportError, AttributeError, TypeError, ValueError, SyntaxError):
        return None


def _make_ready(grammar: object, query: str) -> LoadedLanguage:
    from tree_sitter import Language, Parser, Query, QueryCursor  # noqa: PLC0415 - slow; needed only for parsing

    language = Language(grammar)
    return LoadedLanguage(Parser(language), QueryCursor(Query(language, query)))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@cache
def _builtin_digest() -> str:
    parts = [path.read_text(encoding="utf-8") for path in (TABLE, *sorted(QUERIES.glob("*.scm")))]
    grammars = (language.grammar.partition(":")[0] for language in builtin_table().languages.values())
    missing = [module for module in grammars if module and not _is_installed(module)]
    return _short_hash("\n".join([*parts, repr(missing), repr(_IDLE), _MODIFIERS, _IDENTIFIER]))
