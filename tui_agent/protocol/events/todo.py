"""Events of the todo list. The list is a tree: each item has a `parent` or none, and one of five states."""

from typing import Literal, TypeAlias

from tui_agent.protocol.frozen_model import FrozenModel, Payload

TodoStatus: TypeAlias = Literal["pending", "in_progress", "completed", "abandoned", "verified"]


class TodoItem(FrozenModel):
    """One item of the todo list. `id`: unique in the list. `parent`: id of another item, or null."""

    id: str
    content: str
    status: TodoStatus = "pending"
    parent: str | None = None


class TodoUpdated(Payload):
    """The todo list changed. `items`: the complete list in order. At most one item is in progress."""

    kind: Literal["todo.updated"] = "todo.updated"
    items: tuple[TodoItem, ...]
    note: str = ""
