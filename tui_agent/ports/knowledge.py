"""Lookup services of a session besides its files: symbols of the workspace, and skills."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class SymbolLocation:
    """The location of a name's definition. Lines count from 1; `last_line` is 0 if unknown."""

    name: str
    path: str
    line: int
    last_line: int = 0


FindSymbol: TypeAlias = Callable[[str], Awaitable[Sequence[SymbolLocation] | None]]
"""Maps a name to its definitions, likeliest first: empty if there are none, None if the search took too long. Never
raises.
"""


@dataclass(frozen=True, slots=True)
class SkillText:
    """A text file of a skill, with the names of the skill's other files."""

    name: str
    file: str
    text: str
    files: tuple[str, ...] = ()


class Skills(Protocol):
    """The skills of a session."""

    def read(self, name: str, file: str = "") -> SkillText:
        """Return the skill's main text, or the text of `file` in its folder. Blocking. Raises `ToolError`."""
        ...


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The lookup services of a session. A service that is None is not available."""

    symbols: FindSymbol | None = None
    skills: Skills | None = None
