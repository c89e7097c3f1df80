"""The repository map protocol, for tools and middlewares."""

from collections.abc import Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RenderedMap:
    """A repository map, rendered for the model.

    - `tokens`: estimated length of `text`.
    - `files`: files in the order of the text, best first.
    - `total`: number of indexed files of the whole repository.
    - `skipped`: number of files that the index leaves out.
    - `partial`: True while the index is incomplete.
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

    - `pinned`: files that come first.
    - `hidden`: files that are left out.
    - `recent`: files that were used recently.
    - `brief`: True for a short map: the names of a few files, and the number of files in each folder.
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

    - `suffixes`: file name endings without the dot.
    - `patterns`: pairs of a symbol kind and a regular expression with a group `name`. The whole file is
      searched; `^` matches at each line.
    - `grammar`: `"module:function"` of an installed package. The function returns a tree-sitter grammar.
    - `query`: tree-sitter query. It captures the name as `@name`, and the definition as its kind, e.g.
      `@function`.
    """

    name: str
    suffixes: tuple[str, ...]
    patterns: tuple[tuple[str, str], ...] = ()
    grammar: str = ""
    query: str = ""


class RepoMaps(Protocol):
    """Renders maps of the workspace. Equal requests for an unchanged repository give the same text."""

    async def render(self, request: MapRequest) -> RenderedMap:
        """Render a map in a thread. Raise `EnvironmentFault` if the folder cannot be read."""
        ...

    async def render_within(self, request: MapRequest, seconds: float) -> RenderedMap | None:
        """Return the map if it is ready within `seconds`, otherwise None.

        If the result is None, the map is finished in the background, and `take_late_map` returns it later. While an
        earlier map is still being rendered, return None at once. Raise the same errors as `render`.
        """
        ...

    def take_late_map(self) -> RenderedMap | None:
        """Return the map that `render_within` could not return in time. Return None while it is not ready.

        Each map is returned only once.
        """
        ...

    async def aclose(self) -> None:
        """Stop building the index of the repository."""
        ...
