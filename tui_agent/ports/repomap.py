"""L2: the map of the repository, as tools and middlewares ask for it."""

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


class RepoMaps(Protocol):
    """Gives maps of the workspace. Same repository, same wish: same text."""

    async def shown(self, wish: MapWish) -> MapShown:
        """A map, off the loop. Raises `EnvironmentFault` where the folder cannot be read."""
        ...

    async def aclose(self) -> None:
        """End whatever still builds the index."""
        ...
