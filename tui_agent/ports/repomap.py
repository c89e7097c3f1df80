"""The map of the repository, as tools and middlewares ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MapShown:
    """A map as a model is shown it. `files` in rank order, as the text names them; `total` and `skipped` are of
    the whole repository; `partial` while not every file is in the index. `tokens` is an estimate."""

    text: str
    tokens: int
    files: tuple[str, ...]
    total: int
    skipped: int
    partial: bool
    duration_ms: float


@dataclass(frozen=True, slots=True)
class MapWish:
    """What a map is asked for. `pinned` files come first, `hidden` ones not at all, `recent` were touched lately."""

    query: str | None = None
    max_tokens: int = 1200
    refresh: bool = False
    pinned: Sequence[str] = ()
    hidden: Sequence[str] = ()
    recent: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MapLanguage:
    """A language that a plugin teaches the map: plain data, for another process builds the index.

    `suffixes` without a dot. `patterns`: kinds with regular expressions that have a group `name`, tried over the whole
    file with `^` at each line. `grammar`: `"module:function"` of an installed package that gives a tree-sitter grammar,
    with a `query` that captures `@name` and the whole definition by its kind, such as `@function`.
    """

    name: str
    suffixes: tuple[str, ...]
    patterns: tuple[tuple[str, str], ...] = ()
    grammar: str = ""
    query: str = ""


class RepoMaps(Protocol):
    """Gives maps of the workspace. Same repository, same wish: same text."""

    async def shown(self, wish: MapWish) -> MapShown:
        """A map, off the loop. Raises `EnvironmentFault` where the folder cannot be read."""
        ...

    async def soon(self, wish: MapWish, seconds: float) -> MapShown | None:
        """The map where it is there within so many seconds; else None, and `late` gives it once it is there. None at once
        while such a one is still being made. Raises as `shown` does."""
        ...

    def late(self) -> MapShown | None:
        """A map that was not waited for, once it is there; once."""
        ...

    async def aclose(self) -> None:
        """End whatever still builds the index."""
        ...
