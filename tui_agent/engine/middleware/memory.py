"""The working memory of a task: notes from tool results, sent to the model in the context mode `memory`.

Invariant: each note is recorded as an event (`memory.updated`), and the prompt uses only recorded notes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_agent.context.memory import render_memory, start_turn, update_from_result
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment, ToolCallPart, ToolNext, ToolResult, TurnContext
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.ids import MAIN_AGENT

MAX_TOKENS = 1500


class WorkingMemory(BaseMiddleware):
    """A middleware that records notes on tool results."""

    name = "memory"

    def __init__(self, state: Callable[[], SessionStateView], redact: Callable[[str], str] = str) -> None:
        """Create the middleware.

        - `state`: function that returns the session's current state.
        - `redact`: function that removes secrets from a text.
        """
        self._state = state
        self._redact = redact

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Record the task of the turn in the working memory."""
        state = turn.state
        if not _is_active(state):
            return
        changed = start_turn(state.memory, self._redact(state.root_task))
        if changed:
            turn.emit(MemoryUpdated(blocks=changed))

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the working memory as a fragment that follows the history."""
        text = render_memory(state.memory)
        if not text:
            return ()
        return (
            Fragment(id=self.name, text=text, section="working_memory", priority=500, max_tokens=MAX_TOKENS),
        )

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        """Run the call. Return its result, with an event `memory.updated` if there are new notes."""
        result = await call_next(call)
        state = self._state()
        if not _is_active(state) or _is_delegates_call(state, call):  # a delegate reports its own findings
            return result
        update = update_from_result(state.memory, call, result, self._redact)
        return result if update is None else replace(result, events=(*result.events, update))


def _is_delegates_call(state: SessionStateView, call: ToolCallPart) -> bool:
    return any(item.call_id == call.call_id and item.agent != MAIN_AGENT for item in state.open_calls)


def _is_active(state: SessionStateView) -> bool:
    return state.settings is not None and state.settings.context_mode != "none"
