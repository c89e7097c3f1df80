"""Extraction of the symbols of one file, with a parser or with patterns.

Invariant: no file raises an error, and the syntax tree is never walked recursively.
"""

import re
from itertools import accumulate
from operator import methodcaller
from typing import TYPE_CHECKING, TypeAlias

from tui_agent.context.repomap.languages import KNOWN, Languages, LoadedLanguage, Patterns
from tui_agent.context.repomap.map_results import Symbol
from tui_agent.context.repomap.redacted_text import PLAIN, Cleaner

if TYPE_CHECKING:
    from tree_sitter import Tree

MAX_SYMBOLS = 2_000
"""Maximum number of symbols that are stored per file."""
MAX_SIGNATURE = 140
LONG = 4 * MAX_SIGNATURE
"""Maximum size of a signature before redaction, in bytes."""
MAX_NAME = 100
MAX_DEPTH = 1_000
"""Maximum depth of nested brackets for the parser."""
_DEPTH = {**dict.fromkeys(b"([{", 1), **dict.fromkeys(b")]}", -1)}
_NO_BRACKETS = bytes(set(range(256)) - _DEPTH.keys())
_ASCII = bytes(range(128)) + b"x" * 128
"""Translation table that replaces each non-ASCII byte with a letter, so that byte positions do not change."""
_LINES_OF_SIGNATURE = 6
_NAMES_ONLY = frozenset(
    "variable constant define key property section heading id block rule stage test label target".split()  # noqa: SIM905
)
"""Kinds of symbols that are shown by name only, because their values can be secrets."""
_WORDS_BEFORE = re.compile(rb"[ \t]*(?:[a-z]+ +){1,3}")
"""Matches words such as `export` before a definition."""
_FIRST_GROUP = methodcaller("span", 1)
_SCOPES = frozenset(
    "class module struct impl trait interface enum object heading contract table".split()  # noqa: SIM905
)


_Found: TypeAlias = tuple[int, int, str, int, int]
"""Position of a definition: (start, end, kind, start of the name, end of the name)."""


def symbols_of(
    path: str, data: bytes, known: Languages = KNOWN, *, parse: bool = True, cleaner: Cleaner = PLAIN
) -> tuple[str, tuple[Symbol, ...]]:
    """Return a file's language, and its symbols in file order.

    `parse`: if False, there are no symbols.
    """
    language = known.language_of(path, data)
    if not parse:
        return language, ()
    definitions = _parse_definitions(known.load_language(language) if language else None, data)
    if definitions is None:
        definitions = _match_patterns(known.patterns_of(language), data)
    return language, _build_symbols(definitions, data, cleaner)


def _parse_definitions(known: LoadedLanguage | None, data: bytes) -> list[_Found] | None:
    if known is None or 0 < known.max_bytes < len(data) or too_deep(data):
        return None
    tree = _parse_tree(known, data)
    definitions: dict[int, _Found] = {}
    for _, captured in known.cursor.matches(tree.root_node):
        name = captured.pop("name")[0]
        (kind, (node, *_)), start = next(iter(captured.items())), name.start_byte
        if start not in definitions or (definitions[start][2] in _NAMES_ONLY and kind not in _NAMES_ONLY):
            definitions[start] = (node.start_byte, node.end_byte, kind, start, name.end_byte)
            if len(definitions) >= MAX_SYMBOLS:
                break
    return sorted(definitions.values())


def _parse_tree(known: LoadedLanguage, data: bytes) -> "Tree":
    """Return the syntax tree of `data`."""
    # Parts that cannot define a symbol are replaced by spaces first, to save a quarter of the time.
    if known.ascii:
        data = data.translate(_ASCII)
    text = _blank_idle(data, known.idle) if known.idle is not None else data
    tree = known.parser.parse(text)
    # The pattern may have blanked code by mistake, so after an error the real text is parsed.
    return known.parser.parse(data) if tree.root_node.has_error and text is not data else tree


