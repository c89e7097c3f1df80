"""write_todos: replace the whole todo list."""

from collections.abc import Sequence

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    FrozenModel,
    InternalEffect,
    TextBlock,
    TodoItem,
    TodoStatus,
    TodoUpdated,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    format_count,
    text_result,
    tool_description,
)

from .todo_text import format_items, format_progress

MAX_ITEMS = 100
MAX_CONTENT = 500


class Todo(FrozenModel):
    """One item as the model writes it."""

    content: str
    status: TodoStatus = "pending"
    id: str = Field(default="", description="omitted: assigned")
    parent: str = Field(default="", description="id of another item")


class WriteTodosArgs(FrozenModel):
    """Arguments of write_todos."""

    todos: tuple[Todo, ...]


class WriteTodos(BaseTool):
    """Replaces the list. If several items are in progress, only the first stays so, and the model is told."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="write_todos",
            description=tool_description(__file__),
            args=WriteTodosArgs,
            verb="todos",
            needs=frozenset({"state"}),
        )

    def target(self, args: WriteTodosArgs) -> str:
        """Return the number of items."""
        return format_count(len(args.todos), "item")

    def effects(self, args: WriteTodosArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only the session's own list changes."""
        return (InternalEffect(subject="todos"),)

    async def run(self, args: WriteTodosArgs, ctx: ToolContext) -> ToolResult:
        """Return the new list in order."""
        items = _assign_ids(args.todos, ctx.state.todo)
        _check_tree(items)
        items, note = _keep_one_in_progress(items)
        text = format_items(items)
        listing = f"{format_progress(items)}\n{text}" if items else "The list is empty now."
        return text_result(
            f"{note}\n{listing}" if note else listing,
            summary=format_progress(items),
            display=(TextBlock(text=ctx.blobs.put_text(text)),),
            events=(TodoUpdated(items=items, note=note),),
        )


def _assign_ids(todos: Sequence[Todo], known: Sequence[TodoItem]) -> tuple[TodoItem, ...]:
    """Return the items; one without an id gets that of the known item with the same text, else the next free number."""
    if len(todos) > MAX_ITEMS:
        raise ToolError(f"{len(todos)} items are too many; the limit is {MAX_ITEMS}.")
    taken = {todo.id for todo in todos if todo.id}
    ids_by_text = {item.content: item.id for item in reversed(known)}
    number = 0
    items: list[TodoItem] = []
    for todo in todos:
        text = " ".join(todo.content.split())
        if not text:
            raise ToolError("An item has no content.")
        if len(text) > MAX_CONTENT:
            raise ToolError(f"An item is too long: {len(text)} characters, the limit is {MAX_CONTENT}.")
        item_id = todo.id or ids_by_text.get(text, "")
        if not todo.id and item_id in taken:
            item_id = ""
        while not item_id:
            number += 1
            if str(number) not in taken and str(number) not in ids_by_text.values():
                item_id = str(number)
        taken.add(item_id)
        items.append(TodoItem(id=item_id, content=text, status=todo.status, parent=todo.parent or None))
    return tuple(items)


def _check_tree(items: Sequence[TodoItem]) -> None:
    parents = {item.id: item.parent for item in items}
    if len(parents) < len(items):
        duplicate = next(item.id for item in items if sum(other.id == item.id for other in items) > 1)
        raise ToolError(f"The id {duplicate} is used twice.")
    for item in items:
        if item.parent is not None and item.parent not in parents:
            raise ToolError(f"Item {item.id} has the parent {item.parent}, which is not in the list.")
        parent, depth = item.parent, 0
        while parent is not None:
            depth += 1
            if depth > len(items):
                raise ToolError(f"Item {item.id} is its own ancestor.")
            parent = parents[parent]


def _keep_one_in_progress(items: tuple[TodoItem, ...]) -> tuple[tuple[TodoItem, ...], str]:
    active = [item for item in items if item.status == "in_progress"]
    if len(active) < 2:
        return items, ""
    current = active[0]
    repaired = tuple(
        item.model_copy(update={"status": "pending"}) if item in active[1:] else item for item in items
    )
    return (
        repaired,
        f"Only one item can be in progress: “{current.content}” stays, the others are now pending.",
    )
