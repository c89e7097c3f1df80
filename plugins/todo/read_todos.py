"""read_todos: the current todo list."""

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    FrozenModel,
    InternalEffect,
    TextBlock,
    ToolContext,
    ToolResult,
    ToolSpec,
    text_result,
    tool_description,
)

from .todo_text import format_items, format_progress


class ReadTodosArgs(FrozenModel):
    """Arguments of read_todos: none."""


class ReadTodos(BaseTool):
    """Shows the list with the items' ids."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="read_todos",
            description=tool_description(__file__),
            args=ReadTodosArgs,
            verb="todos",
            parallel_safe=True,
            needs=frozenset({"state"}),
        )

    def target(self, args: ReadTodosArgs) -> str:
        """Return an empty string: there is nothing to name."""
        return ""

    def effects(self, args: ReadTodosArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only the session's own list is read."""
        return (InternalEffect(subject="todos"),)

    async def run(self, args: ReadTodosArgs, ctx: ToolContext) -> ToolResult:
        """Return the list in order."""
        items = ctx.state.todo
        if not items:
            return text_result("There are no todos.", summary="none")
        text = format_items(items, ids=True)
        return text_result(
            f"{format_progress(items)}\n{text}",
            summary=format_progress(items),
            display=(TextBlock(text=ctx.blobs.put_text(format_items(items))),),
        )
