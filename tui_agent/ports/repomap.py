"""The repository map protocol, for tools and middlewares."""

from collections.abc import Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RenderedMap:
    """A repository map, rendered for the model.

    `files` are in the order of the text, best first. `tokens` is an estimate. `total` and `skipped` count files of the
    whole repository. `partial` is True while the index is incomplete.
    """

    text: str
    tokens: int
    files: tuple[str, ...]
    total: int
    skipped: int
    partial: bool
    duration_ms: float


@dataclass(frozen=True, slots=True)
class MapRequest:
    """A request for a repository map.

    `pinned` files come first; `hidden` files are left out; `recent` files were used recently. If `brief` is True, the
    map names few files and only counts the others, by folder.
    """

    query: str | None = None
    max_tokens: int = 1200
    refresh: bool = False
    pinned: Sequence[str] = ()
    hidden: Sequence[str] = ()
    recent: Sequence[str] = ()
    brief: bool = False


@dataclass(frozen=True, slots=True)
class MapLanguage:
    """A programming language that a plugin adds to the repository map.

    The fields are plain data, because another process builds the index. `suffixes` have no dot. `patterns` are pairs of
    a symbol kind and a regular expression with a group `name`. The expression is searched in the whole file; `^`
    matches at each line. `grammar` is `"module:function"` of an installed package; the function returns a tree-sitter
    grammar. `query` captures the name as `@name`, and the whole definition by its kind, such as `@function`.
    """

    name: str
    suffixes: tuple[str, ...]
    patterns: tuple[tuple[str, str], ...] = ()
    grammar: str = ""
    query: str = ""


class RepoMaps(Protocol):
    """Renders maps of the workspace. The same repository and request give the same text."""

    async def render(self, request: MapRequest) -> RenderedMap:
        """Render a map in a thread. Raises `EnvironmentFault` if the folder cannot be read."""
        ...

    async def render_within(self, request: MapRequest, seconds: float) -> RenderedMap | None:
        """Return the map if it is ready within `seconds`, and None otherwise.

        After a result of None, `take_late_map` returns the map once it is ready. Returns None at once while an earlier
        map is still being rendered. Raises the same errors as `render`.
        """
        ...

    def take_late_map(self) -> RenderedMap | None:
        """Return the map that `render_within` did not wait for. Return None while the map is not ready.

        Each map is returned only once.
        """
        ...

    async def aclose(self) -> None:
        """Stop building the index of the repository."""
        ...
