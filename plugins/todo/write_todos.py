"""write_todos: the whole task list, replaced."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Internal,
    Preview,
    TextBlock,
    TextContent,
    TodoItem,
    TodoStatus,
    TodoUpdated,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    counted,
)

from .listing import progress, rows

MAX_ITEMS = 100
MAX_CONTENT = 500


class Todo(Frozen):
    """One item as a model writes it."""

    content: str
    status: TodoStatus = "pending"
    id: str = Field(default="", description="kept where given")
    parent: str = Field(default="", description="id of another item")


class WriteTodosArgs(Frozen):
    """Arguments of write_todos."""

    todos: tuple[Todo, ...]


class WriteTodos:
    """Replaces the list. Of several items in progress the first one stays so, and the model is told."""

    spec: ClassVar[ToolSpec]

    def target(self, args: WriteTodosArgs) -> str:
        """How many items."""
        return counted(len(args.todos), "item")

    def effects(self, args: WriteTodosArgs) -> tuple[Effect, ...]:
        """Only the session's own list."""
        return (Internal(what="todos"),)

    async def preview(self, args: WriteTodosArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: WriteTodosArgs, ctx: ToolContext) -> ToolResult:
        """The new list, in order."""
        items = _with_ids(args.todos, ctx.state.todo)
        _check_tree(items)
        items, note = _one_in_progress(items)
        text = rows(items)
        said = f"{progress(items)}\n{text}" if items else "The list is empty now."
        return ToolResult(
            ok=True,
            content=(TextContent(text=f"{note}\n{said}" if note else said),),
            summary=progress(items),
            display=(TextBlock(text=ctx.blobs.keep(text)),),
            events=(TodoUpdated(items=items, note=note),),
        )


def _with_ids(todos: Sequence[Todo], known: Sequence[TodoItem]) -> tuple[TodoItem, ...]:
    """The items; one without an id keeps that of the item with the same words, else gets the next free number."""
    if len(todos) > MAX_ITEMS:
        raise ToolError(f"{len(todos)} items are too many; the limit is {MAX_ITEMS}.")
    taken = {todo.id for todo in todos if todo.id}
    by_words = {item.content: item.id for item in reversed(known)}
    number = 0
    items: list[TodoItem] = []
    for todo in todos:
        words = " ".join(todo.content.split())
        if not words:
            raise ToolError("An item has no content.")
        if len(words) > MAX_CONTENT:
            raise ToolError(f"An item is too long: {len(words)} characters, the limit is {MAX_CONTENT}.")
        name = todo.id or by_words.get(words, "")
        if not todo.id and name in taken:
            name = ""
        while not name:
            number += 1
            if str(number) not in taken and str(number) not in by_words.values():
                name = str(number)
        taken.add(name)
        items.append(TodoItem(id=name, content=words, status=todo.status, parent=todo.parent or None))
    return tuple(items)


def _check_tree(items: Sequence[TodoItem]) -> None:
    parents = {item.id: item.parent for item in items}
    if len(parents) < len(items):
        twice = next(item.id for item in items if sum(other.id == item.id for other in items) > 1)
        raise ToolError(f"The id {twice} is given twice.")
    for item in items:
        if item.parent is not None and item.parent not in parents:
            raise ToolError(f"Item {item.id} names a parent {item.parent} that is not in the list.")
        above, height = item.parent, 0
        while above is not None:
            height += 1
            if height > len(items):
                raise ToolError(f"Item {item.id} stands below itself.")
            above = parents[above]


def _one_in_progress(items: tuple[TodoItem, ...]) -> tuple[tuple[TodoItem, ...], str]:
    active = [item for item in items if item.status == "in_progress"]
    if len(active) < 2:
        return items, ""
    kept = active[0]
    repaired = tuple(
        item.model_copy(update={"status": "pending"}) if item in active[1:] else item for item in items
    )
    return repaired, f"Only one item can be in progress: kept “{kept.content}”, set the others to pending."


def make(description: str) -> WriteTodos:
    """The tool with its description for the model."""
    WriteTodos.spec = ToolSpec(
        name="write_todos",
        description=description,
        args=WriteTodosArgs,
        verb="todos",
        needs=frozenset({"state"}),
    )
    return WriteTodos()