def _blank_idle(data: bytes, idle: re.Pattern[bytes]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for start, end in map(_FIRST_GROUP, idle.finditer(data)):
        if start >= 0:
            parts += data[position:start], b" " * (end - start)
            position = end
    return b"".join((*parts, data[position:])) if parts else data


def too_deep(data: bytes) -> bool:
    """Return True if brackets are nested so deeply that a tree-sitter query would take quadratic time."""
    brackets = data.translate(None, _NO_BRACKETS)
    if len(brackets) < MAX_DEPTH:
        return False
    return max(accumulate(map(_DEPTH.__getitem__, brackets))) > MAX_DEPTH


def _match_patterns(patterns: Patterns, data: bytes) -> list[_Found]:
    definitions: dict[int, _Found] = {}
    for kind, pattern in patterns:
        for match in pattern.finditer(data):
            start, end = match.span("name")
            definitions.setdefault(start, (match.start(), match.end(), kind, start, end))
            if len(definitions) >= MAX_SYMBOLS:
                break
    ordered = sorted(definitions.values())
    ends = [*(name for _, _, _, name, _ in ordered[1:]), len(data)]
    return [
        (*definition[:1], max(definition[1], end - 1), *definition[2:])
        for definition, end in zip(ordered, ends, strict=False)
    ]


def _build_symbols(definitions: list[_Found], data: bytes, cleaner: Cleaner) -> tuple[Symbol, ...]:
    scopes: list[tuple[int, str]] = []
    symbols: list[Symbol] = []
    count, line, counted_to, new = data.count, 1, 0, tuple.__new__
    for start, end, kind, name_start, name_end in definitions:
        while scopes and scopes[-1][0] <= start:
            scopes.pop()
        name = data[name_start : min(name_end, name_start + LONG)].decode("utf-8", "replace")
        if not name.isidentifier():
            name = " ".join(name.split())
            if not name:
                continue
        # Definitions are sorted by their start, so a name can come before the previous name.
        line += (
            count(b"\n", counted_to, name_start)
            if name_start >= counted_to
            else -count(b"\n", name_start, counted_to)
        )
        counted_to = name_start
        last = line + count(b"\n", name_start, end - 1 if end > start else start)
        signature = name if kind in _NAMES_ONLY else _signature(start, end, name_start, name_end, data)
        symbols.append(new(Symbol, (name, kind, line, last, signature, scopes[-1][1] if scopes else "")))
        if kind in _SCOPES and end > start:
            scopes.append((end, name))
    return _redact_symbols(symbols, cleaner)


def _redact_symbols(symbols: list[Symbol], cleaner: Cleaner) -> tuple[Symbol, ...]:
    """Redact the symbols' names and signatures, then cut them to their maximum lengths."""
    # A secret that was cut in half would not be recognised.
    count = len(symbols)
    texts = [symbol.signature for symbol in symbols] + [symbol.name for symbol in symbols]
    redacted = cleaner.redact_signatures(texts, [symbol.kind for symbol in symbols] * 2)
    signatures, names = redacted[:count], redacted[count:]
    if (
        redacted is texts
        and max(map(len, signatures), default=0) <= MAX_SIGNATURE
        and max(map(len, names), default=0) <= MAX_NAME
    ):
        return tuple(symbols)
    parents = {symbol.name: name for symbol, name in zip(symbols, names, strict=True)}
    return tuple(
        Symbol(
            name[:MAX_NAME],
            symbol.kind,
            symbol.line,
            symbol.end,
            name[:MAX_NAME] if symbol.kind in _NAMES_ONLY else _limit_signature(text),
            parents.get(symbol.parent, symbol.parent)[:MAX_NAME],
        )
        for symbol, name, text in zip(symbols, names, signatures, strict=True)
    )


def _signature(start: int, end: int, name_start: int, name_end: int, data: bytes) -> str:
    """Return a definition's text from its start to the closing bracket of its parameters."""
    line_start = data.rfind(b"\n", 0, name_start) + 1
    before = data[line_start:start]
    if start < line_start or (before and not before.isspace() and _WORDS_BEFORE.fullmatch(before)):
        start = line_start
    last, line_end = max(end, name_end), name_start - 1
    for _ in range(_LINES_OF_SIGNATURE):
        line_end = data.find(b"\n", line_end + 1)
        end = min(last, line_end) if line_end >= 0 else last
        text = data[start:end]
        if end == last or end - start >= LONG or text.count(b"(") <= text.count(b")"):
            break
    short = _one_line(text[:LONG]).rstrip(" {:;=\\")
    if "( " in short or " )" in short:
        return short.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return short


def _limit_signature(short: str) -> str:
    return short if len(short) <= MAX_SIGNATURE else short[: MAX_SIGNATURE - 1] + "…"


def _one_line(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())
