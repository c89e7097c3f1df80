"""Actions that go back and forth in time."""

from collections.abc import Callable

from tui_agent.tui.context import AppContext

HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
    "undo": lambda context, _: context.rewind.undo(),
    "redo": lambda context, _: context.rewind.redo(),
    "revert": lambda context, argument: context.rewind.revert(argument),
}
