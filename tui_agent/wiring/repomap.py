"""Composition: the map of a session's workspace, made off the loop.

Invariant: nothing is read before a map is wanted; files with secrets never come near it.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import anyio
from anyio import CapacityLimiter, to_thread

from tui_agent.config.options import SessionOptions
from tui_agent.config.path_kind import is_test
from tui_agent.config.paths import beside_sessions
from tui_agent.config.settings import Config
from tui_agent.context.repomap.repository_map import RepoMap, Showing
from tui_agent.context.repomap.views import MapView
from tui_agent.errors import EnvironmentFault
from tui_agent.policy.places.visibility import may_hold_secrets, rules_digest
from tui_agent.ports.knowledge import SymbolPlace
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.ports.repomap import MapLanguage, MapShown, MapWish

PATIENCE_S = 1.5
"""What a message waits for the symbols that it mentions."""


def index_folder(options: SessionOptions, config: Config) -> Path:
    """Where the index is kept: in the user's cache; beside the sessions where those have a place of their own, so that a
    demo leaves nothing."""
    return config.paths.repo_maps if options.data_dir is None else beside_sessions(options.data_dir)


class SessionMaps:
    """Maps of one workspace. One is made at a time, in a thread of its own."""

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
            showing=Showing(
                lambda path: not may_hold_secrets(path), rules_digest(), redaction or RedactionOptions()
            ),
            languages=languages,
        )
        self._one = CapacityLimiter(1)
        self._late: MapShown | None = None
        self._at_work = False

    async def shown(self, wish: MapWish) -> MapShown:
        """See `ports.repomap.RepoMaps`. A cancelled call leaves its thread to end by itself."""
        return await to_thread.run_sync(self._shown, wish, abandon_on_cancel=True, limiter=self._one)

    async def soon(self, wish: MapWish, seconds: float) -> MapShown | None:
        """See `ports.repomap.RepoMaps`."""
        if self._at_work:
            return None
        self._late = None
        with anyio.move_on_after(seconds):
            found = await to_thread.run_sync(self._kept, wish, abandon_on_cancel=True, limiter=self._one)
            self._late = None
            return found
        return None

    def late(self) -> MapShown | None:
        """See `ports.repomap.RepoMaps`."""
        found, self._late = self._late, None
        return found

    def _kept(self, wish: MapWish) -> MapShown:
        self._at_work = True
        try:
            found = self._late = self._shown(wish)
            return found
        finally:
            self._at_work = False

    async def defined(self, name: str) -> list[SymbolPlace] | None:
        """Where a name is defined, the likeliest file first, tests last; `Class.method` by its last part. None: nothing is
        known of it within `PATIENCE_S`."""
        with anyio.move_on_after(PATIENCE_S):
            return await to_thread.run_sync(self._defined, name, abandon_on_cancel=True, limiter=self._one)
        return None

    def _defined(self, name: str) -> list[SymbolPlace] | None:
        owner, _, own = name.replace("::", ".").rpartition(".")
        try:
            view = self._map.map(own)
        except EnvironmentFault:
            return None
        found = [(one, file.path) for file in view.files for one in file.symbols if one.name == own]
        if owner:
            found = [each for each in found if each[0].parent.endswith(owner.rpartition(".")[2])] or found
        if not found and view.partial:
            return None
        found.sort(key=lambda each: is_test(each[1]))
        return [SymbolPlace(own, path, one.line, one.end) for one, path in found]

    async def aclose(self) -> None:
        """End what still builds the index."""
        await to_thread.run_sync(self._map.close)

    def _shown(self, wish: MapWish) -> MapShown:
        began = time.perf_counter()
        view: MapView = self._map.map(
            wish.query,
            wish.max_tokens,
            refresh=wish.refresh,
            pinned=wish.pinned,
            hidden=wish.hidden,
            recent=wish.recent,
        )
        return MapShown(
            text=view.text,
            tokens=view.tokens,
            files=tuple(one.path for one in view.files),
            total=view.total,
            skipped=sum(view.skipped.values()),
            partial=view.partial,
            duration_ms=round((time.perf_counter() - began) * 1000, 1),
        )
