"""Composition of the repository map, which is rendered in threads.

Invariant: nothing is read before the first map is requested, and possible secret files are never read.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import anyio
from anyio import CapacityLimiter, to_thread

from tui_agent.config.path_kind import is_test
from tui_agent.config.paths import local_repo_maps
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.settings import Config
from tui_agent.context.repomap.repository_map import RepoMap, Visibility
from tui_agent.context.repomap.symbol_names import belongs_to, qualified_name, split_qualified_name
from tui_agent.errors import EnvironmentFault
from tui_agent.policy.places.path_places import may_hold_secrets, rules_digest
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.ports.repomap import MapLanguage, MapRequest, RenderedMap
from tui_agent.ports.symbols_and_skills import SymbolLocation

MAX_SYMBOL_WAIT_S = 1.5
"""Maximum seconds that a user's message waits for the lookup of its symbols."""


def index_folder(options: SessionOptions, config: Config) -> Path:
    """Return the folder of the repository index: in the data folder of the options, or in the user's cache."""
    # A demo has its own data folder, so that it leaves no index behind.
    return config.paths.repo_maps if options.data_dir is None else local_repo_maps(options.data_dir)


class SessionMaps:
    """Renders the repository maps of one workspace in threads, one at a time; implements `ports.repomap.RepoMaps`."""

    def __init__(
        self,
        workspace: Path,
        cache_folder: Path,
        languages: Sequence[MapLanguage] = (),
        redaction: RedactionOptions | None = None,
    ) -> None:
        self._map = RepoMap(
            workspace,
            cache_folder,
            showing=Visibility(
                lambda path: not may_hold_secrets(path), rules_digest(), redaction or RedactionOptions()
            ),
            languages=languages,
        )
        # One thread at a time, because all of them use the same index.
        self._limiter = CapacityLimiter(1)
        self._late: RenderedMap | None = None
        self._is_rendering = False

    async def render(self, request: MapRequest) -> RenderedMap:
        """Render a map; if the call is cancelled, its thread still runs to the end."""
        return await to_thread.run_sync(self._render, request, abandon_on_cancel=True, limiter=self._limiter)

    async def render_within(self, request: MapRequest, seconds: float) -> RenderedMap | None:
        if self._is_rendering:  # this map would have to wait for the previous one, which was already too slow
            return None
        self._late = None
        with anyio.move_on_after(seconds):
            rendered = await to_thread.run_sync(
                self._render_late, request, abandon_on_cancel=True, limiter=self._limiter
            )
            self._late = None
            return rendered
        return None

    def take_late_map(self) -> RenderedMap | None:
        rendered, self._late = self._late, None
        return rendered

    def _render_late(self, request: MapRequest) -> RenderedMap:
        """Render a map and keep it for `take_late_map`, in case `render_within` no longer waits for it."""
        self._is_rendering = True
        try:
            rendered = self._late = self._render(request)
            return rendered
        finally:
            self._is_rendering = False

    async def find_definitions(self, name: str) -> list[SymbolLocation] | None:
        """Return the definitions of a name, the likeliest file first and tests last.

        For `Class.method`, return only methods of that class. Return None if the index does not have the name yet, or
        if the search takes longer than `MAX_SYMBOL_WAIT_S` seconds.
        """
        with anyio.move_on_after(MAX_SYMBOL_WAIT_S):
            return await to_thread.run_sync(
                self._find_definitions, name, abandon_on_cancel=True, limiter=self._limiter
            )
        return None

    def _find_definitions(self, name: str) -> list[SymbolLocation] | None:
        owner, own_name = split_qualified_name(name)
        try:
            view = self._map.map(own_name)
        except EnvironmentFault:
            return None
        symbols = self._map.find_named_symbols(own_name)
        indexed_paths = {path for path, _ in symbols}
        # The index may lack files. The map shows only one symbol of each name in a file, such as an overload.
        for file in view.files:
            names = {split_qualified_name(symbol.name)[1] for symbol in file.symbols}
            if own_name in names and file.path not in indexed_paths:
                symbols += [(file.path, symbol) for symbol in self._map.read_symbols(file.path)]
        symbols.sort(key=lambda place: (is_test(place[0]), place[1].kind == "prototype"))
        locations = [
            SymbolLocation(qualified_name(symbol), path, symbol.line, symbol.end)
            for path, symbol in symbols
            if split_qualified_name(symbol.name)[1] == own_name
            and (not owner or belongs_to(symbol, path, owner))
        ]
        return None if not locations and view.partial else list(dict.fromkeys(locations))

    async def aclose(self) -> None:
        """Stop building the repository index."""
        await to_thread.run_sync(self._map.close)

    def _render(self, request: MapRequest) -> RenderedMap:
        started = time.perf_counter()
        view = self._map.map(
            request.query,
            request.max_tokens,
            refresh=request.refresh,
            pinned=request.pinned,
            hidden=request.hidden,
            recent=request.recent,
            brief=request.brief,
        )
        return RenderedMap(
            text=view.text,
            tokens=view.tokens,
            files=tuple(file.path for file in view.files),
            total=view.total,
            skipped=sum(view.skipped.values()),
            partial=view.partial,
            duration_ms=round((time.perf_counter() - started) * 1000, 1),
        )
