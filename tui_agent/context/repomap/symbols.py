"""L3: the symbols of one file.

Invariant: the tree is never walked by recursion and no node outlives the call; a file that no parser takes has its
words and no symbols, never an error.
"""

import re
from itertools import accumulate
from typing import NamedTuple

from tui_agent.context.repomap.cleaning import PLAIN, Cleaner
from tui_agent.context.repomap.languages import KNOWN, Languages, Ready
from tui_agent.context.repomap.patterns import Patterns
from tui_agent.context.repomap.views import Symbol

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


class _Found(NamedTuple):
    start: int
    end: int
    kind: str
    name_start: int
    name_end: int


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
    tree = known.parser.parse(data.translate(_ASCII) if known.ascii else data)
    found: dict[int, _Found] = {}
    for _, captured in known.cursor.matches(tree.root_node):
        name = captured.pop("name")[0]
        kind, at = next(iter(captured)), name.start_byte
        known_as = found.get(at)
        if known_as is None or (known_as.kind in _NAMES_ONLY and kind not in _NAMES_ONLY):
            node = captured[kind][0]
            found[at] = _Found(node.start_byte, node.end_byte, kind, at, name.end_byte)
        if len(found) >= MAX_SYMBOLS:
            break
    return sorted(found.values())


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
            found.setdefault(start, _Found(match.start(), match.end(), kind, start, end))
            if len(found) >= MAX_SYMBOLS:
                break
    ordered = sorted(found.values())
    ends = [*(one.name_start for one in ordered[1:]), len(data)][: len(ordered)]
    return [one._replace(end=max(one.end, end - 1)) for one, end in zip(ordered, ends, strict=True)]


def _described(found: list[_Found], data: bytes, cleaner: Cleaner) -> tuple[Symbol, ...]:
    if not found:
        return ()
    lines = _Lines(data)
    scopes: list[tuple[int, str]] = []
    symbols: list[Symbol] = []
    for one in found:
        while scopes and scopes[-1][0] <= one.start:
            scopes.pop()
        name = _one_line(data[one.name_start : min(one.name_end, one.name_start + LONG)])
        if not name:
            continue
        line = lines.number(one.name_start)
        end = max(line, lines.number(max(one.end - 1, one.start), passing=True))
        parent = scopes[-1][1] if scopes else ""
        symbols.append(Symbol(name, one.kind, line, end, _signature(one, name, data), parent))
        if one.kind in _SCOPES and one.end > one.start:
            scopes.append((one.end, name))
    return _cleaned(symbols, cleaner)


def _cleaned(symbols: list[Symbol], cleaner: Cleaner) -> tuple[Symbol, ...]:
    """Without secrets, and then cut: half a secret looks like none."""
    signatures = cleaner.shown([(one.kind, one.signature) for one in symbols])
    apart = [at for at, one in enumerate(symbols) if one.name != one.signature]
    names = list(signatures)
    for at, name in zip(
        apart, cleaner.shown([(symbols[at].kind, symbols[at].name) for at in apart]), strict=True
    ):
        names[at] = name
    if _is_as_kept(symbols, names, signatures):
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


def _is_as_kept(symbols: list[Symbol], names: list[str], signatures: list[str]) -> bool:
    """Whether nothing of them was redacted and nothing is to be cut, as in nearly every file."""
    return (
        max(map(len, names), default=0) <= MAX_NAME
        and max(map(len, signatures), default=0) <= MAX_SIGNATURE
        and all(
            one.name == name and one.signature == text
            for one, name, text in zip(symbols, names, signatures, strict=True)
        )
    )


class _Lines:
    """The lines of places that come more or less in order: what lies between two of them is counted."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at, self._line = 0, 1

    def number(self, at: int, *, passing: bool = False) -> int:
        """The line of a place, from 1; the next is counted from there, unless it is only `passing`."""
        before = self._at
        breaks = self._data.count(b"\n", before, at) if at >= before else -self._data.count(b"\n", at, before)
        line = self._line + breaks
        if not passing:
            self._at, self._line = at, line
        return line


def _signature(one: _Found, name: str, data: bytes) -> str:
    if one.kind in _NAMES_ONLY:
        return name
    line_start = data.rfind(b"\n", 0, one.name_start) + 1
    start = max(line_start, one.start)
    if _WORDS_BEFORE.fullmatch(data, line_start, start):
        start = line_start
    last = max(one.end, one.name_end)
    end, at = start, one.name_start - 1
    for _ in range(_LINES_OF_SIGNATURE):
        at = data.find(b"\n", at + 1)
        end = min(last, at) if at >= 0 else last
        text = data[start:end]
        if end == last or end - start >= LONG or text.count(b"(") <= text.count(b")"):
            break
    short = _one_line(data[start : min(end, start + LONG)]).rstrip(" {:;=\\")
    return short.replace("( ", "(").replace(", )", ")").replace(" )", ")")


def _cut(short: str) -> str:
    return short if len(short) <= MAX_SIGNATURE else short[: MAX_SIGNATURE - 1] + "…"


def _one_line(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())
