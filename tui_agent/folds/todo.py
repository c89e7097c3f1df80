"""L1: the task list as the todo pane shows it."""

from dataclasses import dataclass

from tui_agent.protocol.events.todo import TodoItem


@dataclass(frozen=True, slots=True)
class TodoView:
    """`current` is the index of the item in progress; `done` counts completed and verified ones."""

    items: tuple[TodoItem, ...] = ()
    done: int = 0
    current: int | None = None
