"""The task list. A tree by `parent`, five states; the flat list is its view."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import Frozen
from tui_agent.protocol.events.base import Payload

TodoStatus: TypeAlias = Literal["pending", "in_progress", "completed", "abandoned", "verified"]


class TodoItem(Frozen):
    """One task. `id` is unique in the list; `parent` names another item or nothing."""

    id: str
    content: str
    status: TodoStatus = "pending"
    parent: str | None = None


class TodoUpdated(Payload):
    """The whole list as it is now, in order. At most one item is in progress."""

    kind: Literal["todo.updated"] = "todo.updated"
    items: tuple[TodoItem, ...]
    note: str = ""
