"""Lookup services of a session: symbols of the workspace, and skills."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SymbolLocation:
    """The location of a symbol's definition in the workspace. Lines count from 1. `last_line` is 0 if unknown.

    `name`: the symbol's name with its class, if it has one.
    """

    name: str
    path: str
    line: int
    last_line: int = 0


FindSymbol: TypeAlias = Callable[[str], Awaitable[Sequence[SymbolLocation] | None]]
"""Function that finds the definitions of a symbol by its name, likeliest first.

Returns None if the search took too long. Never raises.
"""


@dataclass(frozen=True, slots=True)
class SkillText:
    """The text of one file of a skill, with the names of the skill's other files."""

    name: str
    file: str
    text: str
    files: tuple[str, ...] = ()


class Skills(Protocol):
    """The skills of a session."""

    def read(self, name: str, file: str = "") -> SkillText:
        """Return the text of `file` in the folder of the skill `name`; without `file`, the main text.

        Reads the file in the calling thread. Raise `ToolError` if there is no such skill or file.
        """
        ...


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The lookup services of a session. A service that is None is not available."""

    symbols: FindSymbol | None = None
    skills: Skills | None = None
