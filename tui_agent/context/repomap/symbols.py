"""The symbols of one file.

Invariant: the tree is never walked by recursion and no node outlives the call; a file that no parser takes has its
words and no symbols, never an error.
"""

import re
from itertools import accumulate
from operator import methodcaller
from typing import TYPE_CHECKING, TypeAlias

from tui_agent.context.repomap.languages import KNOWN, Languages, Ready
from tui_agent.context.repomap.patterns import Patterns
from tui_agent.context.repomap.redacted_text import PLAIN, Cleaner
from tui_agent.context.repomap.views import Symbol

if TYPE_CHECKING:
    from tree_sitter import Tree

MAX_SYMBOLS = 2_000
"""Of one file; what comes later in it is found by its words only."""
MAX_SIGNATURE = 140
LONG = 4 * MAX_SIGNATURE
"""Bytes of a signature that are looked at, and redacted before it is cut."""
MAX_NAME = 100
MAX_DEPTH = 1_000
"""Of brackets; what is nested more deeply is read by patterns, if at all."""
_DEPTH = {**dict.fromkeys(b"([{", 1), **dict.fromkeys(b")]}", -1)}
_NO_BRACKETS = bytes(set(range(256)) - _DEPTH.keys())
_ASCII = bytes(range(128)) + b"x" * 128
"""Makes letters of what is no ASCII, each byte one, so that places stay."""
_LINES_OF_SIGNATURE = 6
_NAMES_ONLY = frozenset(
    "variable constant define key property section heading id block rule stage test label target".split()  # noqa: SIM905
)
"""Kinds of which only the name is shown: values can be secrets, and are noise."""
_WORDS_BEFORE = re.compile(rb"[ \t]*(?:[a-z]+ +){1,3}")
"""What a grammar leaves out of a definition: `export`, `type`."""
_FIRST_GROUP = methodcaller("span", 1)
_SCOPES = frozenset(
    {
        "class",
        "module",
        "struct",
        "impl",
        "trait",
        "interface",
        "enum",
        "object",
        "heading",
        "contract",
        "table",
    }
)


_Found: TypeAlias = tuple[int, int, str, int, int]
"""A definition: where it begins and ends, its kind, where its name begins and ends."""


def symbols_of(
    path: str, data: bytes, known: Languages = KNOWN, *, parse: bool = True, cleaner: Cleaner = PLAIN
) -> tuple[str, tuple[Symbol, ...]]:
    """The language of a file and what it defines, in the file's order; nothing of it without `parse`."""
    language = known.language_of(path, data)
    if not parse:
        return language, ()
    found = _parsed(known.ready(language) if language else None, data)
    if found is None:
        found = _matched(known.patterns_of(language), data)
    return language, _described(found, data, cleaner)


def _parsed(known: Ready | None, data: bytes) -> list[_Found] | None:
    if known is None or 0 < known.most < len(data) or too_deep(data):
        return None
    tree = _tree(known, data)
    found: dict[int, _Found] = {}
    for _, captured in known.cursor.matches(tree.root_node):
        name = captured.pop("name")[0]
        (kind, (node, *_)), at = next(iter(captured.items())), name.start_byte
        if at not in found or (found[at][2] in _NAMES_ONLY and kind not in _NAMES_ONLY):
            found[at] = (node.start_byte, node.end_byte, kind, at, name.end_byte)
            if len(found) >= MAX_SYMBOLS:
                break
    return sorted(found.values())


def _tree(known: Ready, data: bytes) -> "Tree":
    """The tree of the text with blanks in place of what is idle, for which the parser takes a fourth less time; of all of
    it where that has errors."""
    if known.ascii:
        data = data.translate(_ASCII)
    text = _blanked(data, known.idle) if known.idle is not None else data
    tree = known.parser.parse(text)
    return known.parser.parse(data) if tree.root_node.has_error and text is not data else tree


