"""Search for definitions by a partly typed name.

Invariant: the search only reads the index.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tui_agent.config.path_kind import is_test
from tui_agent.context.repomap.index_db import IndexFile
from tui_agent.context.repomap.map_results import Symbol
from tui_agent.context.repomap.symbol_names import split_qualified_name
from tui_agent.folds.text.word_forms import STOP_WORDS, split_identifier, stem

MAX_FILES: Final = 400
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORT: Final = 3
"""The index stores words with at most this many letters unchanged."""
_NO_NAME: Final = frozenset({"heading", "id", "key", "rule"})


class Definition(NamedTuple):
    """A name with the file and line (from 1) of its definition."""

    name: str
    path: str
    line: int


def search_symbols(index_file: IndexFile, query: str, limit: int) -> list[Definition]:
    """Return definitions whose names contain the typed text `query`, ignoring case.

    Names that start with `query` come first.
    """
    typed = query.casefold()
    definitions: dict[str, Definition] = {}
    for path, symbols in _candidate_files(index_file, query):
        for symbol in symbols:
            if typed in symbol.name.casefold() and symbol.kind not in _NO_NAME and symbol.name.isidentifier():
                known = definitions.get(symbol.name)
                if known is None or (is_test(known.path) and not is_test(path)):
                    definitions[symbol.name] = Definition(symbol.name, path, symbol.line)
    order = sorted(
        definitions.values(),
        key=lambda symbol: (
            not symbol.name.casefold().startswith(typed),
            is_test(symbol.path),
            len(symbol.name),
            symbol,
        ),
    )
    return order[:limit]


def find_named_symbols(index_file: IndexFile, name: str) -> list[tuple[str, Symbol]]:
    """Return (path, symbol) of each symbol with exactly this name, in the order of `search_symbols`."""
    return [
        (path, symbol)
        for path, symbols in _candidate_files(index_file, name)
        for symbol in symbols
        if symbol.kind not in _NO_NAME and split_qualified_name(symbol.name)[1] == name
    ]


def _candidate_files(index_file: IndexFile, query: str) -> Iterator[tuple[str, tuple[Symbol, ...]]]:
    """Yield (path, symbols) of each file that could define the name. Files that match the complete name come first."""
    paths: set[str] = set()
    complete_name = " AND ".join(f'"{piece}"' for piece in split_identifier(query))
    for expression in dict.fromkeys(
        (complete_name, _index_query(query)) if complete_name else (_index_query(query),)
    ):
        for path, symbols in index_file.files_naming(expression, MAX_FILES):
            if path not in paths:
                paths.add(path)
                yield path, symbols


def _index_query(query: str) -> str:
    """Return the FTS5 query for the typed name's words."""
    *complete_words, last = _PIECE.findall(query) or [""]
    terms = [f'"{piece}"' for word in complete_words for piece in split_identifier(word)]
    if len(last) > 1 and last.lower() not in STOP_WORDS:
        form = stem(last.lower())
        terms.append(f'"{form if len(form) <= _SHORT else form[:-1]}" *')
    return " AND ".join(terms)
