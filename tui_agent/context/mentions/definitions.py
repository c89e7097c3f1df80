"""Search for definitions by regular expression, used if there is no index of the code.

Invariant: after `SEARCH_S` seconds the search ends, and reports that its results are incomplete.
"""

import re
from collections.abc import Sequence
from typing import Final

import anyio

from tui_agent.config.path_kind import is_test
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment
from tui_agent.ports.knowledge import SymbolLocation

SEARCH_S: Final = 1.0
MAX_PLACES: Final = 3
MAX_LINES: Final = 60
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


async def search_definitions(name: str, env: Environment) -> tuple[list[SymbolLocation], bool]:
    """Return the definitions of `name`, and True if all source files were searched. Definitions in tests come last."""
    pattern = re.compile(_DEFINES.replace("{name}", re.escape(name)), re.MULTILINE)
    places: list[SymbolLocation] = []
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
                text = content.data.decode("utf-8", "replace")
                if name in text:
                    places += [
                        SymbolLocation(name, info.path, text.count("\n", 0, _definition_start(match)) + 1)
                        for match in pattern.finditer(text)
                    ]
                if sum(not is_test(place.path) for place in places) >= MAX_PLACES:
                    break
        except EnvironmentFault:
            pass  # a file was deleted during the search; keep the results so far
    return sorted(places, key=lambda place: is_test(place.path)), not timer.cancelled_caught


def _definition_start(match: re.Match[str]) -> int:
    """Return the start of the matched definition."""
    return match.start() + len(match[0]) - len(match[0].lstrip())


def end_of(lines: Sequence[str], first: int) -> int:
    """Return the last line number of the definition at line `first`, judged by indentation."""
    if not 0 < first <= len(lines):
        return first
    indent = _indent(lines[first - 1])
    last = first
    for number, line in enumerate(lines[first : first + MAX_LINES], start=first + 1):
        if line.strip() and _indent(line) <= indent:
            return number if line.strip()[0] in ")}]" else last
        if line.strip():
            last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
