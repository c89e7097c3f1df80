"""The task list as the todo pane shows it."""

from dataclasses import dataclass

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.ids import MAIN_AGENT


@dataclass(frozen=True, slots=True)
class TodoView:
    """`current` is the index of the item in progress; `done` counts completed and verified ones."""

    items: tuple[TodoItem, ...] = ()
    done: int = 0
    current: int | None = None


TAKES = (TodoUpdated,)
"""The events that change it."""


class Todo:
    """Folds `todo.updated` of the main agent; delegates keep their own lists to themselves."""

    def __init__(self, items: tuple[TodoItem, ...] = ()) -> None:
        self._view = _view(items)

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if the list changed."""
        if not isinstance(ev.payload, TodoUpdated) or ev.agent != MAIN_AGENT:
            return False
        self._view = _view(ev.payload.items)
        return True

    def view(self) -> TodoView:
        """The list as it is now."""
        return self._view


def _view(items: tuple[TodoItem, ...]) -> TodoView:
    return TodoView(
        items=items,
        done=sum(item.status in ("completed", "verified") for item in items),
        current=next((i for i, item in enumerate(items) if item.status == "in_progress"), None),
    )
