"""Gives the model a map of the repository with the first message of a session, and again after a compaction.

Invariant: the map is recorded with the message that it was made for, and stays where it stands: what a provider has
cached is not disturbed by it. No request waits longer than `PATIENCE_S` for it: one that goes out without says why in its
manifest, and the first one after the map is there has it.
"""

from collections.abc import Callable, Sequence

from tui_agent.errors import EnvironmentFault
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.plugin_api import (
    BaseMiddleware,
    Fragment,
    MapShown,
    MapWish,
    ModelNext,
    ModelReply,
    ModelRequest,
    RepomapUsed,
    ToolCallPart,
    ToolNext,
    ToolResult,
    TurnContext,
)
from tui_agent.ports.repomap import RepoMaps
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import RepomapBuilt
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.settings import SessionSettings

LEAST_FILES = 8
"""A workspace with fewer files needs no map: their names are quickly listed."""
MOST_QUERY = 2000
"""Characters of a message that its map is made for."""
PATIENCE_S = 3.0
"""What a request waits for its map: as long as the first map of 11,000 files takes, and somewhat more."""
LATE = f"the map was not there after {PATIENCE_S:g} s: a later request has it"


class RepoMapSection(BaseMiddleware):
    """Emits the map at the start of a turn that has none in its context, or as soon as it is there."""

    name = "repo_map"

    def __init__(self, maps: RepoMaps, patience: float = PATIENCE_S) -> None:
        self._maps = maps
        self._patience = patience
        self._late: tuple[str, Callable[[Payload], None]] | None = None
        """What the map that is being made was asked for with, and where it is told."""

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Make the map for what was asked, where the settings and the context mode want one."""
        state = turn.state
        settings = state.settings
        if settings is None or not _wanted(settings) or state.mapped:
            self._late = None
            return
        if self._tell_late():
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
            found = await self._maps.soon(wish, self._patience)
        except EnvironmentFault as error:
            turn.emit(ErrorRaised(where="repo_map", message=error.message, hint=error.hint))
            return
        if found is None:
            waited = self._patience * 1_000
            turn.emit(RepomapBuilt(files=0, skipped=0, partial=True, duration_ms=waited, late=LATE))
            self._late = self._late or (query, turn.emit)
        else:
            _tell(found, query, turn.emit)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Nothing but why there is no map, where there is none yet."""
        if not state.map_late or state.mapped:
            return ()
        return (Fragment(id=self.name, text="", section="repo_map", missing=state.map_late),)

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """As it is; behind an answer that goes on, the map may come in."""
        reply = await nxt(request)
        if request.purpose == "answer" and any(isinstance(part, ToolCallPart) for part in reply.parts):
            self._tell_late()
        return reply

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """As it is; behind it the map may come in."""
        result = await nxt(call)
        self._tell_late()
        return result

    def _tell_late(self) -> bool:
        """Record the map that was waited for, if it is there now."""
        found = self._maps.late() if self._late is not None else None
        if found is None or self._late is None:
            return False
        (query, emit), self._late = self._late, None
        _tell(found, query, emit)
        return True


def _tell(found: MapShown, query: str, emit: Callable[[Payload], None]) -> None:
    if found.total < LEAST_FILES:
        return
    emit(
        RepomapBuilt(
            files=found.total, skipped=found.skipped, partial=found.partial, duration_ms=found.duration_ms
        )
    )
    emit(RepomapUsed(query=query, tokens=found.tokens, files=found.files, injected=True, text=found.text))


def _wanted(settings: SessionSettings) -> bool:
    return settings.repo_map == "auto" and settings.context_mode != "none"
