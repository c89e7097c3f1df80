"""L4: gives the model a map of the repository with the first message of a session, and again after a compaction.

Invariant: the map is recorded with the message that it was made for, and stays where it stands: what a provider has
cached is not disturbed by it.
"""

from tui_agent.errors import EnvironmentFault
from tui_agent.plugin_api import BaseMiddleware, MapWish, RepomapUsed, TurnContext
from tui_agent.ports.repomap import RepoMaps
from tui_agent.protocol.events.context import RepomapBuilt
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.settings import SessionSettings

LEAST_FILES = 8
"""A workspace with fewer files needs no map: their names are quickly listed."""
MOST_QUERY = 2000
"""Characters of a message that its map is made for."""


class RepoMapSection(BaseMiddleware):
    """Emits the map at the start of a turn that has none in its context."""

    name = "repo_map"

    def __init__(self, maps: RepoMaps) -> None:
        self._maps = maps

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Make the map for what was asked, where the settings and the context mode want one."""
        state = turn.state
        settings = state.settings
        if settings is None or not _wanted(settings) or state.mapped:
            return
        choice = settings.map
        query = state.root_task[:MOST_QUERY]
        wish = MapWish(
            query=query,
            max_tokens=choice.max_tokens,
            pinned=choice.pinned,
            hidden=choice.hidden,
            recent=state.explored[-20:],
        )
        try:
            found = await self._maps.shown(wish)
        except EnvironmentFault as error:
            turn.emit(ErrorRaised(where="repo_map", message=error.message, hint=error.hint))
            return
        if found.total < LEAST_FILES:
            return
        turn.emit(
            RepomapBuilt(
                files=found.total,
                skipped=found.skipped,
                partial=found.partial,
                duration_ms=found.duration_ms,
            )
        )
        turn.emit(
            RepomapUsed(query=query, tokens=found.tokens, files=found.files, injected=True, text=found.text)
        )


def _wanted(settings: SessionSettings) -> bool:
    return settings.repo_map == "auto" and settings.context_mode != "none"
