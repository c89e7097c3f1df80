"""write_todos: the agent's todo list."""

from collections.abc import Sequence

from pydantic import Field

import tui_agent.plugin_api as api

MAX_ITEMS = 100
MAX_CONTENT = 500


class Todo(api.FrozenModel, extra="ignore"):
    """An item of the todo list as the model writes it. Fields from other programs, such as `activeForm`, are ignored."""

    content: str
    status: api.TodoStatus = "pending"
    id: str = ""
    parent: str = Field(default="", description="id")


@api.tool(
    internal="todos",
    target=lambda todos: api.format_count(len(todos), "item"),
    verb="todos",
    needs=["state"],
)
async def write_todos(ctx: api.ToolContext, todos: tuple[Todo, ...]) -> api.ToolResult:
    """Replace the todo list; send all items. At most one is in_progress."""
    items = _assign_ids(todos, ctx.state.todo)
    _check_tree(items)
    items, note = _keep_one_in_progress(items)
    text = format_items(items)
    listing = f"{format_progress(items)}\n{text}" if items else "The list is empty now."
    return api.text_result(
        f"{note}\n{listing}" if note else listing,
        summary=format_progress(items),
        display=(api.TextBlock(text=ctx.blobs.put_text(text)),),
        events=(api.TodoUpdated(items=items, note=note),),
    )


def _assign_ids(todos: Sequence[Todo], known: Sequence[api.TodoItem]) -> tuple[api.TodoItem, ...]:
    """Give every item an id.

    An item without an id gets the id of the `known` item with the same text, or the next free number.
    """
    if len(todos) > MAX_ITEMS:
        raise api.ToolError(f"{len(todos)} items are too many; the limit is {MAX_ITEMS}.")
    taken = {todo.id for todo in todos if todo.id}
    ids_by_text = {item.content: item.id for item in reversed(known)}
    number = 0
    items: list[api.TodoItem] = []
    for todo in todos:
        text = " ".join(todo.content.split())
        if not text:
            raise api.ToolError("An item has no content.")
        if len(text) > MAX_CONTENT:
            raise api.ToolError(f"An item is too long: {len(text)} characters, the limit is {MAX_CONTENT}.")
        item_id = todo.id or ids_by_text.get(text, "")
        if not todo.id and item_id in taken:
            item_id = ""
        while not item_id:
            number += 1
            if str(number) not in taken and str(number) not in ids_by_text.values():
                item_id = str(number)
        taken.add(item_id)
        items.append(api.TodoItem(id=item_id, content=text, status=todo.status, parent=todo.parent or None))
    return tuple(items)


def _check_tree(items: Sequence[api.TodoItem]) -> None:
    parents = {item.id: item.parent for item in items}
    if len(parents) < len(items):
        duplicate = next(item.id for item in items if sum(other.id == item.id for other in items) > 1)
        raise api.ToolError(f"The id {duplicate} is used twice.")
    for item in items:
        if item.parent is not None and item.parent not in parents:
            raise api.ToolError(f"Item {item.id} has the parent {item.parent}, which is not in the list.")
        parent, depth = item.parent, 0
        while parent is not None:
            depth += 1
            if depth > len(items):
                raise api.ToolError(f"Item {item.id} is its own ancestor.")
            parent = parents[parent]


def _keep_one_in_progress(items: tuple[api.TodoItem, ...]) -> tuple[tuple[api.TodoItem, ...], str]:
    active = [item for item in items if item.status == "in_progress"]
    if len(active) < 2:
        return items, ""
    current = active[0]
    repaired = tuple(
        item.model_copy(update={"status": "pending"}) if item in active[1:] else item for item in items
    )
    note = f"Only one item can be in progress: “{current.content}” stays in progress; the others are now pending."
    return repaired, note


def format_items(items: Sequence[api.TodoItem]) -> str:
    """Return one line per item, in order; subtasks are indented by two spaces below their parent."""
    known = {item.id for item in items}
    children: dict[str | None, list[api.TodoItem]] = {}
    for item in items:
        children.setdefault(item.parent if item.parent in known else None, []).append(item)
    lines: list[str] = []
    pending = [(item, 0) for item in reversed(children.get(None, []))]
    while pending:
        item, depth = pending.pop()
        lines.append(f"{'  ' * depth}{api.format_todo_item(item)}")
        pending += [(child, depth + 1) for child in reversed(children.get(item.id, []))]
    return "\n".join(lines)


def format_progress(items: Sequence[api.TodoItem]) -> str:
    """Format progress as `2/5 done`; abandoned items are not counted."""
    relevant = [item for item in items if item.status != "abandoned"]
    return f"{sum(item.status in api.DONE_STATUSES for item in relevant)}/{len(relevant)} done"
