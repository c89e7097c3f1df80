"""Search for definitions in the files themselves, used if the index of the code lacks a name.

Invariant: after `SEARCH_S` seconds the search ends, and reports that its results are incomplete.
"""

import re
from collections.abc import Sequence
from typing import Final

import anyio
from anyio import to_thread

from tui_agent.config.path_kind import is_test
from tui_agent.context.repomap.symbol_names import belongs_to, qualified_name, split_qualified_name
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment
from tui_agent.ports.symbols_and_skills import SymbolLocation

SEARCH_S: Final = 1.0
MAX_PLACES: Final = 3
MAX_BYTES: Final = 500_000
_SOURCES = frozenset(
    """py pyi js jsx mjs cjs ts tsx go rs java c h cc cpp hpp cxx hh rb sh bash cs php kt swift scala lua ex
    exs""".split()  # noqa: SIM905 - read as prose
)
_DEFINES = (
    r"^\s*(?:(?:export|default|public|private|protected|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|override"
    r"|inline|virtual|const)\s+)*(?:def|class|function\*?|func|fn|struct|enum|trait|interface|type|module|namespace"
    r"|record|object|const|let|var|macro_rules!)\s+(?:\([^)\n]*\)\s*)?(?:\w+\.)?{name}\b"
)

_FUNCTION = r"^[ \t]*[A-Za-z_#][^;=\n]*[\s*&]{name}[ \t]*\("
"""Matches a function or macro that is possibly defined without a keyword of `_DEFINES`, as in C."""


async def search_definitions(name: str, env: Environment) -> tuple[list[SymbolLocation], bool]:
    """Return the definitions of `name`, and True if the search is complete. Definitions in tests come last.

    For `Class.method`, methods of other classes are returned only if `Class` has no such method.
    Return prototypes only if there is no definition.
    """
    owner, own_name = split_qualified_name(name)
    definitions = _Definitions(owner, own_name)
    with anyio.move_on_after(SEARCH_S) as timer:
        try:
            async for info in env.walk():
                if (
                    info.kind != "file"
                    or info.size > MAX_BYTES
                    or info.path.rpartition(".")[2] not in _SOURCES
                ):
                    continue
                content = await env.read(info.path)
                if own_name.encode() in content.data:
                    await to_thread.run_sync(
                        definitions.add_file, info.path, content.data, abandon_on_cancel=True
                    )
                if sum(not is_test(place.path) for place in definitions.matches) >= MAX_PLACES:
                    break
        except EnvironmentFault:
            pass  # a file was deleted during the search; keep the results so far
    is_complete = not timer.cancelled_caught
    places = definitions.matches or (definitions.others if is_complete else [])
    return sorted(places, key=lambda place: is_test(place.path)), is_complete


class _Definitions:
    """Collects the definitions of a name in two lists.

    - `matches`: definitions in the class or module `owner`; all definitions if `owner` is empty.
    - `others`: definitions in other places, and prototypes.
    """

    def __init__(self, owner: str, own_name: str) -> None:
        self.matches: list[SymbolLocation] = []
        self.others: list[SymbolLocation] = []
        self._owner, self._own_name = owner, own_name
        names = "|".join(re.escape(name) for name in (owner, own_name) if name)
        self._pattern = re.compile(_DEFINES.replace("{name}", f"(?P<name>{names})"), re.MULTILINE)
        self._function = re.compile(_FUNCTION.replace("{name}", re.escape(own_name)), re.MULTILINE)

    def add_file(self, path: str, data: bytes) -> None:
        """Add the definitions in a file. If the parser finds none, add the lines that look like a definition."""
        text = data.decode("utf-8", "replace")
        matches = list(self._pattern.finditer(text))
        if not matches and not self._function.search(text):
            return
        symbols = [
            symbol
            for symbol in symbols_of(path, data)[1]
            if split_qualified_name(symbol.name)[1] == self._own_name
        ]
        for symbol in symbols:
            is_match = not self._owner or belongs_to(symbol, path, self._owner)
            location = SymbolLocation(qualified_name(symbol), path, symbol.line, symbol.end)
            is_definition = symbol.kind != "prototype"
            (self.matches if is_match and is_definition else self.others).append(location)
        if not symbols:
            (self.others if self._owner else self.matches).extend(
                SymbolLocation(
                    self._own_name, path, match.string.count("\n", 0, _definition_start(match)) + 1
                )
                for match in matches
                if match["name"] == self._own_name
            )


def _definition_start(match: re.Match[str]) -> int:
    """Return the start of the matched definition."""
    return match.start() + len(match[0]) - len(match[0].lstrip())


def end_of(lines: Sequence[str], first: int) -> int:
    """Return the last line number of the definition at line `first`, judged by indentation."""
    if not 0 < first <= len(lines):
        return first
    indent = _indent(lines[first - 1])
    last = first
    for number, line in enumerate(lines[first:], start=first + 1):
        if line.strip() and _indent(line) <= indent:
            return number if line.strip()[0] in ")}]" else last
        if line.strip():
            last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
