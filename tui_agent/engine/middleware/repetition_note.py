"""A note to the model when it repeats a call three times in a row with the same result."""

from collections.abc import Callable
from dataclasses import replace

from tui_agent.folds.session.state_view import SessionStateView, call_digest
from tui_agent.plugin_api import BaseMiddleware, TextContent, ToolCallPart, ToolNext, ToolResult

MIN_REPEATS = 3
NOTE = (
    "\n\n[This call has returned the same result {count} times in a row. Do not repeat it: try something else, or say "
    "what you are missing.]"
)


class StuckNotice(BaseMiddleware):
    """Middleware that adds a note to the result of a repeated call."""

    name = "stuck"

    def __init__(self, state: Callable[[], SessionStateView]) -> None:
        self._state = state

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        """Run the call. Add a note if the call returned the same result at least three times in a row."""
        result = await call_next(call)
        state = self._state()
        is_repeated = call_digest(call.name, call.arguments, result.content) == state.repeated_call
        count = state.repeat_count + 1
        if not is_repeated or count < MIN_REPEATS:
            return result
        note = TextContent(text=NOTE.format(count=count))
        return replace(result, content=(*result.content, note), data={**result.data, "repeated": count})
