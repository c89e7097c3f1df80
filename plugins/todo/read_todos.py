"""read_todos: the current todo list."""

from typing import ClassVar

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Internal,
    Preview,
    TextBlock,
    TextContent,
    ToolContext,
    ToolResult,
    ToolSpec,
)

from .todo_text import progress, rows


class ReadTodosArgs(Frozen):
    """Arguments of read_todos: none."""


class ReadTodos:
    """Shows the list with the items' ids."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadTodosArgs) -> str:
        """Return an empty string: there is nothing to name."""
        return ""

    def effects(self, args: ReadTodosArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only the session's own list is read."""
        return (Internal(what="todos"),)

    async def preview(self, args: ReadTodosArgs, env: Environment) -> Preview:
        """Return an empty preview: this call never needs approval."""
        return Preview(())

    async def run(self, args: ReadTodosArgs, ctx: ToolContext) -> ToolResult:
        """Return the list in order."""
        items = ctx.state.todo
        if not items:
            return ToolResult(ok=True, content=(TextContent(text="There are no todos."),), summary="none")
        text = rows(items, ids=True)
        return ToolResult(
            ok=True,
            content=(TextContent(text=f"{progress(items)}\n{text}"),),
            summary=progress(items),
            display=(TextBlock(text=ctx.blobs.keep(rows(items))),),
        )


def make(description: str) -> ReadTodos:
    """Create the tool with its description for the model."""
    ReadTodos.spec = ToolSpec(
        name="read_todos",
        description=description,
        args=ReadTodosArgs,
        verb="todos",
        parallel_safe=True,
        needs=frozenset({"state"}),
    )
    return ReadTodos()
