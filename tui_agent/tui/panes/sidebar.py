"""The side panes as one widget: todo at the top, then trace and the panes of plugins, context at the bottom.

Invariant: one widget draws all side panes, so an event of a session never causes a new layout.
"""

from typing import TYPE_CHECKING

from textual import events
from textual.strip import Strip

from tui_agent.tui.panes.context_bar import bar, meter_style, tick_labels, words
from tui_agent.tui.panes.todo import MAX_ITEMS, todo_rows
from tui_agent.tui.panes.trace import trace_rows
from tui_agent.tui.theme.theme import Looks
from tui_agent.tui.untrusted_text import clean_line, fit
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, Pen, blank_strip, intent_of
from tui_agent.units import KILO, format_percent, format_thousands, format_tokens, to_hundreds

if TYPE_CHECKING:  # the views are loaded after the first paint
    from tui_agent.folds.context.meter import ContextMeterView
    from tui_agent.folds.session.todo_list import TodoView
    from tui_agent.folds.trace.spans import TraceView
    from tui_agent.tui.panes.plugin_sections import PluginSections


class Sidebar(LinePane):
    """The side panes of the main screen: todo, trace, plugins' panes, and context.

    `folds`: maps a span's index to True if the user folded it, False if the user unfolded it.
    """

    surface = "s1"
    todo: "TodoView | None" = None
    trace: "TraceView | None" = None
    meter: "ContextMeterView | None" = None
    sections: "PluginSections | None" = None
    now: float = 0.0

    def on_mount(self) -> None:
        self.folds: dict[int, bool] = {}

    def set_views(self, todo: "TodoView", trace: "TraceView", meter: "ContextMeterView", now: float) -> None:
        """Show the session's todo list, trace and context; `now` is the current time in seconds."""
        self.todo, self.trace, self.meter, self.now = todo, trace, meter, now
        self.show()

    def beat(self, now: float) -> None:
        """Update the elapsed times; `now` is the current time in seconds."""
        self.now = now
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        looks, fill = self.looks, blank_strip(width, self.style())
        top = [fill] if self.shape.airy else []
        if self.todo is None or self.trace is None or self.meter is None:
            return top
        height -= len(top) + 1
        min_trace_rows = min(6, len(self.trace.spans) + 2)
        section_rows = 0 if self.sections is None or not self.sections.count else self.sections.min_rows + 1
        context = context_rows(
            self.meter, looks, width, max(3, min(12, height - min_trace_rows - 4 - section_rows))
        )
        panes: list[Strip] = []
        if self.sections is not None and section_rows:
            panes = [fill, *self.sections.rows(looks, width, height - len(context) - min_trace_rows - 5)]
            height -= len(panes)
        items = min(MAX_ITEMS, max(1, height - len(context) - min_trace_rows - 3))
        todo = todo_rows(self.todo, looks, width, items)
        room = height - len(todo) - len(context) - 2
        trace = trace_rows(self.trace, self.folds, looks, width, room, self.now) if room > 1 else []
        gap = max(1, height - len(todo) - 1 - len(trace) - len(context))
        return [*top, *todo, fill, *trace, *panes, *([fill] * gap), *context, fill]

    def on_click(self, event: events.Click) -> None:
        intent = intent_of(event.style)
        if intent.startswith("unfold ") and self.sections is not None:
            self.sections.feed.toggle(intent.removeprefix("unfold "))
            event.stop()
            event.prevent_default()
        if intent.startswith("fold ") and self.trace is not None:
            index = int(intent.removeprefix("fold "))
            if 0 <= index < len(self.trace.spans):
                self.folds[index] = not self._is_folded(index)
                event.stop()
                self.show()
            event.prevent_default()

    def _is_folded(self, index: int) -> bool:
        assert self.trace is not None
        return self.folds.get(index, index in self.trace.roots[:-1])  # all turns but the newest are folded


def context_rows(view: "ContextMeterView", looks: Looks, width: int, max_rows: int) -> list[Strip]:
    """Return the rows of the context pane: a bar with its limits, the sections, and the meter's level in words.

    `max_rows`: maximum number of rows; the smallest sections are left out first.
    """
    pen = Pen(looks, "s1")
    indent = pen.part("  ")
    right: list[Part] = []
    if view.window:
        limit = f"{'~' if view.window_inferred or view.assumed else ''}{format_tokens(view.window)}"
        used = f"{'~' if view.estimated else ''}{format_tokens(view.used)} of {limit}"
        percent_style = meter_style(looks.palette, view, "s1", bold=True)
        right = [pen.part(f"{used}  ", "t2"), (format_percent(view.fraction), percent_style)]
    elif view.used:
        right = [pen.part(f"{format_tokens(view.used)} tokens", "t2")]
    rows = [pen.line(width, [indent, pen.part("Context", bold=True, intent="context")], right)]
    if not view.used:
        rows.append(pen.line(width, [indent, pen.part("Empty until the first message.", "t3")]))
        return rows[:max_rows]
    if view.window:
        cells = width - 4
        rows.append(pen.line(width, [indent, *bar(looks.palette, looks.symbols, view, cells, "s1")]))
        rows.append(pen.line(width, [indent, pen.part(tick_labels(view, cells), "t3")]))
    rows += _section_rows(view, pen, width, max(0, max_rows - len(rows) - 1))
    if view.window:
        rows.append(pen.line(width, [indent, (words(view), meter_style(looks.palette, view, "s1"))]))
    return rows[:max_rows]


def _section_rows(view: "ContextMeterView", pen: Pen, width: int, max_rows: int) -> list[Strip]:
    thousands = view.used >= KILO
    # The total above is shown in hundreds of tokens (below a thousand, in tokens). Round the sections in this unit, so
    # that the shown figures add up to the shown total.
    sections = view.scaled_sections(to_hundreds(view.used) if thousands else view.used)
    if len(sections) > max_rows:
        largest = sorted(sections, key=lambda section: -section.tokens)[:max_rows]
        sections = tuple(section for section in sections if section in largest)
    top = max((section.tokens for section in sections), default=1)
    longest = max(4, width - 30)
    rows: list[Strip] = []
    for section in sections:
        name = fit(clean_line(section.name), 14, pen.looks.symbols.ellipsis)
        number = format_thousands(section.tokens * KILO // 10) if thousands else str(section.tokens)
        cells = max(1, round(section.tokens * longest / top))
        left = [
            pen.part(f"  {name.ljust(14)}", "t2"),
            pen.part(f"{number.rjust(6)}  "),
            pen.part(pen.looks.symbols.meter_full * cells, "border-strong"),
        ]
        rows.append(pen.line(width, left))
    return rows
