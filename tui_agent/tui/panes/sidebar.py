"""The side panes as one widget: todo at the top, trace in the growing middle, context at the bottom.

Invariant: one widget that draws its own rows, so that no event of a session causes a layout.
"""

from typing import TYPE_CHECKING

from textual import events
from textual.strip import Strip

from tui_agent.tui.panes.context import context_rows
from tui_agent.tui.panes.todo import MAX_ITEMS, todo_rows
from tui_agent.tui.panes.trace import trace_rows
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import blank, intent_of

if TYPE_CHECKING:
    from tui_agent.folds.context.meter import ContextMeterView
    from tui_agent.folds.session.todo import TodoView
    from tui_agent.folds.trace.spans import TraceView


class Sidebar(LinePane):
    """Todo, trace and context. `folds` maps span indices to True (folded by the user) or False (unfolded)."""

    surface = "s1"
    todo: "TodoView | None" = None
    trace: "TraceView | None" = None
    meter: "ContextMeterView | None" = None
    now: float = 0.0

    def on_mount(self) -> None:
        self.folds: dict[int, bool] = {}

    def set_views(self, todo: "TodoView", trace: "TraceView", meter: "ContextMeterView", now: float) -> None:
        """Show these views."""
        self.todo, self.trace, self.meter, self.now = todo, trace, meter, now
        self.show()

    def beat(self, now: float) -> None:
        """Update the elapsed times; `now` is in seconds."""
        self.now = now
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        looks, fill = self.looks, blank(width, self.style())
        top = [fill] if self.shape.airy else []
        if self.todo is None or self.trace is None or self.meter is None:
            return top
        height -= len(top) + 1
        least_trace = min(6, len(self.trace.spans) + 2)
        context = context_rows(self.meter, looks, width, max(3, min(12, height - least_trace - 4)))
        items = min(MAX_ITEMS, max(1, height - len(context) - least_trace - 3))
        todo = todo_rows(self.todo, looks, width, items)
        room = height - len(todo) - len(context) - 2
        trace = trace_rows(self.trace, self.folds, looks, width, room, self.now) if room > 1 else []
        gap = max(1, height - len(todo) - 1 - len(trace) - len(context))
        return [*top, *todo, fill, *trace, *([fill] * gap), *context, fill]

    def on_click(self, event: events.Click) -> None:
        intent = intent_of(event.style)
        if intent.startswith("fold ") and self.trace is not None:
            index = int(intent.removeprefix("fold "))
            if 0 <= index < len(self.trace.spans):
                self.folds[index] = not self._is_folded(index)
                event.stop()
                self.show()
            event.prevent_default()

    def _is_folded(self, index: int) -> bool:
        assert self.trace is not None
        return self.folds.get(index, index in self.trace.roots[:-1])
