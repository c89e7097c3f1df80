"""The repository map in the conversation, sent with the first message and again after a compaction.

Invariant: a recorded map keeps its place, so that the provider's cache stays valid.
"""

from collections.abc import Callable, Sequence

import tui_agent.plugin_api as api
from tui_agent.errors import EnvironmentFault
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.repomap import RepoMaps
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.settings import SessionSettings
from tui_agent.units import format_time_limit

MIN_FILES = 8
"""A repository map is sent only for workspaces with at least this many files."""
MAX_QUERY_CHARS = 2000
"""Maximum characters of a query for a repository map (the start of the user's message)."""
MAP_WINDOW_FRACTION = 0.04
"""Maximum size of a repository map as a fraction of the model's window."""
MIN_TOKENS = 100
MAX_WAIT_S = 3.0
"""Maximum time that a request waits for its repository map, in seconds."""
LATE_REASON = f"the map was not ready after {format_time_limit(MAX_WAIT_S)}; a later request includes it"


class RepoMapSection(api.BaseMiddleware):
    """Middleware that records a repository map for a turn if the conversation has none."""

    name = "repo_map"

    def __init__(self, maps: RepoMaps, patience: float = MAX_WAIT_S) -> None:
        self._maps = maps
        self._patience = patience
        self._late: tuple[str, Callable[[Payload], None]] | None = None
        """The query of a late repository map, and a function that will record the map. None if no map is late."""

    async def on_turn_start(self, turn: api.TurnContext) -> None:
        """Request a repository map for the task, unless the settings or the context mode exclude it."""
        state = turn.state
        settings = state.settings
        if settings is None or not _is_enabled(settings) or state.has_repo_map:
            self._late = None
            return
        if self._record_late_map():
            return
        choice = settings.map_options
        query = state.root_task[:MAX_QUERY_CHARS]
        if state.turn > 1 and state.title not in query:
            query = f"{query}\n{state.title}"  # "What is left?" alone says nothing about the task.
        request = api.MapRequest(
            query=query,
            max_tokens=_limit_tokens(choice.max_tokens, settings.model.window),
            pinned=choice.pinned,
            hidden=choice.hidden,
            recent=state.explored_paths[-20:],
            brief=True,
        )
        try:
            rendered = await self._maps.render_within(request, self._patience)
        except EnvironmentFault as error:
            turn.emit(ErrorRaised(where="repo_map", message=error.message, hint=error.hint))
            return
        if rendered is None:
            waited = self._patience * 1_000
            turn.emit(
                api.RepomapBuilt(
                    files=0, skipped=0, partial=True, duration_ms=waited, delay_reason=LATE_REASON
                )
            )
            # A query that is already late is kept: the map that arrives was made for it.
            self._late = self._late or (query, turn.emit)
        else:
            _record_map(rendered, query, turn.emit)

    def contribute(self, state: SessionStateView) -> Sequence[api.Fragment]:
        """Return a fragment with the reason for a missing repository map. Return nothing if no map is missing."""
        if not state.map_delay_reason or state.has_repo_map:
            return ()
        return (
            api.Fragment(id=self.name, text="", section="repo_map", missing_reason=state.map_delay_reason),
        )

    async def wrap_model(self, request: api.ModelRequest, call_next: api.ModelNext) -> api.ModelReply:
        """Call the model, then record a repository map that was late."""
        reply = await call_next(request)
        if request.purpose == "answer" and any(isinstance(part, api.ToolCallPart) for part in reply.parts):
            self._record_late_map()
        return reply

    async def wrap_tool(self, call: api.ToolCallPart, call_next: api.ToolNext) -> api.ToolResult:
        """Run the call, then record the repository map if it was late and is ready now."""
        result = await call_next(call)
        self._record_late_map()
        return result

    def _record_late_map(self) -> bool:
        """Record a late repository map if it is ready now. Return True if it was recorded."""
        rendered = self._maps.take_late_map() if self._late is not None else None
        if rendered is None or self._late is None:
            return False
        (query, emit), self._late = self._late, None
        _record_map(rendered, query, emit)
        return True


def _record_map(rendered: api.RenderedMap, query: str, emit: Callable[[Payload], None]) -> None:
    if rendered.total < MIN_FILES:
        return
    emit(
        api.RepomapBuilt(
            files=rendered.total,
            skipped=rendered.skipped,
            partial=rendered.partial,
            duration_ms=rendered.duration_ms,
        )
    )
    emit(
        api.RepomapUsed(
            query=query, tokens=rendered.tokens, files=rendered.files, injected=True, text=rendered.text
        )
    )


def _limit_tokens(max_tokens: int, window: int) -> int:
    """Return the maximum number of tokens in a repository map: `max_tokens`, or fewer for a small `window` (0: unknown)."""
    return min(max_tokens, max(MIN_TOKENS, round(window * MAP_WINDOW_FRACTION))) if window else max_tokens


def _is_enabled(settings: SessionSettings) -> bool:
    return settings.repo_map == "auto" and settings.context_mode != "none"
