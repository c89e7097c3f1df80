"""The todo list of the main agent."""

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import MAIN_AGENT
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated


@dataclass(frozen=True, slots=True)
class TodoView:
    """The todo list. `current` is the index of the item in progress.

    `done` counts completed and verified items. `total` counts all items that were not dropped.
    """

    items: tuple[TodoItem, ...] = ()
    done: int = 0
    total: int = 0
    current: int | None = None


TAKES = (TodoUpdated,)
"""The classes of event payloads that `Todo` handles. It ignores all other events."""


class Todo:
    """Builds the todo list of the main agent from `todo.updated` events. Delegates have their own lists."""

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
        done=sum(item.status in ("completed", "verified") for item in items),
        total=sum(item.status != "abandoned" for item in items),
        current=next((index for index, item in enumerate(items) if item.status == "in_progress"), None),
    )
