"""Actions that go back and forth in time."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

HANDLERS: "dict[str, Callable[[Live, str], None]]" = {
    "undo": lambda live, _: live.rewinding.undo(),
    "redo": lambda live, _: live.rewinding.redo(),
    "revert": lambda live, argument: live.rewinding.revert(argument),
}
