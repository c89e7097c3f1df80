"""Names that are defined in the workspace, for `@` completion: when they are looked for, and what was found.

Invariant: only names that hold what was typed. Nothing here is asked for while somebody types, and what looks for names
is loaded no earlier.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from textual.timer import Timer

PAUSE_S: Final = 0.15
"""Without a key for so long, symbols are looked for."""
FRESH_S: Final = 10.0
_NAME: Final = re.compile(r"[A-Za-z_]\w{2,63}")


class Symbol(NamedTuple):
    """A name and where it is defined."""

    name: str
    path: str
    line: int


FindSymbols: TypeAlias = Callable[[Path, str], Awaitable[Sequence[Symbol]]]
"""(folder, what was typed) -> names that hold it, the likeliest first."""


class Symbols:
    """The newest symbols that were found, and for what."""

    def __init__(self) -> None:
        self.timer: Timer | None = None
        self._query = ""
        self._found: Sequence[Symbol] = ()
        self._looked_at = float("-inf")

    def of(self, query: str) -> Sequence[Symbol]:
        """Those that hold what is typed: of what was found for it, or for its beginning."""
        if not self._query or not query.lower().startswith(self._query.lower()):
            return ()
        return [one for one in self._found if query.lower() in one.name.lower()]

    def wanting(self, query: str) -> bool:
        """Whether they are to be looked for, once the typing pauses."""
        if self.timer is not None:
            self.timer.stop()
        known = query == self._query and time.monotonic() - self._looked_at < FRESH_S
        return worth_looking(query) and not known

    def take(self, query: str, found: Sequence[Symbol]) -> None:
        """These were found."""
        self._query, self._found, self._looked_at = query, found, time.monotonic()


def worth_looking(query: str) -> bool:
    """Whether what was typed can be a symbol's name."""
    return _NAME.fullmatch(query) is not None
