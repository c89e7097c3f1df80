"""The todo list of the main agent, and todo items as text."""

from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.todo import TodoItem, TodoStatus, TodoUpdated
from tui_agent.protocol.ids import MAIN_AGENT

DONE_STATUSES: Final[frozenset[TodoStatus]] = frozenset(("completed", "verified"))
CLOSED_STATUSES: Final[frozenset[TodoStatus]] = DONE_STATUSES | {"abandoned"}
"""States of items that need no more work."""
_MARKS: Final[dict[TodoStatus, str]] = {
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "verified": "[x]",
    "abandoned": "[-]",
}


@dataclass(frozen=True, slots=True)
class TodoView:
    """The todo list.

    - `done`: number of completed and verified items.
    - `total`: number of items that were not dropped.
    - `current`: index of the item in progress.
    """

    items: tuple[TodoItem, ...] = ()
    done: int = 0
    total: int = 0
    current: int | None = None


def format_todo_item(item: TodoItem) -> str:
    """Return the item with its mark as one line, such as `[x] Add tests (verified)`."""
    return f"{_MARKS[item.status]} {item.content}{' (verified)' if item.status == 'verified' else ''}"


TAKES = (TodoUpdated,)
"""The classes of event payloads that `Todo` handles."""


class Todo:
    """Builds the main agent's todo list from `todo.updated` events."""

    def __init__(self, items: tuple[TodoItem, ...] = ()) -> None:
        self._view = _build_view(items)

    def apply(self, ev: Envelope) -> bool:
        if not isinstance(ev.payload, TodoUpdated) or ev.agent != MAIN_AGENT:
            return False
        self._view = _build_view(ev.payload.items)
        return True

    def view(self) -> TodoView:
        return self._view


def _build_view(items: tuple[TodoItem, ...]) -> TodoView:
    return TodoView(
        items=items,
        done=sum(item.status in DONE_STATUSES for item in items),
        total=sum(item.status != "abandoned" for item in items),
        current=next((index for index, item in enumerate(items) if item.status == "in_progress"), None),
    )
