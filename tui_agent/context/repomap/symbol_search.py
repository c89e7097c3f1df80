"""Which files of an index define a name that is half typed, for completion.

Invariant: reads the index as it is: nothing is listed, parsed or built. No more than `MOST_FILES` files are looked into
for each way in which the name is sought.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tui_agent.config.path_kind import is_test
from tui_agent.context.repomap.index_db import Kept
from tui_agent.context.repomap.views import Symbol
from tui_agent.folds.text.word_forms import STOP, split, stem

MOST_FILES: Final = 400
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORT: Final = 3
"""Letters of a piece up to which it stands in the index as it is typed."""
_NO_NAME: Final = frozenset({"heading", "id", "key", "rule"})


class Defined(NamedTuple):
    """A name and where it is defined. Lines count from 1."""

    name: str
    path: str
    line: int


def defined(kept: Kept, query: str, most: int) -> list[Defined]:
    """Names that hold what is typed: those that begin with it first, of sources before those of tests, then the shorter;
    each at its first place in the sources, or else in the tests."""
    wanted = query.casefold()
    found: dict[str, Defined] = {}
    for path, symbols in _looked_into(kept, query):
        for one in symbols:
            if wanted in one.name.casefold() and one.kind not in _NO_NAME and one.name.isidentifier():
                known = found.get(one.name)
                if known is None or (is_test(known.path) and not is_test(path)):
                    found[one.name] = Defined(one.name, path, one.line)
    order = sorted(
        found.values(),
        key=lambda one: (
            not one.name.casefold().startswith(wanted),
            is_test(one.path),
            len(one.name),
            one,
        ),
    )
    return order[:most]


def _looked_into(kept: Kept, query: str) -> Iterator[tuple[str, tuple[Symbol, ...]]]:
    """Files with their symbols: those of the whole name with its numbers, and those of how it may go on."""
    seen: set[str] = set()
    whole = " AND ".join(f'"{piece}"' for piece in split(query))
    for expression in dict.fromkeys((whole, _expression(query)) if whole else (_expression(query),)):
        for path, symbols in kept.naming(expression, MOST_FILES):
            if path not in seen:
                seen.add(path)
                yield path, symbols


def _expression(query: str) -> str:
    """What the index is asked for: the pieces of the name, the last one as far as it is typed; empty where none tells."""
    *whole, last = _PIECE.findall(query) or [""]
    terms = [f'"{piece}"' for word in whole for piece in split(word)]
    if len(last) > 1 and last.lower() not in STOP:
        form = stem(last.lower())
        terms.append(f'"{form if len(form) <= _SHORT else form[:-1]}" *')
    return " AND ".join(terms)
