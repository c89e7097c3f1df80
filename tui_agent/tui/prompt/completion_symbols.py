"""Symbols (names of functions, classes and so on) for `@` completion: the result of the last search, and a check if a
new search is needed.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from textual.timer import Timer

PAUSE_S: Final = 0.15
"""Pause in typing before symbols are searched, in seconds."""
SYMBOLS_FRESH_S: Final = 10.0
"""Time after which the same query is searched again, in seconds."""
_NAME: Final = re.compile(r"[A-Za-z_]\w{2,63}")


class Symbol(NamedTuple):
    """A name defined in the workspace, and the place of its definition."""

    name: str
    path: str
    line: int


FindSymbols: TypeAlias = Callable[[Path, str], Awaitable[Sequence[Symbol]]]
"""Function that takes a folder and a query. It returns the folder's symbols whose name contains the query."""


class Symbols:
    """The query and the result of the last search for symbols."""

    def __init__(self) -> None:
        self.timer: Timer | None = None
        self._query = ""
        self._symbols: Sequence[Symbol] = ()
        self._searched_at = float("-inf")

    def find(self, query: str) -> Sequence[Symbol]:
        """Return the symbols from the last search whose names contain `query`, ignoring case.

        Return an empty tuple if `query` does not begin with the last search's query.
        """
        if not self._query or not query.lower().startswith(self._query.lower()):
            return ()
        return [symbol for symbol in self._symbols if query.lower() in symbol.name.lower()]

    def needs_search(self, query: str) -> bool:
        """Cancel any scheduled search, and return True if `query` needs a new search."""
        if self.timer is not None:
            self.timer.stop()
        is_known = query == self._query and time.monotonic() - self._searched_at < SYMBOLS_FRESH_S
        return can_be_symbol(query) and not is_known

    def store_result(self, query: str, symbols: Sequence[Symbol]) -> None:
        self._query, self._symbols, self._searched_at = query, symbols, time.monotonic()


def can_be_symbol(query: str) -> bool:
    """Return True if the query can be part of a symbol's name."""
    return _NAME.fullmatch(query) is not None
