"""Tells the model when it turns in circles: the same call with the same result for the third time."""

from collections.abc import Callable
from dataclasses import replace

from tui_agent.folds.session.fold import SessionStateView, call_digest
from tui_agent.plugin_api import BaseMiddleware, TextContent, ToolCallPart, ToolNext, ToolResult

TELL_FROM = 3
WORDS = (
    "\n\n[This same call has now given this same result {count} times in a row. Repeating it will not help: "
    "do something else, or say what you are missing.]"
)


class StuckNotice(BaseMiddleware):
    """Adds a note to a result that only repeats. What counts is in the folded state; the user is asked by the loop."""

    name = "stuck"

    def __init__(self, state: Callable[[], SessionStateView]) -> None:
        self._state = state

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """The result, with a note behind it from the third equal one on."""
        result = await nxt(call)
        state = self._state()
        same = call_digest(call.name, call.arguments, result.content) == state.repeated_call
        count = state.repeats + 1
        if not same or count < TELL_FROM:
            return result
        note = TextContent(text=WORDS.format(count=count))
        return replace(result, content=(*result.content, note), data={**result.data, "repeated": count})
