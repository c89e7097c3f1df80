"""What a session can look up beside its files: symbols of the workspace, skills, notes."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """Where a name is defined: lines from 1, the last one 0 where it is not known."""

    name: str
    path: str
    line: int
    last_line: int = 0


FindSymbol: TypeAlias = Callable[[str], Awaitable[Sequence[SymbolPlace] | None]]
"""name -> where it is defined, the likeliest first; empty where it is nowhere, None where that could not be told in time.
Never raises."""


@dataclass(frozen=True, slots=True)
class SkillText:
    """A text of a skill, and the names of its other files."""

    name: str
    file: str
    text: str
    files: tuple[str, ...] = ()


class Skills(Protocol):
    """The skills of a session."""

    def read(self, name: str, file: str = "") -> SkillText:
        """The skill's body (without `file`), or a file below its folder. Blocking. Raises `ToolError`."""
        ...


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What wiring hands in; None: there is none."""

    symbols: FindSymbol | None = None
    skills: Skills | None = None
