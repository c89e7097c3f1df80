"""Keeps the task's working memory: folds tool results into its blocks, and shows them to the model in mode memory.

Invariant: what it knows stands in the log (`memory.updated`) and comes back by the folded state.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_agent.context.memory import begun, learnt, rendered
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment, ToolCallPart, ToolNext, ToolResult, TurnContext
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.ids import MAIN_AGENT

MAX_TOKENS = 1500


class WorkingMemory(BaseMiddleware):
    """Notes what calls found out. Where the context mode is `none` nothing is noted."""

    name = "memory"

    def __init__(self, state: Callable[[], SessionStateView], redact: Callable[[str], str] = str) -> None:
        """`redact` takes the secrets out of a text: it is asked before anything is cut to a line."""
        self._state = state
        self._redact = redact

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Note what the turn is about."""
        state = turn.state
        if not _keeps(state):
            return
        changed = begun(state.memory, self._redact(state.root_task))
        if changed:
            turn.emit(MemoryUpdated(blocks=changed))

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """The memory, behind the history; the assembly leaves it out in the other modes."""
        text = rendered(state.memory)
        if not text:
            return ()
        return (
            Fragment(id=self.name, text=text, section="working_memory", priority=500, max_tokens=MAX_TOKENS),
        )

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """The result as it is, with what it changes in the memory."""
        result = await nxt(call)
        state = self._state()
        if not _keeps(state) or _below(state, call):  # what a delegate found out, its report says
            return result
        update = learnt(state.memory, call, result, self._redact)
        return result if update is None else replace(result, events=(*result.events, update))


def _below(state: SessionStateView, call: ToolCallPart) -> bool:
    """Whether it is a delegate's call."""
    return any(one.call_id == call.call_id and one.agent != MAIN_AGENT for one in state.open_calls)


def _keeps(state: SessionStateView) -> bool:
    return state.settings is not None and state.settings.context_mode != "none"
