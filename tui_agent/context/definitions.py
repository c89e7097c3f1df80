"""Where a name is defined, by a look at the lines of the sources: what stands in where there is no map of them.

Invariant: it ends after `SEARCH_S` seconds with what it has found, and tells whether it had seen all.
"""

import re
from collections.abc import Sequence
from typing import Final

import anyio

from tui_agent.config.path_kind import is_test
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment
from tui_agent.ports.knowledge import SymbolPlace

SEARCH_S: Final = 1.0
MOST_PLACES: Final = 3
MOST_LINES: Final = 60
MOST_BYTES: Final = 500_000
_SOURCES = frozenset(
    [
        "py",
        "pyi",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "ts",
        "tsx",
        "go",
        "rs",
        "java",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
        "cxx",
        "hh",
        "rb",
        "sh",
        "bash",
        "cs",
        "php",
        "kt",
        "swift",
        "scala",
        "lua",
        "ex",
        "exs",
    ]
)
_DEFINES = (
    r"^\s*(?:(?:export|default|public|private|protected|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|override"
    r"|inline|virtual|const)\s+)*(?:def|class|function\*?|func|fn|struct|enum|trait|interface|type|module|namespace"
    r"|record|object|const|let|var|macro_rules!)\s+(?:\([^)\n]*\)\s*)?(?:\w+\.)?{name}\b"
)


async def search_definitions(name: str, env: Environment) -> tuple[list[SymbolPlace], bool]:
    """Where a name is defined, by a look at the lines of the workspace's sources, tests last; and whether there was time
    for all of them."""
    pattern = re.compile(_DEFINES.replace("{name}", re.escape(name)), re.MULTILINE)
    found: list[SymbolPlace] = []
    with anyio.move_on_after(SEARCH_S) as time:
        try:
            async for info in env.walk():
                if (
                    info.kind != "file"
                    or info.size > MOST_BYTES
                    or info.path.rpartition(".")[2] not in _SOURCES
                ):
                    continue
                content = await env.read(info.path)
                text = content.data.decode("utf-8", "replace")
                if name in text:
                    found += [
                        SymbolPlace(name, info.path, text.count("\n", 0, _start(hit)) + 1)
                        for hit in pattern.finditer(text)
                    ]
                if sum(not is_test(one.path) for one in found) >= MOST_PLACES:
                    break
        except EnvironmentFault:
            pass  # a file went away under the search: what was found counts
    return sorted(found, key=lambda one: is_test(one.path)), not time.cancelled_caught


def _start(hit: re.Match[str]) -> int:
    """Where the definition itself begins: empty lines before it belong to the pattern's blanks."""
    return hit.start() + len(hit[0]) - len(hit[0].lstrip())


def end_of(lines: Sequence[str], first: int) -> int:
    """The last line of a definition, by its indentation."""
    if not 0 < first <= len(lines):
        return first
    indent = _indent(lines[first - 1])
    last = first
    for number, line in enumerate(lines[first : first + MOST_LINES], start=first + 1):
        if line.strip() and _indent(line) <= indent:
            return number if line.strip()[0] in ")}]" else last
        if line.strip():
            last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
