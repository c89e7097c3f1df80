"""L7: names that are defined in the workspace, for `@` completion: when they are looked for, and what git finds.

Invariant: only names that hold what was typed; no more than `MOST`; where there is no git, none. Nothing
here is asked for while somebody types.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from textual.timer import Timer

from tui_agent.config.git import ask_git
from tui_agent.config.places import is_test

MOST: Final = 20
PAUSE_S: Final = 0.15
"""Without a key for so long, symbols are looked for."""
FRESH_S: Final = 10.0
_NAME: Final = re.compile(r"[A-Za-z_]\w{2,63}")
_KEYWORDS: Final = "def|class|function|func|fn|struct|enum|trait|interface|type|module|const|record"
_LINE: Final = re.compile(rf"\b(?:{_KEYWORDS})\s+(?:\([^)]*\)\s*)?(\w+)")


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


def defined(root: Path, query: str) -> list[Symbol]:
    """What git finds in the lines that define something. Blocking: call it in a thread."""
    if not worth_looking(query):
        return []
    pattern = rf"(^|[^[:alnum:]_])({_KEYWORDS})[[:space:]]+(\([^)]*\)[[:space:]]*)?[[:alnum:]_]*{query}"
    said = ask_git(root, "grep", "--untracked", "-nIiE", "--max-depth", "12", "-e", pattern, "--", ".")
    found: dict[str, Symbol] = {}
    for line in (said or b"").decode("utf-8", "replace").splitlines():
        path, _, rest = line.partition(":")
        number, _, text = rest.partition(":")
        hit = _LINE.search(text)
        if hit is not None and number.isdigit() and query.lower() in hit[1].lower():
            known = found.get(hit[1])
            if known is None or (is_test(known.path) and not is_test(path)):
                found[hit[1]] = Symbol(hit[1], path, int(number))
    wanted = query.lower()
    ordered = sorted(
        found.values(),
        key=lambda one: (not one.name.lower().startswith(wanted), is_test(one.path), len(one.name), one),
    )
    return ordered[:MOST]


async def of_git(root: Path, query: str) -> Sequence[Symbol]:
    """What git finds, off the loop."""
    return await asyncio.to_thread(defined, root, query)