def _blanked(data: bytes, idle: re.Pattern[bytes]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, end in map(_FIRST_GROUP, idle.finditer(data)):
        if start >= 0:
            parts += data[at:start], b" " * (end - start)
            at = end
    return b"".join((*parts, data[at:])) if parts else data


def too_deep(data: bytes) -> bool:
    """Whether brackets are nested so deeply that a query on the tree takes squared time."""
    brackets = data.translate(None, _NO_BRACKETS)
    if len(brackets) < MAX_DEPTH:
        return False
    return max(accumulate(map(_DEPTH.__getitem__, brackets))) > MAX_DEPTH


def _matched(patterns: Patterns, data: bytes) -> list[_Found]:
    found: dict[int, _Found] = {}
    for kind, pattern in patterns:
        for match in pattern.finditer(data):
            start, end = match.span("name")
            found.setdefault(start, (match.start(), match.end(), kind, start, end))
            if len(found) >= MAX_SYMBOLS:
                break
    ordered = sorted(found.values())
    ends = [*(name for _, _, _, name, _ in ordered[1:]), len(data)]
    return [(*one[:1], max(one[1], end - 1), *one[2:]) for one, end in zip(ordered, ends, strict=False)]


def _described(found: list[_Found], data: bytes, cleaner: Cleaner) -> tuple[Symbol, ...]:
    scopes: list[tuple[int, str]] = []
    symbols: list[Symbol] = []
    count, line, counted, new = data.count, 1, 0, tuple.__new__
    for start, end, kind, at, name_end in found:
        while scopes and scopes[-1][0] <= start:
            scopes.pop()
        name = data[at : min(name_end, at + LONG)].decode("utf-8", "replace")
        if not name.isidentifier():
            name = " ".join(name.split())
            if not name:
                continue
        line += count(b"\n", counted, at) if at >= counted else -count(b"\n", at, counted)
        counted = at
        last = line + count(b"\n", at, end - 1 if end > start else start)
        signature = name if kind in _NAMES_ONLY else _signature(start, end, at, name_end, data)
        symbols.append(new(Symbol, (name, kind, line, last, signature, scopes[-1][1] if scopes else "")))
        if kind in _SCOPES and end > start:
            scopes.append((end, name))
    return _cleaned(symbols, cleaner)


def _cleaned(symbols: list[Symbol], cleaner: Cleaner) -> tuple[Symbol, ...]:
    """Without secrets, and then cut: half a secret looks like none."""
    count = len(symbols)
    said = [one.signature for one in symbols] + [one.name for one in symbols]
    made = cleaner.shown(said, [one.kind for one in symbols] * 2)
    signatures, names = made[:count], made[count:]
    if (
        made is said
        and max(map(len, signatures), default=0) <= MAX_SIGNATURE
        and max(map(len, names), default=0) <= MAX_NAME
    ):
        return tuple(symbols)
    parents = {one.name: name for one, name in zip(symbols, names, strict=True)}
    return tuple(
        Symbol(
            name[:MAX_NAME],
            one.kind,
            one.line,
            one.end,
            name[:MAX_NAME] if one.kind in _NAMES_ONLY else _cut(text),
            parents.get(one.parent, one.parent)[:MAX_NAME],
        )
        for one, name, text in zip(symbols, names, signatures, strict=True)
    )


def _signature(start: int, end: int, name_start: int, name_end: int, data: bytes) -> str:
    """The line of a definition from its beginning on, and those behind it up to the bracket that closes its parameters."""
    line_start = data.rfind(b"\n", 0, name_start) + 1
    before = data[line_start:start]
    if start < line_start or (before and not before.isspace() and _WORDS_BEFORE.fullmatch(before)):
        start = line_start
    last, at = max(end, name_end), name_start - 1
    for _ in range(_LINES_OF_SIGNATURE):
        at = data.find(b"\n", at + 1)
        end = min(last, at) if at >= 0 else last
        text = data[start:end]
        if end == last or end - start >= LONG or text.count(b"(") <= text.count(b")"):
            break
    short = _one_line(text[:LONG]).rstrip(" {:;=\\")
    if "( " in short or " )" in short:
        return short.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return short


def _cut(short: str) -> str:
    return short if len(short) <= MAX_SIGNATURE else short[: MAX_SIGNATURE - 1] + "…"


def _one_line(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())
