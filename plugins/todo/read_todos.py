"""read_todos: the task list as it is."""

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

from .listing import progress, rows


class ReadTodosArgs(Frozen):
    """Arguments of read_todos: none."""


class ReadTodos:
    """Shows the list with the items' ids."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadTodosArgs) -> str:
        """Nothing to name."""
        return ""

    def effects(self, args: ReadTodosArgs) -> tuple[Effect, ...]:
        """Only the session's own list."""
        return (Internal(what="todos"),)

    async def preview(self, args: ReadTodosArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: ReadTodosArgs, ctx: ToolContext) -> ToolResult:
        """The list in order."""
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
    """The tool with its description for the model."""
    ReadTodos.spec = ToolSpec(
        name="read_todos",
        description=description,
        args=ReadTodosArgs,
        verb="todos",
        parallel_safe=True,
        needs=frozenset({"state"}),
    )
    return ReadTodos()
